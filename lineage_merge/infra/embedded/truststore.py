"""The certificates that Python trusts, as a trust store that Java reads.

The Java in a wheel knows only the public authorities. Where a company's own authority
stands before the network, Python usually knows it already (the system's bundle,
``SSL_CERT_FILE``), so Java is told the same.
"""

import hashlib
import os
import ssl
import struct
from collections.abc import Sequence
from pathlib import Path

# Integrity only, and the one that every JDK ships with: the content is public.
PASSWORD = "changeit"  # noqa: S105

_MAGIC = 0xFEEDFEED
_VERSION = 2
_TRUSTED_CERTIFICATE = 2
_BUNDLE_VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
_BUNDLE_NAMES = ("ca-certificates.crt", "ca-bundle.crt")


def trusted_by_python() -> list[bytes]:
    """The authorities that Python trusts here, each in DER form; may be empty."""
    return context().get_ca_certs(binary_form=True)


def context() -> ssl.SSLContext:
    """What Python verifies servers with here, the authorities of the variables included."""
    trusting = ssl.create_default_context()
    paths = ssl.get_default_verify_paths()
    bundles = [Path(os.environ[name]) for name in _BUNDLE_VARIABLES if os.environ.get(name)]
    # OpenSSL reads a directory only when a certificate is looked up, so its bundle is named here.
    bundles += [Path(paths.capath) / name for name in _BUNDLE_NAMES if paths.capath]
    for bundle in bundles:
        if bundle.is_file():
            trusting.load_verify_locations(cafile=str(bundle))
    return trusting


def java_key_store(certificates: Sequence[bytes]) -> bytes:
    """A JKS key store that trusts these certificates (DER), locked with `PASSWORD`.

    The layout is that of ``sun.security.provider.JavaKeyStore``.
    """
    body = struct.pack(">III", _MAGIC, _VERSION, len(certificates))
    for number, certificate in enumerate(certificates):
        body += struct.pack(">I", _TRUSTED_CERTIFICATE) + _text(f"ca{number}") + struct.pack(">Q", 0)
        body += _text("X.509") + struct.pack(">I", len(certificate)) + certificate
    digest = hashlib.sha1(usedforsecurity=False)
    digest.update(PASSWORD.encode("utf-16-be") + b"Mighty Aphrodite" + body)
    return body + digest.digest()


def _text(value: str) -> bytes:
    encoded = value.encode("ascii")
    return struct.pack(">H", len(encoded)) + encoded

"""Java trust store with the certificates that Python trusts.

The Java in the wheel trusts only public authorities. Python usually also trusts a company's own authority
(system bundle, ``SSL_CERT_FILE``), so its certificates are exported to Java.
"""

import hashlib
import os
import ssl
import struct
from collections.abc import Sequence
from pathlib import Path

# The default of the JDK, for integrity only: the content is public.
PASSWORD = "changeit"  # noqa: S105

_MAGIC = 0xFEEDFEED
_VERSION = 2
_TRUSTED_CERTIFICATE = 2
_BUNDLE_VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
_BUNDLE_NAMES = ("ca-certificates.crt", "ca-bundle.crt")


def trusted_by_python() -> list[bytes]:
    """Return the authorities that Python trusts, in DER form; may be empty."""
    return context().get_ca_certs(binary_form=True)


def context() -> ssl.SSLContext:
    """Return the SSL context of Python, including the authorities of the variables."""
    trusting = ssl.create_default_context()
    paths = ssl.get_default_verify_paths()
    bundles = [Path(os.environ[name]) for name in _BUNDLE_VARIABLES if os.environ.get(name)]
    # OpenSSL reads a directory lazily, so its bundle is loaded explicitly.
    bundles += [Path(paths.capath) / name for name in _BUNDLE_NAMES if paths.capath]
    for bundle in bundles:
        if bundle.is_file():
            trusting.load_verify_locations(cafile=str(bundle))
    return trusting


def java_key_store(certificates: Sequence[bytes]) -> bytes:
    """Return a JKS trust store of these certificates (DER), protected with `PASSWORD`.

    The format is that of ``sun.security.provider.JavaKeyStore``.
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

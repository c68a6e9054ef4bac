"""Parser of URIs and namespaces; credentials are removed."""

import re
from typing import NamedTuple
from urllib.parse import unquote

from lineage_merge.infra.redaction import CONTAINER_SCHEMES
from lineage_merge.model.errors import NamingError

# One letter is a Windows drive, not a scheme.
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+._-]+):")
_AUTHORITY_END = re.compile(r"[/?#;]")
_PORT = re.compile(r":\d*\Z")
_QUERY = re.compile(r"\?[A-Za-z][\w.-]*=")
_PARAMETERS = re.compile(r"\?[A-Za-z][\w.-]*=|;")
# Characters that java.net.URI encodes: text with one of them is not encoded.
_NOT_IN_A_URI = re.compile(r"[\x00-\x20\"<>{}|\\^`\x7f]|%(?![0-9A-Fa-f]{2})")


class Address(NamedTuple):
    """``s3a://bucket/key`` is ``("s3a", "bucket", "/key", ...)``; ``kafka:topic`` has no authority.

    `authority` is None without ``//``, and never contains credentials. A namespace without a colon
    (``file``, ``bigquery``) consists of its scheme.
    """

    scheme: str
    authority: str | None
    rest: str
    text: str


def parse(text: str) -> Address:
    """Parse a URI or a namespace. A path has an empty scheme."""
    match = _SCHEME.match(text)
    if match is None:
        return Address("", None, text, text)
    scheme = match[1].lower()
    rest = text[match.end() :]
    if not rest.startswith("//"):
        return Address(scheme, None, rest, text)
    authority, tail = split_authority(rest[2:], keeps_user=scheme in CONTAINER_SCHEMES)
    return Address(scheme, authority, tail, text)


def parse_namespace(namespace: str) -> Address:
    """Like `parse`; a namespace without a colon is its scheme."""
    text = trim(namespace.lstrip())
    if not text:
        raise NamingError("a dataset with an empty namespace")
    if ":" not in text and not text.startswith("/"):
        return Address(text.lower(), None, "", text)
    return parse(text)


def trim(text: str) -> str:
    """Remove slashes and spaces at the end."""
    end = len(text)
    while end and (text[end - 1] == "/" or text[end - 1].isspace()):
        end -= 1
    return text[:end]


def split_authority(text: str, *, keeps_user: bool = False) -> tuple[str, str]:
    """Split the text after ``//`` into the authority, without credentials, and the rest."""
    match = _AUTHORITY_END.search(text)
    end = match.start() if match else len(text)
    if "@" not in text[:end] and ":" in text[:end] and not _PORT.search(text[:end]) and "@" in text[end:]:
        # s3a://KEY:SECRET/WITH/SLASHES@bucket is not a valid URI, but Hadoop accepts it.
        start = text.rindex("@") + 1
        match = _AUTHORITY_END.search(text, start)
        end = match.start() if match else len(text)
    user, at, host = text[:end].rpartition("@")
    retained = f"{user.partition(':')[0]}@{host}" if at and keeps_user else host
    return "".join(retained.split()), text[end:]  # hosts and buckets have no spaces


def remove_query(text: str) -> str:
    """Remove ``?versionId=...`` from a path; a single ``?`` is a glob and stays."""
    match = _QUERY.search(text)
    return text[: match.start()] if match else text


def remove_parameters(text: str) -> str:
    """Remove ``?a=b`` or ``;a``; a single ``?`` is a glob and stays."""
    match = _PARAMETERS.search(text)
    return text[: match.start()] if match else text


def decode_uri(path: str) -> str:
    """Undo percent-encoding once if the text can be an encoded URI.

    Catalog locations and file paths of Spark 3.4 reach Spline as java.net.URI text (``my%20dir``), paths of
    Hadoop's `Path` unencoded (``my dir``): both are one directory. OpenLineage decodes too.
    """
    if "%" not in path or _NOT_IN_A_URI.search(path):
        return path
    try:
        return unquote(path, errors="strict")
    except UnicodeDecodeError:
        return path


def canonical_hosts(authority: str, port: int | None) -> str:
    """Return hosts in lower case, each with a port: ``DB1,db2:5433`` is ``db1:5432,db2:5433``."""
    hosts = (host.strip().rstrip(":").lower() for host in authority.split(","))
    return ",".join(_join_port(host, port) for host in hosts if host)


def _join_port(host: str, port: int | None) -> str:
    name_end = host.rfind("]") + 1  # an IPv6 address has colons of its own
    return host if port is None or ":" in host[name_end:] else f"{host}:{port}"

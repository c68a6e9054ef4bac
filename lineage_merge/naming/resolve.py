"""From what a source writes to a dataset's name.

Each text is redacted before it is named: no secret reaches an id, in whichever form a platform has it.
"""

from collections.abc import Mapping
from types import MappingProxyType

from lineage_merge.infra.redaction import redact
from lineage_merge.model.errors import NamingError
from lineage_merge.naming.address import Address, parse, parse_namespace, trimmed
from lineage_merge.naming.filesystem import FileSystem
from lineage_merge.naming.identifiers import split_name
from lineage_merge.naming.jdbc import is_jdbc, parse_connection, split_jdbc
from lineage_merge.naming.named import JdbcPlatform, Named, Platform
from lineage_merge.naming.other import OTHER
from lineage_merge.naming.registry import PLATFORMS
from lineage_merge.naming.warehouse import Warehouse

_NO_DEFAULTS: Mapping[str, str] = MappingProxyType({})
_MOST_NAMINGS = 4
_JDBC_PLATFORMS = tuple(platform for platform in PLATFORMS if isinstance(platform, JdbcPlatform))


def name_uri(uri: str, defaults: Mapping[str, str] = _NO_DEFAULTS) -> Named:
    """Name the dataset of a raw URI, as Spline records it.

    `defaults` maps a canonical namespace to ``database.schema`` or ``database``, which
    completes shorter names there. Raises `NamingError` when the URI names no dataset: its
    form is unknown, it is a query, or its table was lost. The message holds no secret.
    """
    text = uri.strip()
    if not text:
        raise NamingError("an empty address")
    if is_jdbc(text):
        # Redacted without the table, which a password at the end of the URL would take along.
        url, table = split_jdbc(text)
        connection = parse_connection(redact(url))
        jdbc = next(platform for platform in _JDBC_PLATFORMS if platform.claims_jdbc(connection))
        located = jdbc.locate_jdbc(connection, table)
        # An unknown driver's word may be another platform's scheme: whoever owns it settles the name.
        return name_dataset(located.namespace, located.name, defaults)
    address = parse(redact(text))
    platform = _platform(address)
    return _identified(platform, *platform.locate(address), defaults)


def name_dataset(namespace: str, name: str, defaults: Mapping[str, str] = _NO_DEFAULTS) -> Named:
    """Name a dataset that somebody has named in OpenLineage's terms already (dbt, a rule).

    Both parts become canonical: ``s3a://b`` and ``x/part-00000`` are ``s3://b`` and ``x``.
    Raises `NamingError` for an empty namespace, or a name without a table.
    """
    address = parse_namespace(redact(namespace))
    platform = _platform(address)
    return _identified(platform, platform.canonical_namespace(address), redact(name), defaults)


def canonical_namespace(namespace: str) -> str:
    """The one spelling of a namespace; ``redshift://wh.us-east-1`` gets its port.

    Raises `NamingError` for an empty one.
    """
    address = parse_namespace(redact(namespace))
    return _platform(address).canonical_namespace(address)


def completes_names(namespace: str, default: str) -> bool:
    """Whether a default has every part that the shortest name in a namespace lacks.

    ``public`` does not complete names of Redshift, which have a database and a schema: ``public.sales`` would
    become ``public.public.sales``. Raises `NamingError` for an empty namespace.
    """
    platform = _platform(parse_namespace(namespace))
    parts = [part for part in split_name(default) if part.value]
    return len(parts) >= (platform.levels - 1 if isinstance(platform, Warehouse) else 1)


def path_uri(namespace: str, name: str) -> str:
    """The URI of a dataset that OpenLineage names by its path; "" where the namespace holds tables.

    ``("s3a://bucket", "a/b")`` is ``s3a://bucket/a/b``, ``("file", "/data/a")`` is ``file:/data/a``.
    """
    try:
        address = parse_namespace(namespace)
    except NamingError:
        return ""
    # With a path of its own a namespace is the warehouse of a catalog.
    platform = _platform(address)
    if platform is OTHER or not isinstance(platform, FileSystem) or address.rest.strip("/"):
        return ""
    root = trimmed(namespace.strip())
    return f"{root}/{name.lstrip('/')}" if "://" in root else f"{root.rstrip(':')}:/{name.lstrip('/')}"


def _identified(platform: Platform, namespace: str, name: str, defaults: Mapping[str, str]) -> Named:
    """Settle a name. Quotes that it gets or loses on the way can show another part to redact."""
    named = platform.identify(namespace, name, defaults)
    for _ in range(_MOST_NAMINGS):
        redacted = redact(named.name.name)
        if redacted == named.name.name:
            return named
        named = platform.identify(namespace, redacted, defaults)
    raise NamingError(f"{redact(namespace)}: a name with a password")


def _platform(address: Address) -> Platform:
    return next(platform for platform in PLATFORMS if platform.claims(address))

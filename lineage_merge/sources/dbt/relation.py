"""Parsing of a manifest's `relation_name`: the relation's name in compiled SQL. Pure.

It is rendered by the adapter, so it is correct where `database` and `schema` are not: ClickHouse has no
database above its schemas, and a source of DuckDB may be a file or a function that reads files.
"""

import re

from lineage_merge.naming.identifiers import split_name

# Adapters with two-part relation names, whatever `database` says.
_TWO_PARTS = frozenset({"clickhouse"})
_LITERAL = r"'((?:[^']|'')*)'"
_PATH = re.compile(_LITERAL)
# read_parquet('s3://b/x.parquet', union_by_name=true), or with a list of one path.
_READER = re.compile(
    r"(?:read_\w+|parquet_scan|delta_scan|iceberg_scan|st_read)\("
    rf"\s*(?:{_LITERAL}|\[\s*{_LITERAL}\s*\])\s*[,)]",
    re.IGNORECASE,
)


def names_of(adapter: str, relation_name: str, names: tuple[str, str, str]) -> tuple[str, str, str]:
    """Return database, schema and identifier (`names` in the manifest) of a relation.

    Those of `relation_name` take precedence if they differ, or if the platform has no database.
    """
    stated = _parts(relation_name)
    given = [part.value.casefold() for part in split_name(".".join(filter(None, names)))]
    if not stated or len(stated) > len(names):
        return names
    # As text: BigQuery may quote a qualified name as one part.
    one, other = "." + ".".join(part.casefold() for part in stated), "." + ".".join(given)
    agrees = one.endswith(other) or other.endswith(one)
    if agrees and not (adapter.lower() in _TWO_PARTS and len(stated) < len(given)):
        return names
    missing = len(names) - len(stated)
    database, schema, identifier = (*[""] * missing, *map(_quote, stated))
    return database, schema, identifier


def path_of(relation_name: str) -> str:
    """Return the path that a relation is, or that its function reads; "" for a table's name."""
    text = relation_name.strip()
    match = _PATH.fullmatch(text) or _READER.match(text)
    path = next((group for group in match.groups() if group), "") if match else ""
    return path.replace("''", "'")


def _parts(relation_name: str) -> list[str]:
    """Return the parts of a table's name; none for a path, a function or a query."""
    text = relation_name.strip()
    if not text or "'" in text or "(" in text:
        return []
    parts = [part.value for part in split_name(text)]
    return parts if all(parts) else []


def _quote(part: str) -> str:
    # The manifest's fields have unquoted names; a part that contains a dot stays quoted.
    return '"' + part.replace('"', '""') + '"' if "." in part else part

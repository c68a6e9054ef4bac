"""Columns of a table in the text of Spark's ``CatalogTable(...)``."""

import re
from typing import NamedTuple

_SCHEMA = re.compile(r"^Schema: root\n(?P<tree>(?:^ .*(?:\n|\Z))*)", re.MULTILINE)
_FIELD = re.compile(
    r"^ (?P<bars>(?:\|    )*)\|-- (?P<name>.*): (?P<type>[^:]*?)"
    r" \((?:nullable|valueContainsNull|containsNull) = "
)
_PARTITIONS = re.compile(r"^Partition Columns: \[(.*)\]\s*$", re.MULTILINE)

# Spark's schema tree has other type names than SQL.
_SQL_NAMES = {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint"}


class TableColumn(NamedTuple):
    """A column's name, its SQL type, and whether it is a partition column."""

    name: str
    data_type: str
    is_partition: bool = False


class _Field(NamedTuple):
    name: str
    type_name: str
    inner: "list[_Field]"


def table_columns(text: str) -> tuple[TableColumn, ...]:
    """Return the columns of a ``CatalogTable(...)`` text; empty without a schema."""
    match = _SCHEMA.search(text)
    if not match:
        return ()
    partitions = _PARTITIONS.search(text)
    partition_names = {each.strip("` ") for each in partitions[1].split(",")} if partitions else set()
    top: list[_Field] = []
    levels = [top]
    fields: list[_Field] = []
    for line in match["tree"].splitlines():
        matched = _FIELD.match(line)
        if not matched:
            return ()
        depth = len(matched["bars"]) // 5
        if depth >= len(levels):
            return ()
        del levels[depth + 1 :]
        each = _Field(matched["name"], matched["type"], [])
        levels[depth].append(each)
        levels.append(each.inner)
        fields.append(each)
    texts: dict[int, str] = {}
    for field in reversed(fields):  # nested fields follow their parent
        texts[id(field)] = _type_text(field, texts)
    return tuple(TableColumn(each.name, texts[id(each)], each.name in partition_names) for each in top)


def _type_text(each: _Field, texts: dict[int, str]) -> str:
    parts = [texts[id(inner)] for inner in each.inner]
    if each.type_name == "array" and len(parts) == 1:
        return f"array<{parts[0]}>"
    if each.type_name == "map" and len(parts) == 2:
        return f"map<{parts[0]},{parts[1]}>"
    if each.type_name == "struct":
        fields = zip((inner.name for inner in each.inner), parts, strict=True)
        return f"struct<{','.join(f'{name}:{part}' for name, part in fields)}>"
    return _SQL_NAMES.get(each.type_name, each.type_name)

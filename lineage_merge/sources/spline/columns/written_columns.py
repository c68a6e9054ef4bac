"""The target's columns: the write's input under the names of the table, as far as the plan has its schema."""

import re
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from lineage_merge.column_lineage.data_types import array_of, map_of, sql_name, struct_of
from lineage_merge.column_lineage.value_graph import Node
from lineage_merge.sources.spline.columns.documents import PlanColumns

_SCHEMA = re.compile(r"^Schema: root\n(?P<tree>(?:^ .*(?:\n|\Z))*)", re.MULTILINE)
_FIELD = re.compile(
    r"^ (?P<bars>(?:\|    )*)\|-- (?P<name>.*): (?P<type>[^:]*?)"
    r" \((?:nullable|valueContainsNull|containsNull) = "
)
_PARTITIONS = re.compile(r"^Partition Columns: \[(.*)\]\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class PlanColumn:
    """A column by position, from 0; `data_type` in Spark's SQL notation, "" if unknown."""

    position: int
    name: str
    data_type: str


class _TableColumn(NamedTuple):
    name: str
    data_type: str = ""
    is_partition: bool = False


class _Field(NamedTuple):
    name: str
    type_name: str
    inner: "list[_Field]"


def read_written_columns(plan: PlanColumns) -> tuple[tuple[PlanColumn, ...], tuple[Node, ...]]:
    """Return the target's columns and the value of each: the write's input, by position."""
    below = plan.children.get(plan.write, ())
    values = plan.output(below[0] if below else plan.write)
    table = _table(plan, below)
    if not values:
        return tuple(PlanColumn(at, column.name, column.data_type) for at, column in enumerate(table)), ()
    columns = [PlanColumn(at, plan.name(value), plan.data_type(value)) for at, value in enumerate(values)]
    # An INSERT may omit static partition columns, which precede the dynamic ones.
    partitions = [column for column in table if column.is_partition]
    omitted = partitions[: len(table) - len(columns)] if len(columns) < len(table) else []
    names = [column.name for column in table if column not in omitted]
    if len(names) == len(columns):
        columns = [replace(column, name=name) for column, name in zip(columns, names, strict=True)]
    return tuple(columns), values


def _table(plan: PlanColumns, below: tuple[str, ...]) -> tuple[_TableColumn, ...]:
    """Return the columns of the written table if the write or the command below it has them."""
    name = plan.operations[plan.write].get("name") if plan.write else None
    commands = [operation for operation in below if plan.operations[operation].get("name") == name]
    for operation in filter(None, (plan.write, *commands)):
        columns = _list_shown_columns(plan.params(operation).get("table"))
        if columns:
            return columns
    return ()


def _list_shown_columns(table: Any) -> tuple[_TableColumn, ...]:
    if isinstance(table, str):
        return _table_columns(table)
    output = table.get("output") if isinstance(table, dict) else None
    if not isinstance(output, list):
        return ()
    # A DataSource V2 write lists the table's columns in Spark's notation: `id#12L`.
    names = [text.rpartition("#")[0] if isinstance(text, str) else "" for text in output]
    return tuple(map(_TableColumn, names)) if all(names) else ()


def _table_columns(text: str) -> tuple[_TableColumn, ...]:
    """Return the columns of a ``CatalogTable(...)`` text; empty without a schema."""
    match = _SCHEMA.search(text)
    if not match:
        return ()
    partitions = _PARTITIONS.search(text)
    partition_names = {name.strip("` ") for name in partitions[1].split(",")} if partitions else set()
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
        parsed = _Field(matched["name"], matched["type"], [])
        levels[depth].append(parsed)
        levels.append(parsed.inner)
        fields.append(parsed)
    texts: dict[int, str] = {}
    for field in reversed(fields):  # nested fields follow their parent
        texts[id(field)] = _type_text(field, texts)
    return tuple(_TableColumn(field.name, texts[id(field)], field.name in partition_names) for field in top)


def _type_text(field: _Field, texts: dict[int, str]) -> str:
    parts = [texts[id(inner)] for inner in field.inner]
    if field.type_name == "array" and len(parts) == 1:
        return array_of(parts[0])
    if field.type_name == "map" and len(parts) == 2:
        return map_of(parts[0], parts[1])
    if field.type_name == "struct":
        return struct_of(zip((inner.name for inner in field.inner), parts, strict=True))
    return sql_name(field.type_name)

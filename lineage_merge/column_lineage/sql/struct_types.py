"""Fields in data types as platforms write them: ``struct<city:string>``, ``ROW(city VARCHAR)``."""

import json
from collections.abc import Callable
from typing import Any

from sqlglot import exp

from lineage_merge.column_lineage.data_types import fields_of, is_structure, struct_of
from lineage_merge.column_lineage.sql.sql_values import (
    Columns,
    SqlColumn,
    SqlValue,
    field_of,
    find_fields,
    find_passed_columns,
)
from lineage_merge.model.elements import FIELD


class StructTypes:
    """The fields of columns by their types. `type_of` returns the type of a column, "" if it is unknown."""

    def __init__(self, type_of: Callable[[SqlColumn], str]) -> None:
        self._type_of = type_of

    def fields(self, value: SqlValue) -> Columns | None:
        """Return the fields of a structure, or of an array's elements; None: unknown."""
        known = find_fields(value)
        if known is not None:
            return known.columns if known.closed else None
        for column in sorted(find_passed_columns(value)):
            fields = fields_of(self._find_type(column))
            if fields is not None:
                return [(name, field_of(value, name)) for name, _ in fields]
        return None

    def is_structure(self, value: SqlValue) -> bool:
        """Return whether the value itself is known to be a structure, not an array of them."""
        return find_fields(value) is not None or any(
            is_structure(self._find_type(column)) for column in find_passed_columns(value)
        )

    def _find_type(self, source: SqlColumn) -> str:
        """Return the type of a column or a field, "" if it is unknown."""
        column, *path = source.column.split(FIELD)
        kind = self._type_of(SqlColumn(source.source, column))
        for name in path:
            fields = fields_of(kind) or ()
            kind = next((inner for field, inner in fields if field.casefold() == name.casefold()), "")
        return kind


def names_in(kind: exp.Expr) -> list[str] | None:
    """Return the names of the fields of a structure's type; None for other types."""
    is_structure = isinstance(kind, exp.DataType) and kind.this in (
        exp.DType.STRUCT,
        exp.DType.OBJECT,
        exp.DType.NESTED,
    )
    if not is_structure or not kind.expressions:
        return None
    return [
        field.name if isinstance(field, exp.ColumnDef | exp.Identifier) else "" for field in kind.expressions
    ]


def type_text(value: SqlValue) -> str:
    """Return the type of a structure that a query builds, `null` for unknown ones; "" for other values."""
    known = find_fields(value)
    if known is None or not known.closed:
        return ""
    named = ((name, inner) for name, inner in known.columns if "`" not in name)
    return struct_of((f"`{name}`", type_text(inner) or "null") for name, inner in named)


def fields_of_schema(text: str) -> list[str] | None:
    """Return the top fields of a literal schema of ``from_json``: DDL, a type or JSON; None: unknown."""
    if text.lstrip().startswith("{"):
        return _fields_of_json(text)
    for written in (text, f"struct<{text}>"):
        fields = fields_of(written)
        if fields is not None and all(name for name, _ in fields):
            return [name for name, _ in fields]
    return None


def _fields_of_json(text: str) -> list[str] | None:
    try:
        schema: Any = json.loads(text)
    except ValueError:
        return None
    while isinstance(schema, dict) and schema.get("type") == "array":
        schema = schema.get("elementType")
    fields = schema.get("fields") if isinstance(schema, dict) else None
    if not isinstance(fields, list):
        return None
    return [
        field["name"] for field in fields if isinstance(field, dict) and isinstance(field.get("name"), str)
    ]

"""Fields in data types as platforms write them: ``struct<city:string>``, ``ROW(city VARCHAR)``."""

import json
from collections.abc import Callable
from typing import Any

from sqlglot import Dialect, exp
from sqlglot.errors import SqlglotError

from lineage_merge.column_lineage.sql.derivation import ColumnOrigin, Derivation, Structure
from lineage_merge.model.elements import FIELD

# Spark's notation, which catalogs and clients use whatever the statement's dialect is.
_COMMON = "spark"


class StructTypes:
    """The fields of columns by their types. `type_of` returns the type of a column, "" if it is unknown."""

    def __init__(self, dialect: Dialect, type_of: Callable[[ColumnOrigin], str]) -> None:
        self._dialect = dialect
        self._type_of = type_of
        self._types: dict[str, exp.DataType | None] = {}

    def fields(self, derivation: Derivation) -> list[str] | None:
        """Return the names of the fields of a structure, or of an array's elements; None: unknown."""
        if isinstance(derivation, Structure):
            return [name for name, _ in derivation.fields] if derivation.closed else None
        for origin, step in sorted(derivation.items(), key=lambda item: item[0]):
            names = self._fields_of(origin) if step.passing else None
            if names is not None:
                return names
        return None

    def is_structure(self, derivation: Derivation) -> bool:
        """Return whether the value itself is known to be a structure, not an array of them."""
        return isinstance(derivation, Structure) or any(
            fields_in(kind) is not None
            for origin, step in derivation.items()
            if step.passing and (kind := self._at(origin)) is not None
        )

    def _fields_of(self, origin: ColumnOrigin) -> list[str] | None:
        kind = self._at(origin)
        fields = None if kind is None else fields_in(_element(kind))
        return None if fields is None else [name for name, _ in fields]

    def _at(self, origin: ColumnOrigin) -> exp.DataType | None:
        column, *path = origin.column.split(FIELD)
        text = self._type_of(ColumnOrigin(origin.dataset, column))
        if "<" not in text and "(" not in text:
            return None
        if text not in self._types:
            self._types[text] = _parsed(text, self._dialect)
        kind = self._types[text]
        for name in path:
            fields = None if kind is None else fields_in(_element(kind))
            kind = next((inner for field, inner in fields or () if field.casefold() == name.casefold()), None)
        return kind


def fields_in(kind: exp.DataType) -> list[tuple[str, exp.DataType | None]] | None:
    """Return the fields of a structure's type with their types; None for other types."""
    if kind.this not in (exp.DType.STRUCT, exp.DType.OBJECT, exp.DType.NESTED) or not kind.expressions:
        return None
    fields: list[tuple[str, exp.DataType | None]] = []
    for field in kind.expressions:
        inner = field.args.get("kind") if isinstance(field, exp.ColumnDef) else None
        name = field.name if isinstance(field, exp.ColumnDef | exp.Identifier) else ""
        fields.append((name, inner if isinstance(inner, exp.DataType) else None))
    return fields


def type_text(derivation: Derivation) -> str:
    """Return the type of a structure that a query builds, `null` for unknown ones; "" for other values."""
    if not isinstance(derivation, Structure) or not derivation.closed:
        return ""
    named = ((name, inner) for name, inner in derivation.fields if "`" not in name)
    fields = (f"`{name}`:{type_text(inner) or 'null'}" for name, inner in named)
    return f"struct<{','.join(fields)}>"


def fields_of_schema(text: str) -> list[str] | None:
    """Return the top fields of a literal schema of ``from_json``: DDL, a type or JSON; None: unknown."""
    if text.lstrip().startswith("{"):
        return _fields_of_json(text)
    dialect = Dialect.get_or_raise(_COMMON)
    for written in (text, f"struct<{text}>"):
        kind = _parsed(written, dialect)
        fields = None if kind is None else fields_in(_element(kind))
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


def _element(kind: exp.DataType) -> exp.DataType:
    """Return the type of the elements of an array, or of the values of a map; other types as they are."""
    while kind.this in (exp.DType.ARRAY, exp.DType.LIST, exp.DType.MAP):
        inner = kind.expressions[-1] if kind.expressions else None
        if not isinstance(inner, exp.DataType):
            break
        kind = inner
    return kind


def _parsed(text: str, dialect: Dialect) -> exp.DataType | None:
    for written_in in (dialect, Dialect.get_or_raise(_COMMON)):
        try:
            kind = exp.DataType.build(text, dialect=written_in)
        except (SqlglotError, ValueError):
            continue
        if fields_in(_element(kind)) is not None:
            return kind
    return None

"""Fields of the rows and answers of questions: the type of a field says what it is.

What a field is decides how JSON, data frames and tables show it (here), and tools (`mcp.models`).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from datetime import datetime
from enum import Enum, auto
from types import UnionType
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

from lineage_merge.graph_format.elements import Vertex, title_of_id, values_of
from lineage_merge.model.times import duration_text, utc_time


class Kind(Enum):
    """What a field is."""

    ELEMENT = auto()
    ID = auto()
    NAME = auto()
    TIME = auto()
    DURATION = auto()
    TEXT = auto()
    LABEL = auto()
    TAG = auto()
    VALUE = auto()
    COUNTS = auto()
    RECORD = auto()


# A vertex, or its id: a dataset, column, job or assertion. JSON has the id, a table the title.
Element = Annotated[Vertex, Kind.ELEMENT]
ElementId = Annotated[str, Kind.ID]
# A name, id, environment or DAG that tables show as it is; it can be given to a tool again.
Name = Annotated[str, Kind.NAME]
# In ms, since 1970 and of any length. JSON has the number; the name of a duration ends with `_ms` there.
Time = Annotated[int, Kind.TIME]
Duration = Annotated[int, Kind.DURATION]
# Texts of the graph: one to read, such as a description, and a short one, such as a status.
Text = Annotated[str, Kind.TEXT]
Label = Annotated[str, Kind.LABEL]
# To assistants exact, because they ask for it.
Tag = Annotated[str, Kind.TAG]
Counts = Annotated[Mapping[str, int], Kind.COUNTS]

AnyRow = TypeVar("AnyRow")
Surface = Literal["json", "frame", "tool", "table"]


@dataclass(frozen=True, slots=True)
class Shown:
    """How a field is shown, beyond what it is.

    `help`: what assistants read of it. `name`, `tool_name`: where it is not that of the attribute.
    `on`: where it is shown, by default everywhere; records only in JSON. `is_sparse`: JSON omits None.
    """

    help: str = ""
    name: str = ""
    tool_name: str = ""
    on: tuple[Surface, ...] = ()
    is_sparse: bool = False


# A value of a table only.
Cell = Annotated[str, Shown(on=("table",))]
JSON_ONLY = Shown(on=("json",))
NOT_FOR_TOOLS = Shown(on=("json", "frame"))


class RowField(NamedTuple):
    """A field of a row or answer. `value_type`: of one value; `is_list`, `is_optional`: of several, none.

    `default`: MISSING without one; assistants are not shown it.
    """

    attribute: str
    kind: Kind
    value_type: Any
    is_list: bool
    is_optional: bool
    shown: Shown
    default: Any = MISSING

    def is_on(self, surface: Surface) -> bool:
        """Whether the field is shown there."""
        return surface in self.shown.on if self.shown.on else surface == "json" or self.kind != Kind.RECORD

    @property
    def name(self) -> str:
        """The name in JSON and data frames."""
        return self.shown.name or self.attribute + ("_ms" if self.kind == Kind.DURATION else "")

    @property
    def tool_name(self) -> str:
        return self.shown.tool_name or self.shown.name or self.attribute

    @property
    def frame_type(self) -> type:
        """The type of a column of a data frame."""
        if self.is_list:
            return tuple
        if self.kind == Kind.VALUE:
            return self.value_type if isinstance(self.value_type, type) else str
        return {Kind.TIME: datetime, Kind.DURATION: int}.get(self.kind, str)


def fields_of(record: type) -> tuple[RowField, ...]:
    if record not in _FIELDS:
        hints = get_type_hints(record, include_extras=True)
        _FIELDS[record] = tuple(
            _field(field.name, hints[field.name], field.default) for field in fields(record)
        )
    return _FIELDS[record]


_FIELDS: dict[type, tuple[RowField, ...]] = {}


def header_of(answer: type) -> tuple[RowField, ...]:
    """Return the fields beside the rows of an answer: its attributes and properties with `Shown`."""
    # Types in quotes may be imported for type checkers only: they are not shown.
    attributes: list[tuple[str, Any]] = [(field.name, field.type) for field in fields(answer)]
    for name, member in vars(answer).items():
        if isinstance(member, property):
            attributes.append((name, member.fget.__annotations__["return"]))
    return tuple(_field(name, hint) for name, hint in attributes if metadata(hint, Shown))


def row_of(row_type: type[AnyRow], source: Any, /, **others: Any) -> AnyRow:
    """Return a row whose fields are attributes of an object; `others`: those that are not.

    Of a vertex or edge, they may be properties.
    """
    for field in fields_of(row_type):
        name = field.attribute
        if name in others:
            continue
        if hasattr(source, name):
            others[name] = getattr(source, name)
        else:
            others[name] = values_of(source, name) if field.is_list else source.properties.get(name)
    return row_type(**others)


def row_as_json(row: Any) -> dict[str, Any]:
    """Return the JSON object of a row."""
    return _as_json(row, fields_of(type(row)))


def header_as_json(answer: Any) -> dict[str, Any]:
    """Return the JSON fields beside the rows of an answer."""
    return _as_json(answer, header_of(type(answer)))


def as_record(row: Any) -> dict[str, Any]:
    """Return the values of a row for a data frame."""
    return {
        field.name: _plain(field.kind, getattr(row, field.attribute), tuple if field.is_list else None)
        for field in fields_of(type(row))
        if field.is_on("frame")
    }


def frame_columns(row_type: type) -> dict[str, type]:
    """Return the columns of a data frame."""
    return {field.name: field.frame_type for field in fields_of(row_type) if field.is_on("frame")}


def cells(row: Any, attributes: Iterable[str]) -> Iterator[str | int]:
    """Yield values for a table; "" if there is none. Properties of a row are shown as they are."""
    declared = {item.attribute: item for item in fields_of(type(row))}
    for attribute in attributes:
        value, field = getattr(row, attribute), declared.get(attribute)
        if value is None:
            yield ""
        elif field is not None and field.is_list:
            yield ", ".join(str(_cell(field.kind, member)) for member in value)
        else:
            yield _cell(field.kind if field else Kind.VALUE, value)


def attributes_by_header(columns: str) -> dict[str, str]:
    """Return the attributes of the columns of a table: of ``tag, dag: DAG`` those of ``tag`` and ``DAG``."""
    named = (column.partition(": ") for column in columns.split(", "))
    return {header or attribute.replace("_", " "): attribute for attribute, _, header in named}


def _cell(kind: Kind, value: Any) -> str | int:
    if kind == Kind.ELEMENT:
        return str(value.title)
    if kind == Kind.ID:
        return title_of_id(value)
    if kind in (Kind.TIME, Kind.DURATION):
        return utc_time(value) if kind == Kind.TIME else duration_text(value)
    return value if isinstance(value, int) else str(value)


def _as_json(record: Any, declared: Iterable[RowField]) -> dict[str, Any]:
    values = ((field, getattr(record, field.attribute)) for field in declared if field.is_on("json"))
    return {
        field.name: _plain(field.kind, value, list if field.is_list else None)
        for field, value in values
        if not (field.shown.is_sparse and value is None)
    }


def _plain(kind: Kind, value: Any, collection: type | None) -> Any:
    if value is None:
        return None
    if collection:
        return collection(_plain(kind, member, None) for member in value)
    if kind == Kind.ELEMENT:
        return value.id
    if kind == Kind.RECORD:
        return row_as_json(value)
    return dict(value) if kind == Kind.COUNTS else value


def _field(name: str, hint: Any, default: Any = MISSING) -> RowField:
    kind, value_type, is_list, is_optional = unwrap(hint, Kind)
    kind = kind or (Kind.RECORD if is_dataclass(value_type) else Kind.VALUE)
    return RowField(name, kind, value_type, is_list, is_optional, metadata(hint, Shown) or Shown(), default)


class Unwrapped(NamedTuple):
    """A type without what is around it: the enum member of an annotation, a list, and None."""

    kind: Any
    value_type: Any
    is_list: bool = False
    is_optional: bool = False


def unwrap(hint: Any, kinds: type[Enum]) -> Unwrapped:
    """Return the type of one value of a field such as ``Annotated[tuple[Element, ...] | None, ...]``."""
    kind = metadata(hint, kinds)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        inner = unwrap(arguments[0], kinds)
    elif origin in (Union, UnionType):
        others = [argument for argument in arguments if argument is not type(None)]
        inner = (
            unwrap(others[0], kinds)._replace(is_optional=True) if len(others) == 1 else Unwrapped(None, hint)
        )
    elif origin in (tuple, Iterable):
        inner = unwrap(arguments[0], kinds)._replace(is_list=True)
    else:
        inner = Unwrapped(None, hint)
    return inner._replace(kind=kind or inner.kind)


def metadata(hint: Any, wanted: type) -> Any:
    """Return the part of an annotation that is of a type; None if there is none."""
    return next((note for note in getattr(hint, "__metadata__", ()) if isinstance(note, wanted)), None)

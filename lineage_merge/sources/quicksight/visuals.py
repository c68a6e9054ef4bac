"""Visuals of a definition: their fields, and the columns that they use beside these. Pure.

One walk serves all kinds of visuals: a field is an object with `FieldId`, and `Column` or `Expression`.
"""

import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from lineage_merge.sources.json_values import as_list, as_mapping, as_text

Document = Mapping[str, Any]
# How a visual uses a column beside its fields: it shows it, is sorted by it, or formats values by it.
Use = Literal["shown", "sort", "condition"]

# Of a visual: what it does when it is clicked, which names columns of other visuals.
_SKIPPED = frozenset({"Actions"})
_SORTS = frozenset({"SortConfiguration"})
# An object with a field's id and its column that only refers to the field.
_REFERRING = frozenset({"ApplyTo"})
_TAG = re.compile(r"<[^<>]*>")


class ColumnName(NamedTuple):
    """A column or calculated field of a data set, by the identifier that the definition declares."""

    data_set: str
    name: str


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a visual: a column, or an `expression`; `function`: how it is aggregated, "" if it is not.

    `granularity` is that of a date.
    """

    id: str
    column: ColumnName | None = None
    expression: str = ""
    function: str = ""
    granularity: str = ""


class ColumnUse(NamedTuple):
    """A column, or an expression, that a visual uses beside its fields."""

    use: Use
    column: ColumnName | None = None
    expression: str = ""


@dataclass(slots=True)
class Visual:
    """A visual of a sheet. `sorting`: the ids of the fields by which it is sorted."""

    id: str
    kind: str
    sheet: str
    sheet_id: str
    title: str = ""
    fields: dict[str, Field] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    uses: list[ColumnUse] = field(default_factory=list)
    sorting: list[str] = field(default_factory=list)

    @property
    def data_sets(self) -> tuple[str, ...]:
        """The identifiers of the data sets that it names, those of its fields first."""
        columns = [named.column for named in self.fields.values()] + [used.column for used in self.uses]
        return tuple(dict.fromkeys(column.data_set for column in columns if column is not None))


def read_visuals(definition: Document) -> Iterator[Visual]:
    """Yield the visuals of a definition, sheet by sheet."""
    for sheet in map(as_mapping, as_list(definition.get("Sheets"))):
        sheet_id = as_text(sheet.get("SheetId"))
        for written in map(as_mapping, as_list(sheet.get("Visuals"))):
            for kind, body in written.items():
                identifier = as_text(as_mapping(body).get("VisualId"))
                if identifier:
                    name = kind.removesuffix("Visual")
                    visual = Visual(identifier, name, as_text(sheet.get("Name")) or sheet_id, sheet_id)
                    visual.title = _title_of(body)
                    _walk(visual, body)
                    yield visual


def column_of(value: Any) -> ColumnName | None:
    """Return the column that an object identifies, None for any other value."""
    if isinstance(value, Mapping) and "ColumnName" in value and "DataSetIdentifier" in value:
        return ColumnName(as_text(value["DataSetIdentifier"]), as_text(value["ColumnName"]))
    return None


def _walk(visual: Visual, body: Document) -> None:
    waiting: list[tuple[str, Any, Use]] = [("", body, "shown")]
    while waiting:
        key, value, use = waiting.pop()
        if isinstance(value, list):
            waiting += [(key, entry, use) for entry in reversed(value)]
            continue
        if not isinstance(value, Mapping) or key in _SKIPPED:
            continue
        if key in _SORTS:
            use = "sort"
        if (column := column_of(value)) is not None:
            visual.uses.append(ColumnUse(use, column))
            continue
        identifier, text = as_text(value.get("FieldId")), as_text(value.get("Expression"))
        named = column_of(value.get("Column"))
        if identifier and (named is not None or text):
            if key not in _REFERRING:
                _add_field(visual, Field(identifier, named, text), value)
            continue
        if identifier and use == "sort":
            visual.sorting.append(identifier)
        elif identifier and (label := as_text(value.get("CustomLabel"))):
            visual.labels.setdefault(identifier, label)
        elif text:
            visual.uses.append(ColumnUse("condition", expression=text))
        waiting += [(name, inner, use) for name, inner in reversed(list(value.items()))]


def _add_field(visual: Visual, named: Field, written: Document) -> None:
    function = name_of_function(written.get("AggregationFunction"))
    granularity = as_text(written.get("DateGranularity"))
    visual.fields.setdefault(named.id, replace(named, function=function, granularity=granularity))


def name_of_function(written: Any) -> str:
    """Return the name of an aggregation, "" without one: a text, or an object with one for each type."""
    while isinstance(written, Mapping):
        inner = next(iter(written.values()), "")
        if not isinstance(inner, str | Mapping) or "PercentileValue" in as_mapping(inner):
            return next(iter(written), "").removesuffix("Aggregation")
        written = inner
    return as_text(written)


def _title_of(body: Any) -> str:
    text = as_mapping(as_mapping(as_mapping(body).get("Title")).get("FormatText"))
    written = as_text(text.get("PlainText")) or _TAG.sub("", as_text(text.get("RichText")))
    return " ".join(html.unescape(written).split())

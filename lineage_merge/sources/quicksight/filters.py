"""Filters and parameters of a definition: what decides on the rows of which visuals. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lineage_merge.sources.json_values import as_list, as_mapping, as_text
from lineage_merge.sources.quicksight.visuals import ColumnName, Document, Visual, column_of

_ALL_DATA_SETS = "ALL_DATASETS"
# Of a filter: how its control looks, and where the control finds its values.
_SKIPPED = frozenset({"DefaultFilterControlConfiguration"})
_PARAMETERS = ("ParameterName", "Parameter")


@dataclass(frozen=True, slots=True)
class FilterGroup:
    """Filters with one scope: their columns, the expressions of dates, and the parameters with their values.

    `sheets`: the visuals of each sheet that are filtered, None for all of its visuals; None for all sheets.
    `is_shared`: also visuals of other data sets are filtered, by columns of the same names.
    """

    columns: tuple[ColumnName, ...]
    expressions: tuple[tuple[str, str], ...]
    parameters: tuple[str, ...]
    sheets: Mapping[str, frozenset[str] | None] | None
    is_shared: bool

    def covers(self, visual: Visual) -> bool:
        """Return whether a visual is in the scope."""
        if self.sheets is None:
            return True
        if visual.sheet_id not in self.sheets:
            return False
        visuals = self.sheets[visual.sheet_id]
        return visuals is None or visual.id in visuals

    def columns_for(self, data_sets: Sequence[str]) -> Iterator[ColumnName]:
        """Yield the columns by which a visual of these data sets is filtered; some may not exist."""
        for column in self.columns:
            for data_set in data_sets:
                if data_set == column.data_set or self.is_shared:
                    yield column._replace(data_set=data_set)


def read_filters(definition: Document) -> Iterator[FilterGroup]:
    """Yield the filter groups that are enabled."""
    for group in map(as_mapping, as_list(definition.get("FilterGroups"))):
        if group.get("Status") == "DISABLED":
            continue
        columns: list[ColumnName] = []
        expressions: list[tuple[str, str]] = []
        parameters: list[str] = []
        waiting: list[tuple[str, Any]] = [("", group.get("Filters"))]
        while waiting:
            key, value = waiting.pop()
            if isinstance(value, list):
                waiting += [(key, entry) for entry in reversed(value)]
            elif key in _PARAMETERS and isinstance(value, str):
                parameters.append(value)
            elif isinstance(value, Mapping) and key not in _SKIPPED:
                if (column := column_of(value)) is not None:
                    columns.append(column)
                    continue
                if text := as_text(value.get("Expression")):
                    expressions.append((as_text(value.get("DataSetIdentifier")), text))
                waiting += reversed(list(value.items()))
        yield FilterGroup(
            tuple(dict.fromkeys(columns)),
            tuple(expressions),
            tuple(dict.fromkeys(parameters)),
            _scope_of(as_mapping(group.get("ScopeConfiguration"))),
            group.get("CrossDataset") == _ALL_DATA_SETS,
        )


def _scope_of(scope: Document) -> Mapping[str, frozenset[str] | None] | None:
    if "AllSheets" in scope:
        return None
    configured = as_mapping(scope.get("SelectedSheets")).get("SheetVisualScopingConfigurations")
    sheets: dict[str, frozenset[str] | None] = {}
    for one in map(as_mapping, as_list(configured)):
        is_whole = one.get("Scope") != "SELECTED_VISUALS"
        visuals = None if is_whole else frozenset(map(as_text, as_list(one.get("VisualIds"))))
        sheets[as_text(one.get("SheetId"))] = visuals
    return sheets


def read_defaults(definition: Document) -> dict[str, tuple[ColumnName, ...]]:
    """Return the columns that the default of each parameter comes from, of those that depend on the user."""
    defaults: dict[str, tuple[ColumnName, ...]] = {}
    for declared in map(as_mapping, as_list(definition.get("ParameterDeclarations"))):
        for parameter in map(as_mapping, declared.values()):
            dynamic = as_mapping(as_mapping(parameter.get("DefaultValues")).get("DynamicValue"))
            columns = (column_of(value) for value in dynamic.values())
            known = tuple(dict.fromkeys(column for column in columns if column is not None))
            if known:
                defaults[as_text(parameter.get("Name"))] = known
    return defaults

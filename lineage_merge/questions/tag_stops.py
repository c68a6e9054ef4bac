"""Where a tag stops: the settings of one tag, applied to edges, datasets and columns. Pure."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from lineage_merge.config.propagation import Cleared, Propagation
from lineage_merge.graph_format.elements import Edge, Vertex, dataset_of, name_of_id
from lineage_merge.merge.metadata_rules import column_matches, dataset_matches, glob_names, matching_glob
from lineage_merge.questions.function_calls import enclosing_function, may_call

# What ended a tag: a transformation, `influences`, a function, a dataset, or `clear`.
StopKind = Literal["transformation", "influences", "function", "dataset", "cleared"]
_INFLUENCES = "influences"
_IDENTITY = "IDENTITY"


class StopReason(NamedTuple):
    """Why a tag ends: a transformation, a function, a glob on datasets, or the reason of `clear`."""

    kind: StopKind
    reason: str


@dataclass(frozen=True, slots=True)
class TagStops:
    """The settings of one tag.

    `datasets`: vertices by id. `sources`: names of all columns that feed a column, of columns with an
    expression that `may_stop_at_function`.
    """

    settings: Propagation
    datasets: Mapping[str, Vertex]
    sources: Mapping[str, Collection[str]]
    _dataset_globs: dict[str, str] = field(default_factory=dict)
    _cleared: dict[str, tuple[Cleared, ...]] = field(default_factory=dict)

    def at_edge(self, edge: Edge) -> StopReason | None:
        """Return why the tag does not pass an edge, None if it does."""
        settings = self.settings
        if settings.stop_at:
            if edge.label == _INFLUENCES and _INFLUENCES in settings.stop_at:
                return StopReason("influences", _INFLUENCES)
            chains = _chains(edge)
            # Several chains: all of them must stop.
            if chains and settings.stop_at.issuperset(chains):
                return StopReason("transformation", ",".join(chains))
        if settings.stop_at_functions and may_stop_at_function(edge, settings):
            column = name_of_id(edge.from_id)
            sources = self.sources.get(edge.to_id, (column,))
            expression = str(edge.properties["expression"])
            function = enclosing_function(expression, column, settings.stop_at_functions, sources)
            if function:
                return StopReason("function", function)
        target = edge.to_id if edge.label != "feeds_column" else dataset_of(edge.to_id)
        glob = self._glob_of(target) if settings.stop_at_datasets else ""
        return StopReason("dataset", glob) if glob else None

    def at_column(self, column: str) -> StopReason | None:
        """Return why a column does not carry the tag, None if it may."""
        if not self.settings.clear:
            return None
        dataset = dataset_of(column)
        if dataset not in self._cleared:
            names = self._names(dataset)
            self._cleared[dataset] = tuple(
                each for each in self.settings.clear if dataset_matches(names, each.dataset)
            )
        name = name_of_id(column)
        found = next((each for each in self._cleared[dataset] if column_matches(name, each.column)), None)
        return StopReason("cleared", found.reason) if found else None

    def _glob_of(self, dataset: str) -> str:
        if dataset not in self._dataset_globs:
            globs = self.settings.stop_at_datasets
            self._dataset_globs[dataset] = matching_glob(self._names(dataset), globs)
        return self._dataset_globs[dataset]

    def _names(self, dataset: str) -> set[str]:
        vertex = self.datasets.get(dataset)
        return glob_names(dataset, str(vertex.properties.get("qualified_name") or "") if vertex else "")


def may_stop_at_function(edge: Edge, settings: Propagation) -> bool:
    """Return whether the expression of an edge can contain a call at which the tag stops.

    An unchanged copy among the chains has no expression.
    """
    expression = edge.properties.get("expression")
    return bool(
        expression
        and settings.stop_at_functions
        and _IDENTITY not in _chains(edge)
        and may_call(str(expression), settings.stop_at_functions)
    )


def sources_by_column(edges: Iterable[Edge]) -> dict[str, set[str]]:
    """Return the names of the columns that feed each column."""
    sources: dict[str, set[str]] = {}
    for edge in edges:
        sources.setdefault(edge.to_id, set()).add(name_of_id(edge.from_id))
    return sources


def _chains(edge: Edge) -> tuple[str, ...]:
    return tuple(each for each in str(edge.properties.get("transformation", "")).split(",") if each)

"""Tests and data quality checks of datasets and columns."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from lineage_merge.graph_format.elements import ASSERTION, COLUMN, Edge, Vertex
from lineage_merge.graph_format.schema import SEMANTIC_LABELS
from lineage_merge.model.elements import dataset_of
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.questions.traversal.lineage import Upstream, upstream

# In order of severity. `error`: the check could not run.
NOT_PASSED = ("failed", "error", "warned")
# dbt and OpenLineage check no datasets of these kinds.
_NOT_CHECKED = ("exposure", *SEMANTIC_LABELS)


@dataclass(frozen=True, slots=True)
class Check:
    """An assertion and one dataset or column that it checks.

    `distance`: hops to the dataset in question, None if there is none.
    """

    assertion: Vertex
    checked: Vertex
    dataset: str
    distance: int | None = None

    @property
    def status(self) -> str:
        """``passed``, ``warned``, ``failed`` or ``error``; "" without a result."""
        return str(self.assertion.properties.get("status", ""))

    @property
    def column(self) -> str:
        """The checked column, or the expression that the assertion names; "" if it checks all columns."""
        is_column = self.checked.label == COLUMN
        return (
            self.checked.qualified_name
            if is_column
            else str(self.assertion.properties.get("column_name", ""))
        )


@dataclass(frozen=True, slots=True)
class Checks:
    """Checks by distance, then dataset; `unchecked`: datasets that no assertion checks.

    `datasets`: the datasets in question by id. `unchecked` has no exposures, metrics and the like.
    """

    checks: tuple[Check, ...]
    datasets: Mapping[str, Vertex] = field(default_factory=dict)
    unchecked: tuple[Vertex, ...] = ()

    def list_failed(self) -> tuple[Check, ...]:
        """Return the checks whose newest result is failed, error or warned."""
        return tuple(check for check in self.checks if check.status in NOT_PASSED)


def checks_upstream(
    graph: LineageGraph, start: Vertex, *, depth: int | None = None, dag: str | None = None
) -> Checks:
    """Return the checks of `start` and of what is upstream of it within `depth` hops (None: unlimited).

    Of a column: checks of the column, of its upstream columns, and of their datasets as a whole. With `dag`
    only its lineage is followed; assertions of all DAGs count.
    """
    return checks_within(graph, upstream(graph, start, depth=depth, dag=dag))


def checks_within(graph: LineageGraph, scope: Upstream) -> Checks:
    """Return the checks of the datasets and columns of `scope`."""
    columns: Iterable[str] = scope.columns
    if not columns:
        columns = {edge.to_id for edge in graph.edges_below(sorted(scope.datasets), ["has_column"])}
    edges = graph.edges_to(sorted({*scope.datasets, *columns}), ["checks"])
    return _checks(graph, edges, scope.datasets, scope.distances)


def all_checks(graph: LineageGraph, environment: str | None = None, dag: str | None = None) -> Checks:
    """Return all checks; with `dag` those of its assertions."""
    assertions = sorted(graph.ids([ASSERTION], environment, dag))
    return _checks(graph, graph.edges_from(assertions, ["checks"], dag), None, {})


def _checks(
    graph: LineageGraph,
    edges: Iterable[Edge],
    datasets: Mapping[str, Vertex] | None,
    distances: Mapping[str, int],
) -> Checks:
    ends = {(edge.from_id, edge.to_id) for edge in edges}
    known = {vertex.id: vertex for vertex in graph.vertices(sorted({end for pair in ends for end in pair}))}
    checks = []
    for assertion, checked in ends:
        if assertion in known and checked in known:
            is_column = known[checked].label == COLUMN
            dataset = dataset_of(checked) if is_column else checked
            checks.append(Check(known[assertion], known[checked], dataset, distances.get(dataset)))
    if datasets is None:
        datasets = {item.id: item for item in graph.vertices(sorted({check.dataset for check in checks}))}
    has_check = {check.dataset for check in checks}
    unchecked = [
        dataset
        for dataset in datasets.values()
        if dataset.id not in has_check and dataset.label not in _NOT_CHECKED
    ]
    unchecked.sort(key=lambda dataset: (distances.get(dataset.id, 0), dataset.id))
    return Checks(tuple(sorted(checks, key=_order)), datasets, tuple(unchecked))


def _order(check: Check) -> tuple[int, str, int, str, str]:
    rank = NOT_PASSED.index(check.status) if check.status in NOT_PASSED else len(NOT_PASSED)
    return check.distance or 0, check.dataset, rank, check.checked.id, check.assertion.id

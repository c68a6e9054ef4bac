"""Plans the changes of an embedded graph: by columns where possible, so that unchanged rows stay columns.

Rows that are new need no comparison either. The others, and all rows where the names of datasets have to be
resolved, are compared by `load.plan_changes` and `load.diff`, as those of a server.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from lineage_merge.graph_format.arrow import rows_of_table
from lineage_merge.graph_format.schema import DATASET_LABELS, Row
from lineage_merge.infra.arrow_tables import encode_columns, get_column, is_one_of
from lineage_merge.infra.embedded.graph_tables import GraphTables, arrow, table_of
from lineage_merge.infra.engine.rows import Engine, Rows
from lineage_merge.load import diff
from lineage_merge.load.diff import Change
from lineage_merge.load.folder.column_comparison import ComparedRows, compare_edges, compare_vertices
from lineage_merge.load.folder.state import FolderState
from lineage_merge.load.graph_state import AliasOf, GraphState
from lineage_merge.load.load_plan import (
    COLUMN_EDGE_LABELS,
    Comparison,
    DiffCounts,
    LoadPlan,
    MergeOutput,
    count_differences,
)
from lineage_merge.load.plan_changes import plan, plan_in_full
from lineage_merge.load.resolve_names import resolve_names

_SUMMARY = (
    "id",
    "label",
    "from",
    "to",
    "name",
    "job_type",
    "job_name",
    "project",
    "described_at",
    "last_run_at",
)


class FolderPlan(NamedTuple):
    """The changes of an embedded graph. `new`: rows to add as they are, which `plan` does not have."""

    plan: LoadPlan
    new: GraphTables | None = None


def plan_changes(merge: MergeOutput, state: FolderState, *, dry_run: bool = False) -> FolderPlan:
    """Compare a merge with an embedded graph, and plan the changes.

    `dry_run`: the plan has the new rows, too, to be shown.
    Raises `IntermediateError` if a row has no key.
    """
    incoming = _tables_of(merge)
    compared = _compare(incoming, state)
    if compared is None or _have_other_names(merge, incoming, state):
        return FolderPlan(plan_in_full(merge, state))
    nodes, edges = compared
    engine = merge.nodes.engine
    existing = GraphState(
        engine.rows(state.read_vertices(_join(nodes.replaced, nodes.missing))),
        engine.rows(state.read_edges(_join(edges.replaced, edges.missing))),
    )
    writes = incoming.edges.filter(is_one_of(get_column(incoming.edges, "label"), ["writes"]))
    changed_nodes = diff.compare_nodes(
        engine.rows(_rows(incoming.vertices, nodes.changed)),
        engine.rows(rows_of_table(writes) if len(nodes.changed) else ()),
        existing,
        drops_values=merge.drops_values,
    )
    changed_edges = diff.compare_edges(engine.rows(_rows(incoming.edges, edges.changed)), existing)
    counts = _count_all(
        count_differences(changed_nodes, changed_edges, existing.edges), incoming, nodes, edges
    )
    if "stored_is_newer" in counts.nodes:
        return FolderPlan(plan_in_full(merge, state))
    comparison = Comparison(changed_nodes, changed_edges, counts, existing, existing.vertices)
    complete = comparison
    if counts.total("unmatched") or dry_run:
        # Deletions depend on all elements, and on all jobs.
        complete = replace(
            comparison,
            nodes=changed_nodes.union(engine.rows(_summaries(incoming.vertices, nodes))),
            edges=changed_edges.union(engine.rows(_summaries(incoming.edges, edges))),
            vertices=existing.vertices.union(engine.rows(state.read_vertices(_jobs(state)))),
        )
    planned = plan(merge, state, complete, "")
    if not dry_run:
        planned = replace(planned, comparison=comparison)
    return FolderPlan(planned, GraphTables(incoming.vertices.take(nodes.new), incoming.edges.take(edges.new)))


def _tables_of(merge: MergeOutput) -> GraphTables:
    if merge.tables:
        return GraphTables(*map(encode_columns, merge.tables))
    return GraphTables(
        encode_columns(table_of("vertices", merge.nodes.collect())),
        encode_columns(table_of("edges", merge.edges.collect())),
    )


def _compare(incoming: GraphTables, state: FolderState) -> tuple[ComparedRows, ComparedRows] | None:
    nodes = compare_vertices(incoming.vertices, state)
    edges = compare_edges(incoming.edges, state)
    return (nodes, edges) if nodes and edges else None


def _have_other_names(merge: MergeOutput, incoming: GraphTables, state: FolderState) -> bool:
    """Return whether a dataset of the merge has another id in the graph, or the graph one of another id."""
    engine = merge.nodes.engine
    is_dataset = is_one_of(get_column(incoming.vertices, "label"), DATASET_LABELS)
    datasets = engine.rows(rows_of_table(incoming.vertices.filter(is_dataset)))
    of_datasets = replace(merge, nodes=datasets, edges=engine.empty())
    resolved = resolve_names(of_datasets, _Datasets(state))
    return bool(resolved.nodes is not datasets or resolved.moves or resolved.renames.changes)


@dataclass(frozen=True)
class _Datasets:
    """Reads only the datasets of a graph, which alone have names to resolve."""

    state: FolderState

    @property
    def environment(self) -> str:
        return self.state.environment

    @property
    def dag_name(self) -> str:
        return self.state.dag_name

    def read_state(self, ids: Rows[str]) -> GraphState:
        compute, vertices = arrow().compute, self.state.tables.vertices
        wanted = compute.or_(is_one_of(get_column(vertices, "id"), ids.collect()), self.state.has_tag)
        is_dataset = is_one_of(get_column(vertices, "label"), DATASET_LABELS)
        positions = compute.indices_nonzero(compute.and_(wanted, is_dataset))
        return GraphState(ids.engine.rows(self.state.read_vertices(positions)), ids.engine.empty())

    def read_aliases(self, engine: Engine) -> Rows[AliasOf]:
        return self.state.read_aliases(engine)


def _count_all(
    counts: DiffCounts, incoming: GraphTables, nodes: ComparedRows, edges: ComparedRows
) -> DiffCounts:
    """Return counts with those of the rows that were not read."""
    by_change = [
        {
            kind: of_changed.get(kind, 0) + len(rows)
            for kind, rows in (("new", found.new), ("unchanged", found.unchanged))
        }
        for of_changed, found in ((counts.nodes, nodes), (counts.edges, edges))
    ]
    of_columns = incoming.edges.filter(is_one_of(get_column(incoming.edges, "label"), COLUMN_EDGE_LABELS))
    types = set(get_column(of_columns, "job_type").unique().drop_null().to_pylist())
    return replace(
        counts,
        nodes={**counts.nodes, **{kind: number for kind, number in by_change[0].items() if number}},
        edges={**counts.edges, **{kind: number for kind, number in by_change[1].items() if number}},
        column_job_types=counts.column_job_types | (types - {""}),
    )


def _summaries(table: Any, compared: ComparedRows) -> Iterator[Change]:
    """Yield the rows that were not read, with what deletions depend on."""
    known = table.select([name for name in _SUMMARY if name in table.column_names])
    for row in _rows(known, compared.unchanged):
        yield Change("unchanged", row)
    for row in _rows(known, compared.new):
        yield Change("new", row)


def _jobs(state: FolderState) -> Any:
    is_job = is_one_of(get_column(state.tables.vertices, "label"), ["job"])
    return arrow().compute.indices_nonzero(arrow().compute.and_(is_job, state.has_tag))


def _rows(table: Any, positions: Any) -> Iterator[Row]:
    return rows_of_table(table.take(positions))


def _join(*positions: Any) -> Any:
    pa = arrow()
    return pa.concat_arrays([each.cast(pa.int32()) for each in positions])

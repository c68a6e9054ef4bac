"""Excludes jobs of which the graph has a later run, with the elements that only they touch. Pure."""

from collections.abc import Iterable, Iterator
from functools import partial
from operator import and_, itemgetter
from typing import NamedTuple

from lineage_merge.graph_format.schema import Row
from lineage_merge.infra.engine.rows import Rows, Shared
from lineage_merge.load.dataset_ids import dataset_of_end, dataset_of_node
from lineage_merge.load.diff import Compared
from lineage_merge.model.elements import JobKey


def without_newer_jobs(nodes: Rows[Compared], edges: Rows[Compared]) -> tuple[Rows[Compared], Rows[Compared]]:
    """Return the comparison without jobs whose stored run is newer, and what only they touch.

    Their stored edges stay unchanged.
    """
    newer = nodes.filter(lambda element: element.change == "stored_is_newer").collect()
    jobs = nodes.engine.share({_job_of(row) for _, row, *_ in newer})
    touched: Rows[tuple[_End, bool]] = edges.flat_map(partial(_touched_ends, jobs)).reduce_by_key(and_)
    excluded = (
        touched.filter(itemgetter(1))
        .map(itemgetter(0))
        .union(
            nodes.flat_map(partial(_operation_of, jobs)),
            nodes.engine.rows([_End(row["id"], row["id"]) for _, row, *_ in newer]),
        )
        .cache()
    )
    by_dataset: Rows[tuple[str, Compared | _End]] = nodes.map(lambda node: (dataset_of_node(node.row), node))
    by_dataset = by_dataset.union(excluded.map(lambda end: (end.dataset, end)))
    remaining_nodes = by_dataset.group(itemgetter(0), _remaining_nodes)
    remaining_edges = edges.flat_map(partial(_remaining_edge, jobs))
    for end in ("from", "to"):
        by_end: Rows[tuple[str, Compared | _End]] = remaining_edges.map(partial(_edge_by_end, end))
        by_end = by_end.union(excluded.map(lambda vertex: (vertex.id, vertex)))
        remaining_edges = by_end.group(itemgetter(0), _with_existing_ends)
    return remaining_nodes, remaining_edges


def _job_of(row: Row) -> JobKey:
    """Return the job that a row is, or to which an assertion belongs."""
    return JobKey(row.get("job_type", ""), row["name"] if row["label"] == "job" else row.get("job_name", ""))


class _End(NamedTuple):
    """A vertex at an end of an edge, and the dataset that it belongs to."""

    id: str
    dataset: str


_Jobs = Shared[set[JobKey]]


def _is_of_newer(jobs: set[JobKey], row: Row) -> bool:
    return "job_name" in row and JobKey(row.get("job_type", ""), row["job_name"]) in jobs


def _touched_ends(jobs: _Jobs, edge: Compared) -> Iterator[tuple[_End, bool]]:
    """Yield the ends of an edge of the merge, with whether the edge is of a newer job."""
    row = edge.row
    if edge.change != "unmatched" and row["label"] != "has_column":
        for end in ("from", "to"):
            yield _End(row[end], dataset_of_end(row, end)), _is_of_newer(jobs.value, row)


def _operation_of(jobs: _Jobs, node: Compared) -> Iterable[_End]:
    row = node.row
    is_operation = row.get("label") == "operation" and node.change != "unmatched"
    return (_End(row["id"], row["id"]),) if is_operation and _is_of_newer(jobs.value, row) else ()


def _edge_by_end(end: str, edge: Compared) -> tuple[str, Compared | _End]:
    return edge.row[end], edge


def _remaining_nodes(dataset: str, items: list[tuple[str, Compared | _End]]) -> Iterator[Compared]:
    excluded = {item.id for _, item in items if isinstance(item, _End)}
    for _, item in items:
        if isinstance(item, Compared) and (
            item.change == "unmatched" or (item.row.get("id") not in excluded and dataset not in excluded)
        ):
            yield item


def _remaining_edge(jobs: _Jobs, edge: Compared) -> Iterator[Compared]:
    if edge.change == "unmatched" or not _is_of_newer(jobs.value, edge.row):
        yield edge
    elif edge.change != "new":
        yield edge._replace(change="unchanged", to_write=(), cleared=())


def _with_existing_ends(_id: str, items: list[tuple[str, Compared | _End]]) -> Iterator[Compared]:
    is_end_excluded = any(isinstance(item, _End) for _, item in items)
    for _, item in items:
        if isinstance(item, Compared) and not (is_end_excluded and item.change == "new"):
            yield item

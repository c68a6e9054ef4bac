"""What a Spark job writes and how, from a document of its captured plan or from the merged graph."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from lineage_merge.column_lineage.sql.tables import fold
from lineage_merge.graph_format.captures import CaptureDocument, Clause
from lineage_merge.graph_format.elements import (
    COLUMN,
    Edge,
    Vertex,
    dataset_id_of,
    edge_of_row,
    title_of_id,
    vertex_of_row,
)
from lineage_merge.model.elements import encode
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.review.column_comparison import ColumnInput, Columns
from lineage_merge.review.graph_lookup import GraphIds
from lineage_merge.review.relations import without_qualifiers
from lineage_merge.sources.dbt.columns import Column

_OF_JOB = ("feeds", "feeds_column", "influences")
# Vertices that are not part of the comparison.
_APART = ("job", "operation")


@dataclass(frozen=True, slots=True)
class WrittenDataset:
    """A dataset that a job writes: its columns, inputs, and the columns that determine its rows, by kind.

    `is_known` false: the job has no column lineage into it.
    """

    columns: Columns
    inputs: frozenset[str]
    modes: frozenset[str]
    influences: Mapping[str, frozenset[str]]
    is_known: bool = True


@dataclass(frozen=True, slots=True)
class JobVersion:
    """A job at one time. `written`: by id in the graph; `clauses` None: not known.

    `vertices` and `edges` are those of a document, with ids of the graph; none for a job of the graph.
    """

    name: str
    written: Mapping[str, WrittenDataset]
    clauses: Sequence[Clause] | None
    vertices: tuple[Vertex, ...] = ()
    edges: tuple[Edge, ...] = ()
    notes: tuple[str, ...] = field(default=())


def of_document(document: CaptureDocument, environment: str, ids: GraphIds) -> JobVersion:
    """Return the job of a document, in an environment of the graph: notebooks capture in their own one."""

    def id_of(identifier: str) -> str:
        rest = identifier.removeprefix(f"{encode(document.environment)}|")
        return ids.of(f"{encode(environment)}|{rest}")

    vertices = tuple(
        Vertex(id_of(each.id), each.label, {**each.properties, "environment": environment})
        for each in map(vertex_of_row, document.nodes)
        if each.label not in _APART
    )
    edges = tuple(
        Edge(
            each.id,
            each.label,
            id_of(each.from_id),
            id_of(each.to_id),
            {**each.properties, "environment": environment},
        )
        for each in map(edge_of_row, document.edges)
        if each.label in (*_OF_JOB, "has_column")
    )
    own = [edge for edge in edges if edge.label in _OF_JOB]
    written = dict(_written(vertices, [edge for edge in edges if edge.label == "has_column"], own))
    return JobVersion(document.job_name, written, document.clauses, vertices, edges, tuple(document.notes))


def of_graph(
    graph: LineageGraph, job_type: str, job_name: str, targets: Iterable[str], dag: str | None
) -> JobVersion:
    """Return what the graph has of a job's writes to datasets."""
    datasets = [vertex.id for vertex in graph.vertices(sorted(targets))]
    owned = graph.edges_from(datasets, ["has_column"])
    columns = graph.vertices([edge.to_id for edge in owned])
    arriving = [
        *graph.edges_to(datasets, ["feeds", "influences"], dag),
        *graph.edges_to([column.id for column in columns], ["feeds_column"], dag),
    ]
    own = [edge for edge in arriving if is_of_job(edge, job_type, job_name)]
    # Columns that only another job writes are not the job's.
    others = {edge.to_id for edge in arriving if edge not in own and edge.label == "feeds_column"}
    others -= {each.to_id for each in own}
    held = [column for column in columns if column.id not in others]
    return JobVersion(job_name, dict(_written(held, owned, own)), None)


def is_of_job(edge: Edge, job_type: str, job_name: str) -> bool:
    """Return whether a job has an edge."""
    return edge.job == job_name and edge.properties.get("job_type") == job_type


def _written(
    vertices: Iterable[Vertex], owned: Iterable[Edge], own: Sequence[Edge]
) -> Iterator[tuple[str, WrittenDataset]]:
    columns = {vertex.id: vertex for vertex in vertices if vertex.label == COLUMN}
    of_dataset: dict[str, list[Vertex]] = {}
    for edge in owned:
        if edge.to_id in columns:
            of_dataset.setdefault(edge.from_id, []).append(columns[edge.to_id])
    for dataset in sorted({edge.to_id for edge in own if edge.label == "feeds"}):
        into = [edge for edge in own if dataset_id_of(edge.to_id) == dataset]
        flows = [each for each in into if each.label == "feeds_column"]
        feeds = [each for each in into if each.label == "feeds"]
        unavailable = any(feed.properties.get("column_lineage") == "unavailable" for feed in feeds)
        yield (
            dataset,
            WrittenDataset(
                Columns.of(_columns(of_dataset.get(dataset, ())), _inputs(flows), title_of_id),
                frozenset(feed.from_id for feed in feeds),
                frozenset(str(mode) for feed in feeds if (mode := feed.properties.get("write_mode"))),
                _influences(each for each in into if each.label == "influences"),
                bool(flows) and not unavailable,
            ),
        )


def _columns(vertices: Iterable[Vertex]) -> Iterator[Column]:
    for vertex in sorted(vertices, key=lambda vertex: (vertex.properties.get("position", 0), vertex.id)):
        position = vertex.properties.get("position")
        yield Column(vertex.name, str(vertex.properties.get("data_type", "")), "", position)


def _inputs(flows: Iterable[Edge]) -> Iterator[tuple[str, ColumnInput]]:
    for flow in flows:
        source, _, column = flow.from_id.rpartition("|")
        how = tuple(str(flow.properties.get("transformation", "")).split(","))
        expression = without_qualifiers(str(flow.properties.get("expression", "")))
        yield flow.to_id.rpartition("|")[2], ColumnInput(source, fold(column), how, expression)


def _influences(edges: Iterable[Edge]) -> Mapping[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for edge in edges:
        title = f"{title_of_id(dataset_id_of(edge.from_id))}#{fold(edge.from_id.rpartition('|')[2])}"
        for kind in str(edge.properties.get("transformation", "")).split(","):
            found.setdefault(kind.strip(), set()).add(title)
    return {kind: frozenset(names) for kind, names in found.items()}

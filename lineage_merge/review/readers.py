"""Readers, in the graph, of datasets and columns that a change drops."""

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass

from lineage_merge.graph_format.elements import Edge, Vertex, name_parts, title_of_id
from lineage_merge.graph_format.schema import DATASET_LABELS
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.questions.impact import Impact, impact
from lineage_merge.review.changes import Break, Difference
from lineage_merge.sources.sql.shapes import Shape, ShapeColumn, Shapes
from lineage_merge.sources.sql.translator import JOB_TYPE


@dataclass(frozen=True, slots=True)
class AffectedElement:
    """A dataset or column of the graph that is dropped or changes, and everything that depends on it.

    `readers`: direct readers that are not among the files. `is_dropped`: false if it only changes.
    """

    title: str
    impact: Impact
    readers: tuple[str, ...]
    is_dropped: bool


def affected(
    graph: LineageGraph, difference: Difference, jobs: Set[str], environment: str
) -> list[AffectedElement]:
    """Return the affected elements of the graph. `jobs`: those of the files, reviewed separately."""
    found: list[AffectedElement] = []
    for dataset in difference.dropped_datasets:
        vertex = dataset_vertex(graph, dataset, environment)
        if vertex is not None:
            found.append(_affected(graph, vertex, vertex.title, ["feeds"], jobs, is_dropped=True))
    dropped_columns = (
        (dataset, name, True) for dataset, names in difference.dropped_columns.items() for name in names
    )
    retyped_columns = ((each.dataset, each.column, False) for each in difference.retyped_columns)
    for dataset, name, is_dropped in (*dropped_columns, *retyped_columns):
        owner = dataset_vertex(graph, dataset, environment)
        column = column_vertex(graph, owner, name) if owner is not None else None
        if column is not None:
            labels = ["feeds_column", "influences"]
            found.append(_affected(graph, column, column.title, labels, jobs, is_dropped=is_dropped))
    return found


def breaks(found: Iterable[AffectedElement]) -> Iterator[Break]:
    """Yield a break for each reader of a dropped element."""
    for each in found:
        if each.is_dropped:
            for reader in each.readers:
                yield Break(reader, f"reads {each.title}, which is dropped")


def shapes(graph: LineageGraph, datasets: Iterable[str], environment: str) -> Shapes:
    """Return the columns of datasets in the graph, by the ids that the files use.

    They are complete if each has a position.
    """
    found: dict[str, Shape] = {}
    for dataset in datasets:
        vertex = dataset_vertex(graph, dataset, environment)
        if vertex is None:
            continue
        owned = graph.edges_from([vertex.id], ["has_column"])
        columns = graph.vertices([each.to_id for each in owned])
        if columns:
            placed = sorted(columns, key=lambda each: (each.properties.get("position", 0), each.id))
            positions = sorted(each.properties.get("position", -1) for each in columns)
            columns_by_position = (
                ShapeColumn(each.name, str(each.properties.get("data_type", ""))) for each in placed
            )
            complete = positions == list(range(len(columns)))
            found[dataset] = Shape(tuple(columns_by_position), complete, declared=complete)
    return found


def dataset_vertex(graph: LineageGraph, dataset: str, environment: str) -> Vertex | None:
    """Return the dataset with an id, or the one with this alias."""
    there = graph.vertices([dataset])
    if there:
        return there[0]
    _, namespace, name = name_parts(dataset)
    alias = f"{namespace}|{name} ("
    named = graph.named(name, DATASET_LABELS, environment)
    found = [
        each for each in named if any(str(a).startswith(alias) for a in each.properties.get("aliases", ()))
    ]
    return found[0] if len(found) == 1 else None


def column_vertex(graph: LineageGraph, owner: Vertex, name: str) -> Vertex | None:
    """Return the column of a dataset with a name, in any case."""
    owned = graph.edges_from([owner.id], ["has_column"])
    return next(
        (each for each in graph.vertices([e.to_id for e in owned]) if each.name.lower() == name.lower()), None
    )


def _affected(
    graph: LineageGraph, vertex: Vertex, title: str, labels: list[str], jobs: Set[str], *, is_dropped: bool
) -> AffectedElement:
    reading = [each for each in graph.edges_from([vertex.id], labels) if not _is_file_job(each, jobs)]
    readers = sorted({_reader(each) for each in reading})
    return AffectedElement(title, impact(graph, vertex), tuple(readers), is_dropped)


def _is_file_job(edge: Edge, jobs: Set[str]) -> bool:
    return edge.properties.get("job_type") == JOB_TYPE and edge.job in jobs


def _reader(edge: Edge) -> str:
    target = edge.to_id.rpartition("|")[0] if edge.label == "feeds_column" else edge.to_id
    kind = edge.properties.get("job_type", "")
    dag = edge.properties.get("dag_name", "")
    return f"{kind} {edge.job} (DAG {dag}), into {title_of_id(target)}"

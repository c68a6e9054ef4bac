"""Who, outside of the files, reads what a change takes away: asked of the graph."""

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass

from lineage_merge.graph_format.schema import DATASET_LABELS
from lineage_merge.query.elements import Edge, Vertex, name_parts, title_of_id
from lineage_merge.query.graph import LineageGraph
from lineage_merge.query.impact import Impact, impact
from lineage_merge.query.review.changes import Break, Difference
from lineage_merge.sources.sql.shapes import Shape, ShapeColumn, Shapes
from lineage_merge.sources.sql.translator import JOB_TYPE


@dataclass(frozen=True, slots=True)
class Touched:
    """A dataset or column of the graph that goes or changes, and all that depends on it.

    `readers`: who reads it at once, outside of the files. `goes`: it will not be there.
    """

    title: str
    impact: Impact
    readers: tuple[str, ...]
    goes: bool


def touched(graph: LineageGraph, difference: Difference, jobs: Set[str], environment: str) -> list[Touched]:
    """What of the graph goes or changes. `jobs`: those that the files are, which are judged by themselves."""
    found: list[Touched] = []
    for dataset in difference.gone:
        vertex = dataset_vertex(graph, dataset, environment)
        if vertex is not None:
            found.append(_touched(graph, vertex, vertex.title, ["feeds"], jobs, goes=True))
    lost = ((dataset, name, True) for dataset, names in difference.lost.items() for name in names)
    retyped = ((each.dataset, each.column, False) for each in difference.retyped)
    for dataset, name, goes in (*lost, *retyped):
        owner = dataset_vertex(graph, dataset, environment)
        column = _column(graph, owner, name) if owner is not None else None
        if column is not None:
            labels = ["feeds_column", "influences"]
            found.append(_touched(graph, column, column.title, labels, jobs, goes=goes))
    return found


def breaks(found: Iterable[Touched]) -> Iterator[Break]:
    """The readers of what goes."""
    for each in found:
        if each.goes:
            for reader in each.readers:
                yield Break(reader, f"reads {each.title}, which goes")


def shapes(graph: LineageGraph, datasets: Iterable[str], environment: str) -> Shapes:
    """The columns that the graph knows of datasets, by the ids under which files speak of them.

    They are all there are where each has its position.
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
            told = (ShapeColumn(each.name, str(each.properties.get("data_type", ""))) for each in placed)
            complete = positions == list(range(len(columns)))
            found[dataset] = Shape(tuple(told), complete, declared=complete)
    return found


def dataset_vertex(graph: LineageGraph, dataset: str, environment: str) -> Vertex | None:
    """The dataset of an id, or the one that has it as another identity."""
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


def _column(graph: LineageGraph, owner: Vertex, name: str) -> Vertex | None:
    owned = graph.edges_from([owner.id], ["has_column"])
    return next(
        (each for each in graph.vertices([e.to_id for e in owned]) if each.name.lower() == name.lower()), None
    )


def _touched(
    graph: LineageGraph, vertex: Vertex, title: str, labels: list[str], jobs: Set[str], *, goes: bool
) -> Touched:
    reading = [each for each in graph.edges_from([vertex.id], labels) if not _is_ours(each, jobs)]
    readers = sorted({_reader(each) for each in reading})
    return Touched(title, impact(graph, vertex), tuple(readers), goes)


def _is_ours(edge: Edge, jobs: Set[str]) -> bool:
    return edge.properties.get("job_type") == JOB_TYPE and edge.job in jobs


def _reader(edge: Edge) -> str:
    target = edge.to_id.rpartition("|")[0] if edge.label == "feeds_column" else edge.to_id
    kind = edge.properties.get("job_type", "")
    dag = edge.properties.get("dag_name", "")
    return f"{kind} {edge.job} (DAG {dag}), into {title_of_id(target)}"

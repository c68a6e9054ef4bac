"""The merged graph with one version of a dbt project in place of what it has of it."""

from collections.abc import Callable, Iterable, Set

from lineage_merge.graph_format.elements import (
    ALL_VERTEX_LABELS,
    LABELS_WITH_TESTS,
    Edge,
    Vertex,
    dataset_id_of,
    dataset_of,
)
from lineage_merge.graph_format.schema import SETS
from lineage_merge.questions.backends.in_memory import InMemory
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.questions.impact import job_of
from lineage_merge.review.dbt_versions import DbtVersion
from lineage_merge.sources.dbt.jobs import JOB_TYPE, project_of, unique_id_of


def everything(graph: LineageGraph, environment: str | None) -> tuple[list[Vertex], list[Edge]]:
    """Return the vertices and edges of a graph that a review asks for."""
    vertices: list[Vertex] = []
    edges: list[Edge] = []
    for each in graph.everything(environment, None, LABELS_WITH_TESTS):
        if isinstance(each, Vertex):
            vertices.append(each)
        else:
            edges.append(each)
    return vertices, edges


def downstream(graph: LineageGraph, datasets: Iterable[str]) -> tuple[list[Vertex], list[Edge]]:
    """Return what is downstream of datasets, with jobs and tests, and what those read directly.

    In a remote graph, that is a small part of everything.
    """
    found = set(datasets)
    new = set(found)
    while new:
        columns = {edge.to_id for edge in graph.edges_from(sorted(new), ["has_column"])}
        reached = graph.reach(sorted(new), ["feeds"], "down")
        reached |= graph.reach(sorted(columns), ["feeds_column", "influences"], "down")
        new = {dataset_id_of(each) for each in reached} - found
        found |= new
    columns = {edge.to_id for edge in graph.edges_from(sorted(found), ["has_column"])}
    ids = sorted(found | columns)
    labels = [label for label in LABELS_WITH_TESTS if label not in ALL_VERTEX_LABELS]
    edges = {edge.id: edge for edge in (*graph.edges_from(ids, labels), *graph.edges_to(ids, labels))}
    ends = {end for edge in edges.values() for end in (edge.from_id, edge.to_id)}
    jobs = {job for edge in edges.values() if (job := job_of(edge))}
    return graph.vertices(sorted({*found, *ends, *jobs})), list(edges.values())


def replaced(
    elements: tuple[list[Vertex], list[Edge]],
    before: DbtVersion,
    version: DbtVersion,
    unique_ids: Set[str],
    id_of: Callable[[str], str],
    *,
    without: Set[str] = frozenset(),
    with_new_columns: bool = True,
) -> InMemory:
    """Return a graph in which `version` determines what the entries `unique_ids` read and write.

    `before` is what the graph knows of the project: of its properties, only changed ones are replaced.
    `without`: ids of removed datasets and columns. `with_new_columns` false: datasets of the graph get no
    columns, so that a job that copies all of them is still recognised.
    """
    jobs, project = set(unique_ids), before.manifest.project
    vertices = {each.id: each for each in elements[0] if not _is_without(each.id, without)}
    declared = {_ends(each, id_of) for each in _edges(before.graph) if _is_declared(each)}
    edges = {
        each.id: each
        for each in elements[1]
        if not _is_of(each, jobs, project) and (each.label, each.from_id, each.to_id) not in declared
    }
    was = {id_of(vertex.id): vertex for vertex in _vertices(before.graph)}
    owners = {each.from_id for each in elements[1] if each.label == "has_column"}
    for vertex in _vertices(version.graph):
        identifier = id_of(vertex.id)
        if _is_without(identifier, without):
            continue
        vertices[identifier] = _updated(vertices.get(identifier), was.get(identifier), vertex, identifier)
    for edge in _edges(version.graph):
        _, source, target = _ends(edge, id_of)
        is_column = edge.label == "has_column" and (with_new_columns or source not in owners)
        if is_column or _is_of(edge, jobs, project) or _is_declared(edge):
            edges.setdefault(edge.id, Edge(edge.id, edge.label, source, target, edge.properties))
    return InMemory(vertices.values(), edges.values())


def _vertices(graph: InMemory) -> Iterable[Vertex]:
    labels = [*(label for label in LABELS_WITH_TESTS if label in ALL_VERTEX_LABELS)]
    return (each for each in graph.everything(None, None, labels) if isinstance(each, Vertex))


def _edges(graph: InMemory) -> Iterable[Edge]:
    labels = [label for label in LABELS_WITH_TESTS if label not in ALL_VERTEX_LABELS]
    return (each for each in graph.everything(None, None, labels) if isinstance(each, Edge))


def _ends(edge: Edge, id_of: Callable[[str], str]) -> tuple[str, str, str]:
    return edge.label, id_of(edge.from_id), id_of(edge.to_id)


def _is_declared(edge: Edge) -> bool:
    """Return whether the manifest declares an edge apart from jobs: of exposures and tests."""
    return edge.label in ("checks", "references") or (edge.label != "has_column" and not edge.job)


def _is_of(edge: Edge, unique_ids: Set[str], project: str) -> bool:
    """Return whether a job of these entries has the edge. Another project may install the same package."""
    if edge.properties.get("job_type") != JOB_TYPE or unique_id_of(edge.job) not in unique_ids:
        return False
    return not project or project_of(edge.job) == project


def _is_without(identifier: str, without: Set[str]) -> bool:
    return identifier in without or dataset_of(identifier) in without


def _updated(there: Vertex | None, was: Vertex | None, now: Vertex, identifier: str) -> Vertex:
    """Return a vertex of the graph with the properties that the change changes."""
    if there is None:
        return Vertex(identifier, now.label, now.properties)
    properties = dict(there.properties)
    old = was.properties if was else {}
    for key in {*old, *now.properties}:
        before, after = old.get(key), now.properties.get(key)
        if before == after or key in ("dag_name", "environment"):
            continue
        if key in SETS:
            others = set(properties.get(key, ())) - set(before or ())
            after = tuple(sorted({*others, *(after or ())}))
        if after:
            properties[key] = after
        else:
            properties.pop(key, None)
    label = now.label if was is None or was.label != now.label else there.label
    return Vertex(identifier, label, properties)

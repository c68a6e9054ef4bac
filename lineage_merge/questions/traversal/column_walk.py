"""Walks from column to column, through fields of structures.

A column covers its fields: a walk from it continues at the edges of each. A structure that is passed on whole
passes each of its fields: what is stored as ``a -> whole`` leads from ``a.b`` to ``whole.b``. Such edges are
derived here, and never stored. Where a structure is not passed on unchanged, ``a -> text``, they lead to the
whole target.

Where a walk touches no field, the server walks, in one traversal. Otherwise there are two requests for each
level.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from lineage_merge.graph_format.elements import COLUMN, Edge, Vertex
from lineage_merge.infra.batches import gather
from lineage_merge.model.elements import column_of, dataset_of, decode, dot_path, is_field, structures_of
from lineage_merge.questions.graph import Direction, LineageGraph

_FEEDS = "feeds_column"
_FIELDS = "has_column"
# Names of a path, from the column down: a cycle that wraps a structure in another one has no end.
_MAX_NAMES = 16


def column_edges(
    graph: LineageGraph,
    starts: Collection[str],
    direction: Direction,
    *,
    depth: int | None = None,
    dag: str | None = None,
    influences: bool = False,
) -> list[Edge]:
    """Return the edges between columns within `depth` hops (None: unlimited) of columns, by id.

    `influences`: also the rows that these columns determine; downstream only. An edge that is derived has the
    properties of the stored one. ``has_column`` edges lead from columns of the walk to those of their fields
    where it continues; they are no hop.
    """
    labels = (_FEEDS, "influences") if influences else (_FEEDS,)
    inner = _walk_without_fields(graph, set(starts), direction, depth, dag)
    if inner is not None:
        return _read_edges(graph, inner, labels, direction, dag)
    return list(_walk_fields(graph, starts, labels, direction, depth, dag).values())


def find_reached_columns(
    graph: LineageGraph,
    starts: Collection[str],
    direction: Direction,
    *,
    depth: int | None = None,
    dag: str | None = None,
) -> set[str]:
    """Return the columns at the ends of `column_edges`; without fields no start but on a cycle."""
    reached = graph.reach(
        sorted(starts), [_FEEDS, _FIELDS] if depth is None else [_FEEDS], direction, depth, dag
    )
    if not have_fields(graph, reached.union(starts), depth):
        return reached
    return column_ends(_walk_fields(graph, starts, (_FEEDS,), direction, depth, dag).values())


def column_ends(edges: Iterable[Edge]) -> set[str]:
    """Return the ids of the columns at the ends of `column_edges`."""
    return {
        end
        for edge in edges
        for end in ((edge.from_id,) if edge.label == "influences" else (edge.from_id, edge.to_id))
    }


def _walk_without_fields(
    graph: LineageGraph, starts: set[str], direction: Direction, depth: int | None, dag: str | None
) -> set[str] | None:
    """Return the columns whose edges are within the depth; None if one is, or has, a field."""
    if depth is None:
        inner = starts | graph.reach(sorted(starts), [_FEEDS, _FIELDS], direction, None, dag)
    else:
        inner = starts | graph.reach(sorted(starts), [_FEEDS], direction, max(depth - 1, 0), dag)
    return None if have_fields(graph, inner, depth) else inner


def have_fields(graph: LineageGraph, columns: Collection[str], depth: int | None) -> bool:
    """Return whether a field is among columns; if they are those within a depth, or one has a field."""
    return any(map(is_field, columns)) or (
        depth is not None and bool(graph.reach(sorted(columns), [_FIELDS], "down", 1))
    )


def _read_edges(
    graph: LineageGraph, ids: Iterable[str], labels: Sequence[str], direction: Direction, dag: str | None
) -> list[Edge]:
    ask = graph.edges_from if direction == "down" else graph.edges_to
    return ask(sorted(ids), labels, dag)


def _walk_fields(
    graph: LineageGraph,
    starts: Iterable[str],
    labels: Sequence[str],
    direction: Direction,
    depth: int | None,
    dag: str | None,
) -> dict[str, Edge]:
    walked: dict[str, Edge] = {}
    covered: set[str] = set()
    frontier = set(starts)
    hops = 0
    while frontier and (depth is None or hops < depth):
        covered |= frontier
        fields = {edge.to_id: edge for edge in graph.edges_below(sorted(frontier), [_FIELDS])}
        inside = frontier | fields.keys()
        below = gather((structure, column) for column in frontier for structure in structures_of(column))
        following: set[str] = set()
        for edge in sorted(
            _read_edges(graph, inside | below.keys(), labels, direction, dag), key=lambda edge: edge.id
        ):
            here = edge.from_id if direction == "down" else edge.to_id
            followed = [pass_on(edge, column, direction) for column in below.get(here, ())]
            if here in inside:
                followed.append(edge)
                _contain(here, frontier, fields, walked)
            walked.update((edge.id, edge) for edge in followed)
            if edge.label == _FEEDS:
                following.update(edge.to_id if direction == "down" else edge.from_id for edge in followed)
        frontier = {column for column in following if covered.isdisjoint((column, *structures_of(column)))}
        frontier = {column for column in frontier if frontier.isdisjoint(structures_of(column))}
        hops += 1
    return walked


def _contain(
    field: str, frontier: Collection[str], fields: Mapping[str, Edge], walked: dict[str, Edge]
) -> None:
    """Add the edges to a field from the column of the frontier that it is a part of."""
    while field not in frontier:
        edge = fields[field]
        walked[edge.id] = edge
        field = edge.from_id


def pass_on(edge: Edge, field: str, direction: Direction) -> Edge:
    """Return the edge over which a field of a structure follows an edge of the structure."""
    here, there = (edge.from_id, edge.to_id) if direction == "down" else (edge.to_id, edge.from_id)
    rest = field[len(here) :]
    if edge.label == _FEEDS and edge.properties.get("transformation") == "IDENTITY":
        longest = f"{there}{rest}"
        there = longest if len(structures_of(longest)) < _MAX_NAMES else there
    ends = (field, there) if direction == "down" else (there, field)
    return Edge(f"{edge.id}{rest}", edge.label, *ends, edge.properties)


def with_derived(graph: LineageGraph, ids: Collection[str]) -> list[Vertex]:
    """Return the vertices of these ids; of a field that the graph does not have, one made of its id."""
    vertices = graph.vertices(sorted(ids))
    known = {vertex.id: vertex for vertex in vertices}
    missing = sorted(identifier for identifier in ids if identifier not in known and is_field(identifier))
    if missing:
        above = {structure for field in missing for structure in structures_of(field)} - known.keys()
        known.update((vertex.id, vertex) for vertex in graph.vertices(sorted(above)))
        vertices += (_derive(field, known) for field in missing)
    return vertices


def _derive(field: str, known: Mapping[str, Vertex]) -> Vertex:
    above: Iterator[Vertex] = (known[outer] for outer in reversed(structures_of(field)) if outer in known)
    structure = next(above, None)
    names = {"name": decode(field.rpartition("|")[2]), "qualified_name": dot_path(column_of(field))}
    if structure is None:
        return Vertex(field, COLUMN, {"environment": decode(field.partition("|")[0]), **names})
    shared = {
        key: structure.properties[key] for key in ("environment", "dag_name") if key in structure.properties
    }
    rest = dot_path(column_of(f"{dataset_of(field)}{field[len(structure.id) :]}"))
    names["qualified_name"] = f"{structure.qualified_name}.{rest}"
    return Vertex(field, COLUMN, {**shared, **names})

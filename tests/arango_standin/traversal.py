"""Walks over edge collections, as `FOR v, e, p IN 1..3 OUTBOUND start edges` asks for them."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .errors import QUERY_PARSE, ServerError
from .store import Collection, Database, Document


@dataclass(frozen=True)
class TraversalOptions:
    """In which order, and what may come twice."""

    breadth_first: bool
    unique_vertices: str
    unique_edges: str


def read_options(given: dict[str, Any]) -> TraversalOptions:
    """The defaults are the server's: depth first, no edge twice on a path, vertices as often as they come.

    `ServerError` for an option or a value that the stand-in does not know.
    """
    known = {"bfs", "order", "uniqueVertices", "uniqueEdges"}
    if unknown := set(given) - known:
        raise ServerError(QUERY_PARSE, f"AQL: traversal option {sorted(unknown)} is not supported")
    order = given.get("order", "bfs" if given.get("bfs") else "dfs")
    vertices = given.get("uniqueVertices", "none")
    edges = given.get("uniqueEdges", "path")
    if order not in {"bfs", "dfs"} or vertices not in {"none", "path", "global"}:
        raise ServerError(QUERY_PARSE, "AQL: traversal options are not supported")
    if edges not in {"none", "path"}:
        raise ServerError(QUERY_PARSE, "AQL: traversal option uniqueEdges is not supported")
    if vertices == "global" and order != "bfs":
        raise ServerError(QUERY_PARSE, "AQL: uniqueVertices: 'global' is only supported with order: 'bfs'")
    return TraversalOptions(order == "bfs", vertices, edges)


@dataclass(frozen=True)
class Path:
    """One step more than `before`; `vertex` is an id."""

    vertex: str
    edge: Document | None
    before: "Path | None"
    depth: int

    def steps(self) -> list["Path"]:
        found: list[Path] = []
        step: Path | None = self
        while step is not None:
            found.append(step)
            step = step.before
        return found[::-1]


def _next_steps(
    path: Path, edges: Sequence[tuple[str, Collection]], counts: dict[str, int]
) -> Iterator[Path]:
    for direction, collection in edges:
        seen: set[str] = set()
        for side, other in (("_from", "_to"), ("_to", "_from")):
            if direction == ("INBOUND" if side == "_from" else "OUTBOUND"):
                continue
            for edge in collection.matching((side,), [path.vertex]):
                counts["scannedIndex"] += 1
                if edge["_id"] in seen:  # a loop, met from both of its sides
                    continue
                seen.add(edge["_id"])
                yield Path(edge[other], edge, path, path.depth + 1)


def _allowed(path: Path, options: TraversalOptions, visited: set[str]) -> bool:
    before = path.before.steps() if path.before else []
    if options.unique_vertices == "global" and path.vertex in visited:
        return False
    if options.unique_vertices == "path" and any(step.vertex == path.vertex for step in before):
        return False
    return options.unique_edges == "none" or all(
        step.edge is None or path.edge is None or step.edge["_id"] != path.edge["_id"] for step in before
    )


def walk(
    start: str,
    edges: Sequence[tuple[str, Collection]],
    depths: tuple[int, int],
    options: TraversalOptions,
    counts: dict[str, int],
) -> Iterator[Path]:
    """Every path of an allowed length, in the order that the options ask for."""
    least, most = depths
    waiting: deque[Path] = deque([Path(start, None, None, 0)])
    visited = {start}
    while waiting:
        path = waiting.popleft() if options.breadth_first else waiting.pop()
        if path.depth >= least:
            yield path
        if path.depth == most:
            continue
        following: list[Path] = []
        for step in _next_steps(path, edges, counts):
            if _allowed(step, options, visited):
                visited.add(step.vertex)
                following.append(step)
        waiting.extend(following if options.breadth_first else reversed(following))


def describe(path: Path, database: Database) -> dict[str, Any]:
    """The path variable: `vertices` and `edges` from the start to here."""
    steps = path.steps()
    return {
        "vertices": [database.document(step.vertex) for step in steps],
        "edges": [step.edge for step in steps if step.edge is not None],
    }

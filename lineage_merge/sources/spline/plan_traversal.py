"""Traversal of a plan's documents: schemas, attributes and expressions reached from its operations.

Spline indexes `_belongsTo` only in `operation` and `follows`; every edge collection has an index of `_from`.
Querying the others by `_belongsTo` would scan them completely for each request.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping

from lineage_merge.sources.spline.documents import Document

# Edge collections by the collection that their edges start from.
EDGES: Mapping[str, tuple[str, ...]] = {
    "operation": ("emits", "produces", "uses"),
    "schema": ("consistsOf",),
    "attribute": ("computedBy", "derivesFrom"),
    "expression": ("takes",),
}
# The documents of these collections are needed; of a schema, only its edges.
VERTICES = ("attribute", "expression")

Fetch = Callable[[str, str, list[str]], Iterable[Document]]


def traverse(
    operations: Iterable[str], collections: frozenset[str], fetch: Fetch
) -> Iterator[tuple[str, Document]]:
    """Yield each document reachable from `operations` (ids), with its collection, once.

    `fetch(collection, field, values)` returns the documents with one of the values in `_from` or `_key`;
    collections that the database lacks are not queried.
    """
    seen: set[str] = set()
    waiting = {"operation": sorted(set(operations))}
    while waiting:
        found: defaultdict[str, set[str]] = defaultdict(set)
        for start, ids in waiting.items():
            if start in VERTICES and start in collections:
                keys = [identifier.partition("/")[2] for identifier in ids]
                yield from ((start, document) for document in fetch(start, "_key", keys))
            for collection in EDGES[start]:
                if collection not in collections:
                    continue
                for edge in fetch(collection, "_from", ids):
                    yield collection, edge
                    end = str(edge.get("_to") or "")
                    if end not in seen and end.partition("/")[0] in EDGES:
                        seen.add(end)
                        found[end.partition("/")[0]].add(end)
        waiting = {kind: sorted(ids) for kind, ids in found.items()}

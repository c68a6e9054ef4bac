"""Lines as Hive's lineage hooks write them, made for tests."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from lineage_merge.model.elements import Problem
from lineage_merge.sources.hive.log import Found, documents
from lineage_merge.sources.hive.query import Query, read_query

PREFIX = "2026-11-21T10:24:30,967  INFO [8db2e432 main] hooks.LineageLogger: "
# Kind, expression, sources and targets; a name of two parts is a table.
MadeEdge = tuple[str, str, Sequence[str], Sequence[str]]


def document(
    text: str, edges: Sequence[MadeEdge], timestamp: int | None = 1_795_256_662, **more: Any
) -> dict[str, Any]:
    """A document as Hive's own logger writes it: edges by the ids of vertices."""
    ids: dict[str, int] = {}
    for _, _, sources, targets in edges:
        for name in (*targets, *sources):
            ids.setdefault(name, len(ids))
    made = {
        "version": "1.0",
        "user": "etl",
        "timestamp": timestamp,
        "duration": 1000,
        "jobIds": [],
        "engine": "tez",
        "database": "default",
        "hash": hashlib.md5(text.encode()).hexdigest(),
        "queryText": text,
        "edges": [
            {
                "sources": [ids[name] for name in sources],
                "targets": [ids[name] for name in targets],
                **({"expression": expression} if expression else {}),
                "edgeType": kind,
            }
            for kind, expression, sources, targets in edges
        ],
        "vertices": [
            {"id": number, "vertexType": "TABLE" if name.count(".") == 1 else "COLUMN", "vertexId": name}
            for name, number in ids.items()
        ],
    }
    return {name: value for name, value in {**made, **more}.items() if value is not None}


def with_names(made: Mapping[str, Any]) -> dict[str, Any]:
    """The same as a hook writes it that knows no ids."""
    names = {vertex["id"]: vertex["vertexId"] for vertex in made["vertices"]}
    edges = [
        {**edge, **{side: [names[end] for end in edge[side]] for side in ("sources", "targets")}}
        for edge in made["edges"]
    ]
    return {**made, "edges": edges}


def line(made: Mapping[str, Any], prefix: str = PREFIX) -> str:
    """One line of a log, without its end."""
    return prefix + json.dumps(made, separators=(",", ":"))


def copy(target: str, source: str, columns: Sequence[str] = ("c",)) -> list[MadeEdge]:
    """Edges of a query that copies columns as they are."""
    return [("PROJECTION", "", [f"{source}.{each}"], [f"{target}.{each}"]) for each in columns]


def found_in(text: str) -> list[Found | Problem]:
    """What is found in a log of these lines."""
    lines = [(f"log, line {number}", each.encode()) for number, each in enumerate(text.split("\n"), 1)]
    return list(documents(lines))


def query(made: Mapping[str, Any]) -> Query:
    """A document as the query that it is; a problem fails the test."""
    read = read_query(Found("log, line 1", dict(made)))
    assert isinstance(read, Query), read
    return read

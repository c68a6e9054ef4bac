"""What must hold of every graph, whatever it was made of."""

import re
from collections.abc import Iterator

from tests.properties.building import Row, Rows

_UNNAMED = frozenset({"merge_run"})
_ID = re.compile(r"[0-9a-f]{20}\Z")


def broken(graph: Rows, environment: str, dag_name: str) -> list[str]:
    """Every promise that the graph breaks, in words: of its ends, its ids, and whose it is."""
    return [*_of_nodes(graph, environment, dag_name), *_of_edges(graph, environment, dag_name)]


def adrift(graph: Rows) -> list[str]:
    """Columns that are of no dataset, and edges of columns where no dataset feeds the other."""
    return list(_of_columns(graph))


def _of_nodes(graph: Rows, environment: str, dag_name: str) -> Iterator[str]:
    for row in graph.nodes.values():
        if (row["environment"], row["dag_name"]) != (environment, dag_name):
            yield f"of another environment or DAG: {row}"
        if not row["id"].startswith(f"{environment}|"):
            yield f"an id of another environment: {row}"
        if not row.get("label") or (not row.get("name") and row["label"] not in _UNNAMED):
            yield f"without a label or a name: {row}"


def _of_edges(graph: Rows, environment: str, dag_name: str) -> Iterator[str]:
    for row in graph.edges.values():
        if (row["environment"], row["dag_name"]) != (environment, dag_name):
            yield f"of another environment or DAG: {row}"
        if not _ID.match(row["id"]):
            yield f"not an edge's id: {row}"
        for end in ("from", "to"):
            if row[end] not in graph.nodes:
                yield f"missing end:  {row}"


def _of_columns(graph: Rows) -> Iterator[str]:
    owner = {row["to"]: row["from"] for row in graph.edges.values() if row["label"] == "has_column"}
    feeds = {
        (row["job_type"], row["job_name"], row["from"], row["to"])
        for row in graph.edges.values()
        if row["label"] == "feeds"
    }
    for row in graph.nodes.values():
        if row.get("label") == "column" and not row["id"].startswith(f"{owner.get(row['id'])}|"):
            yield f"a column of no dataset: {row}"
    for row in graph.edges.values():
        if row["label"] in ("feeds_column", "influences") and _above(row, owner) not in feeds:
            yield f"no dataset feeds the other: {row}"


def _above(row: Row, owner: dict[str, str]) -> tuple[str, str, str | None, str | None]:
    end = owner.get(row["to"]) if row["label"] == "feeds_column" else row["to"]
    return (row["job_type"], row["job_name"], owner.get(row["from"]), end)

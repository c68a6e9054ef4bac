"""Conversions of answers: to JSON for scripts, and to pandas and networkx, which are optional."""

import json
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from lineage_merge.graph_format.elements import Subgraph
from lineage_merge.questions.formats.describe import OBEYED

if TYPE_CHECKING:
    import networkx
    import pandas


def as_json(graph: Subgraph) -> dict[str, Any]:
    """Return the subgraph in a stable JSON format, to which only fields are added::

        {"vertices": [{"id": "dev|s3://tickit-raw|sales", "label": "file", "name": "sales",
                       "properties": {"environment": "dev", "dag_name": ["tickit_daily"], ...}}],
         "edges": [{"id": "0f...", "label": "feeds", "from": "<vertex id>", "to": "<vertex id>",
                    "properties": {"dag_name": "tickit_daily", "job_name": "ingest", ...}}]}

    Both lists are in a fixed order; `from` and `to` are ids of vertices. The possible properties are defined
    in `graph_format/node.schema.json` and `edge.schema.json`; empty ones are omitted; sets are sorted lists.
    """
    return {
        "vertices": [
            {"id": node.id, "label": node.label, "name": node.name, "properties": _plain(node.properties)}
            for node in graph.vertices.values()
        ],
        "edges": [
            {"id": edge.id, "label": edge.label, "from": edge.from_id, "to": edge.to_id}
            | {"properties": _plain(edge.properties)}
            for edge in graph.edges
        ],
    }


def json_text(values: Mapping[str, Any]) -> str:
    """Return JSON text; of other characters than ASCII only those are escaped that a terminal obeys."""
    text = json.dumps(values, indent=2, ensure_ascii=False)
    return _OBEYED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


_OBEYED = re.compile(f"[{OBEYED}]")


def _plain(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: list(value) if isinstance(value, tuple) else value for key, value in sorted(properties.items())
    }


# Types with missing values.
_TYPES = {int: "Int64", bool: "boolean", float: "Float64"}


def data_frame(records: Iterable[Mapping[str, Any]], columns: Mapping[str, type]) -> "pandas.DataFrame":
    """Return records as a data frame with typed columns; `datetime`: from ms since 1970, in UTC.

    Raises `ImportError` without pandas.
    """
    try:
        import pandas as pd
    except ModuleNotFoundError as error:
        raise _missing("to_pandas", "pandas", error) from None
    rows = list(records)
    made = {}
    for name, kind in columns.items():
        values = [row[name] for row in rows]
        if kind is datetime:
            numbers = pd.array(values, dtype="Int64")
            made[name] = pd.Series(pd.to_datetime(pd.Series(numbers), unit="ms", utc=True), name=name)
        else:
            made[name] = pd.Series(values, dtype=_TYPES.get(kind, "object"), name=name)
    return pd.DataFrame(made, columns=list(columns))


def networkx_graph(graph: Subgraph) -> "networkx.MultiDiGraph[str]":
    """Return a directed graph with the ids of vertices and edges; attributes are label, title, properties.

    Raises `ImportError` without networkx.
    """
    try:
        import networkx as nx
    except ModuleNotFoundError as error:
        raise _missing("to_networkx", "networkx", error) from None
    made: networkx.MultiDiGraph[str] = nx.MultiDiGraph()
    for vertex in graph.vertices.values():
        made.add_node(vertex.id, **{**vertex.properties, "label": vertex.label, "title": vertex.title})
    for edge in graph.edges:
        made.add_edge(edge.from_id, edge.to_id, key=edge.id, **{**edge.properties, "label": edge.label})
    return made


def _missing(method: str, package: str, error: ModuleNotFoundError) -> ImportError:
    """Return the error of a missing package; other missing modules are those of a damaged installation."""
    if error.name != package:
        return error
    return ImportError(f"{method} needs {package}. Fix: install lineage-merge[notebook]", name=package)

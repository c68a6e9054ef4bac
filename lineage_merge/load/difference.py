"""What a merge tells otherwise than the graph holds. No connection.

Each node and edge of the merge gets a `change` and the names of the properties to write (`told`):
those that differ. A property of which the merge knows nothing is left alone.

A dataset may be known to several DAGs that tell its properties differently. Whoever builds it
(a job that writes it, a catalog that knows where it lies) has the word. Where nobody who tells
builds it, the greatest value stays, so that two DAGs never rewrite each other's values.

Rows are compared in Python: as Spark expressions, thirty properties make plans that take longer
to plan than to run.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 (its name everywhere)

from lineage_merge.graph.schema import (
    EDGE_KEYS,
    EDGE_PROPERTIES,
    NODE_KEYS,
    NODE_PROPERTIES,
    edge_ddl,
    node_ddl,
)
from lineage_merge.load.existing import Existing, dataset_of

# `newer`: a job that the graph knows from a later run; it and its edges are left as they are.
# `absent`: an edge of which the merge says nothing.
Change = Literal["new", "changed", "label", "newer", "same", "absent"]
# Changes that nothing is written for.
UNWRITTEN = ("same", "newer", "absent")

Word = Literal["mine", "theirs", "nobody's"]

_NODE_COLUMNS = (*NODE_KEYS, *(item.name for item in NODE_PROPERTIES))
_EDGE_COLUMNS = (*EDGE_KEYS, *(item.name for item in EDGE_PROPERTIES))
_SINGLES = tuple(item.name for item in NODE_PROPERTIES if not item.many)
_SETS = tuple(item.name for item in NODE_PROPERTIES if item.many)
_LONGS = frozenset(item.name for item in (*NODE_PROPERTIES, *EDGE_PROPERTIES) if item.type == "long")
# A change of these alone is no reason to write an edge.
_NO_REASON = frozenset({"sequence"})
# Of an edge, not of a dataset, nothing known is something known: there is no such step any more.
_CLEARED = ("expression", "via")
_NO_DATASETS = frozenset({"column", "job", "operation"})

COMPARED_NODE_DDL = f"{node_ddl()}, change string, old_label string, told array<string>"
COMPARED_EDGE_DDL = f"{edge_ddl()}, change string, told array<string>, cleared array<string>"


@dataclass(frozen=True, slots=True)
class Held:
    """What the graph holds of a vertex: `dags` are its tags, values are texts."""

    label: str
    dags: frozenset[str]
    properties: Mapping[str, list[str]] = field(default_factory=dict)
    built_elsewhere: bool = False


def compared_nodes(nodes: DataFrame, edges: DataFrame, existing: Existing, dag_name: str) -> DataFrame:
    """The merge's nodes as `COMPARED_NODE_DDL`; `old_label` is the label that the graph has."""
    built = edges.where("label = 'writes'").select(F.col("to").alias("_dataset"), F.lit(True).alias("_built"))
    held = F.struct("label", "dags", "properties", "built_elsewhere").alias("_held")
    joined = (
        nodes.select(*_NODE_COLUMNS, dataset_of("id").alias("_dataset"))
        .join(built.distinct(), "_dataset", "left")
        .join(existing.vertices.select("id", held), "id", "left")
    )
    rows = joined.rdd.mapPartitions(partial(_node_rows, dag_name))
    return nodes.sparkSession.createDataFrame(rows, COMPARED_NODE_DDL, verifySchema=False)


def compared_edges(edges: DataFrame, existing: Existing) -> DataFrame:
    """The merge's edges, and the graph's that are `absent` in it, as `COMPARED_EDGE_DDL`.

    `cleared` are properties to take away.
    """
    told = edges.select("id", F.struct(*_EDGE_COLUMNS).alias("_told"))
    held = existing.edges.select("id", F.struct("label", "from", "to", "properties").alias("_held"))
    rows = told.join(held, "id", "full").rdd.mapPartitions(_edge_rows)
    return edges.sparkSession.createDataFrame(rows, COMPARED_EDGE_DDL, verifySchema=False)


def told_only(row: Row) -> Row:
    """A compared row with its keys and what is to be written."""
    keys = NODE_KEYS if "old_label" in row else EDGE_KEYS
    kept = {*keys, *row.told}
    return Row(**{name: value if name in kept else None for name, value in row.asDict().items()})


def node_change(
    node: Mapping[str, Any], held: Held | None, builds: bool, dag_name: str
) -> tuple[Change, list[str]]:
    """How a node of the merge differs; `builds`: the merge has a job that writes it."""
    known = [name for name in (*_SINGLES, *_SETS) if node[name] is not None]
    if held is None:
        return "new", known
    if node["label"] == "job" and _number(held, "last_run_at") > (node["last_run_at"] or 0):
        return "newer", []
    word = _word(node, held, builds, dag_name)
    told = [name for name in known if _differs(name, node[name], held, word)]
    if node["label"] == "job" and told and node["last_run_at"] is not None and "last_run_at" not in told:
        told.append("last_run_at")  # with it the graph itself refuses to go back in time
    if node["label"] != held.label and (
        word == "mine" or (word == "nobody's" and node["label"] > held.label)
    ):
        return "label", told
    tagged = dag_name in held.dags and "environment" in held.properties
    return ("same" if tagged and not told else "changed"), told


def edge_change(
    edge: Mapping[str, Any], held: Mapping[str, list[str]] | None
) -> tuple[Change, list[str], list[str]]:
    """How an edge of the merge differs: the change, what to write, and what to take away."""
    known = [item.name for item in EDGE_PROPERTIES if edge[item.name] is not None]
    if held is None:
        return "new", known, []
    told = [name for name in known if held.get(name) != [str(edge[name])]]
    cleared = [name for name in _CLEARED if edge[name] is None and name in held]
    same = not cleared and _NO_REASON.issuperset(told)
    return ("same" if same else "changed"), told, cleared


def _word(node: Mapping[str, Any], held: Held, builds: bool, dag_name: str) -> Word:
    """Whose word counts."""
    if not held.dags - {dag_name} or node["label"] in ("job", "operation"):
        return "mine"
    if node["label"] == "column":
        mine, theirs = builds, held.built_elsewhere
    else:
        # That a path is a file is only what the path looks like; a catalog knows more.
        mine = (builds and node["label"] != "file") or node["location"] is not None
        theirs = (held.built_elsewhere and held.label != "file") or "location" in held.properties
    if mine:
        return "mine"
    return "theirs" if theirs else "nobody's"


def _differs(name: str, value: Any, held: Held, word: Word) -> bool:
    there = held.properties.get(name)
    if name in _SETS:
        return not set(map(str, value)) <= set(there or ())
    if not there:
        return True
    old = int(there[0]) if name in _LONGS else there[0]
    return bool(value != old if word == "mine" else word == "nobody's" and value > old)


def _number(held: Held, name: str) -> int:
    there = held.properties.get(name)
    return int(there[0]) if there else 0


def _node_rows(dag_name: str, rows: Iterable[Row]) -> Iterator[tuple[Any, ...]]:
    for row in rows:
        node = {name: row[name] for name in _NODE_COLUMNS}
        there = row["_held"]
        held = None
        if there is not None:
            held = Held(there.label, frozenset(there.dags), there.properties, bool(there.built_elsewhere))
        change, told = node_change(node, held, bool(row["_built"]), dag_name)
        yield (*node.values(), change, held.label if held else None, told)


def _edge_rows(rows: Iterable[Row]) -> Iterator[tuple[Any, ...]]:
    for row in rows:
        held = row["_held"]
        if row["_told"] is None:
            yield _absent(row.id, held)
            continue
        edge = row["_told"].asDict()
        change, told, cleared = edge_change(edge, held.properties if held is not None else None)
        yield (*edge.values(), change, told, cleared)


def _absent(identifier: str, held: Row) -> tuple[Any, ...]:
    values: dict[str, Any] = {name: texts[0] for name, texts in held.properties.items()}
    values |= {"id": identifier, "label": held.label, "from": held["from"], "to": held["to"]}
    typed = (typed_value(name, values.get(name)) for name in _EDGE_COLUMNS)
    return (*typed, "absent", [], [])


def typed_value(name: str, value: Any) -> Any:
    """A value of the graph, read as text, as the property's type."""
    return int(value) if name in _LONGS and value is not None else value

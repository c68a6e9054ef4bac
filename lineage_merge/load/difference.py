"""What a merge tells otherwise than the graph holds. No connection.

Each node and edge of the merge gets a `change` and the names of the properties to write (`told`):
those that differ.

An edge belongs to one job of one DAG, so each property that `graph.schema` declares is its merge's: one that
the merge asserts no longer is removed (`cleared`). Of a job's vertex that holds for what describes its
newest run, where the merge describes a run. A dataset and its columns belong to every source and DAG that
knows them: there a property of which the merge knows nothing is left alone, and so is, everywhere, one that
is not declared.

A dataset may be known to several DAGs that tell its properties differently. Whoever builds it
(a job that writes it, a catalog that knows where it lies) has the word. Where nobody who tells
builds it, the greatest value stays, so that two DAGs never rewrite each other's values.

What is new, and what the graph holds just so, Spark finds by comparing texts (`load.texts`), which
is most elements of most merges. The others are compared in Python: as Spark expressions, thirty
properties make plans that take longer to plan than to run.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 (its name everywhere)

from lineage_merge.graph.labels import labels_of
from lineage_merge.graph.schema import EDGE_KEYS, EDGE_PROPERTIES, LONGS, NODE_KEYS, NODE_PROPERTIES
from lineage_merge.load import texts
from lineage_merge.load.existing import Existing, dataset_of

# `newer`: a job that the graph knows from a later run; it and its edges are left as they are.
# `absent`: an edge of which the merge says nothing.
Change = Literal["new", "changed", "label", "newer", "same", "absent"]
# Changes that nothing is written for.
UNWRITTEN = ("same", "newer", "absent")

Word = Literal["mine", "theirs", "nobody's"]

_SINGLES = tuple(item.name for item in NODE_PROPERTIES if not item.many)
_SETS = tuple(item.name for item in NODE_PROPERTIES if item.many)
# A change of these alone is no reason to write an edge.
_NO_REASON = frozenset({"sequence"})
# What describes the newest run of a job, together with `last_run_at`.
_OF_RUN = ("last_run_id", "duration_ms", "rows_written", "status")
_NO_DATASETS = frozenset({"column", "job", "operation"})

# What later steps ask of compared rows, beside the keys; the rest of what they tell is in `text`.
_OF_NODES = ("name", "job_type", "job_name", "project", "described_at", "last_run_at")
_OF_EDGES = ("job_type", "job_name")
_NODE_DIFFERENCE = "change string, told array<string>, cleared array<string>, label string"
_EDGE_DIFFERENCE = "change string, told array<string>, cleared array<string>"


@dataclass(frozen=True, slots=True)
class Held:
    """What the graph holds of a vertex: values are texts.

    `tagged` by the DAG; `shared` with another.
    """

    label: str
    tagged: bool
    shared: bool
    properties: Mapping[str, list[str]] = field(default_factory=dict)
    built_elsewhere: bool = False


def compared_nodes(nodes: DataFrame, edges: DataFrame, existing: Existing) -> DataFrame:
    """The merge's nodes: their keys, name, job_type, job_name, project, described_at, last_run_at, and

    * `change`, and `old_label`, which is the label that the graph has; `label` is the one that it shall have;
    * `told`: the names of what to write of `text`, which is all that is told (null: all), and `cleared`: the
      names of properties to remove.
    """
    built = edges.where("label = 'writes'").select(F.col("to").alias("_of"), F.lit(True).alias("_built"))
    told = nodes.select(
        *NODE_KEYS, *_OF_NODES, dataset_of("id").alias("_of"), texts.node_text().alias("text")
    )
    facts = ("held", "tagged", "shared", "built_elsewhere")
    there = existing.vertices.select("id", F.col("label").alias("old_label"), *facts)
    joined = told.join(built.distinct(), "_of", "left").join(there, "id", "left")
    is_there = F.col("old_label").isNotNull()
    same = (F.col("held") == F.col("text")) & (F.col("old_label") == F.col("label")) & F.col("tagged")
    both = F.struct("label", "text", "_built", "old_label", *facts)
    found = F.udf(_node_difference, _NODE_DIFFERENCE, useArrow=False)(F.when(is_there & ~same, both))
    change = F.when(~is_there, "new").when(same, "same").otherwise(F.col("_found.change"))
    label = F.coalesce("_found.label", "label").alias("label")
    keys = [label if name == "label" else F.col(name) for name in NODE_KEYS]
    return joined.withColumn("_found", found).select(
        *keys,
        *_OF_NODES,
        change.alias("change"),
        "old_label",
        "_found.told",
        "_found.cleared",
        _unless(same),
    )


def compared_edges(edges: DataFrame, existing: Existing) -> DataFrame:
    """The merge's edges, and the graph's that are `absent` in it: keys, job_type and job_name, and

    `change`, `told`, `cleared` and `text` as of nodes.
    """
    told = edges.select(*EDGE_KEYS, *_OF_EDGES, texts.edge_text().alias("text"))
    ends = ("label", "from", "to")
    there = existing.edges.select("id", *(F.col(name).alias(f"_{name}") for name in ends), "held", "interim")
    joined = told.join(there, "id", "full")
    is_told, is_there = F.col("text").isNotNull(), F.col("held").isNotNull()
    # One that has not got its own id yet is written whole: under that there may be nothing to change.
    interim = F.col("interim")
    same = ~interim & (F.col("held") == F.col("text"))
    found = F.udf(_edge_difference, _EDGE_DIFFERENCE, useArrow=False)(
        F.when(is_told & is_there & ~interim & ~same, F.struct("text", "held"))
    )
    change = (
        F.when(~is_told, "absent")
        .when(~is_there, "new")
        .when(interim, "changed")
        .when(same, "same")
        .otherwise(F.col("_found.change"))
    )
    known: dict[str, Column] = {name: F.coalesce(name, f"_{name}") for name in ends}
    known |= {name: F.when(is_told, F.col(name)).otherwise(texts.one(name)) for name in _OF_EDGES}
    return joined.withColumn("_found", found).select(
        *(known.get(name, F.col(name)).alias(name) for name in (*EDGE_KEYS, *_OF_EDGES)),
        change.alias("change"),
        "_found.told",
        "_found.cleared",
        _unless(same),
    )


def _unless(same: Column) -> Column:
    """The text, where it may be written."""
    return F.when(F.coalesce(~same, F.lit(True)), F.col("text")).alias("text")


def node_change(
    node: Mapping[str, Any], held: Held, builds: bool
) -> tuple[Change, list[str], list[str], str]:
    """Return how a node of the merge, of which `node` is what is known, differs: the change, what to write,
    what to remove, and the label that the vertex shall have. `builds`: the merge has a job that writes it.
    """
    known = [name for name in (*_SINGLES, *_SETS) if name in node]
    is_job = node["label"] == "job"
    ran_since = _number(held, "last_run_at") > node.get("last_run_at", 0)
    if is_job and "described_at" in node:
        # A manifest may be newer than the graph's and its run results, if there are any, older.
        if _number(held, "described_at") > node["described_at"]:
            return "newer", [], [], node["label"]
        if ran_since:
            known = [name for name in known if name not in (*_OF_RUN, "last_run_at")]
    elif is_job and ran_since:
        return "newer", [], [], node["label"]
    word = _word(node, held, builds)
    told = [name for name in known if _differs(name, node[name], held, word)]
    cleared: list[str] = []
    if is_job and "last_run_at" in node and not ran_since:
        of_earlier = (*_OF_RUN, "framework")
        cleared = [name for name in of_earlier if name not in node and name in held.properties]
    order = "described_at" if "described_at" in node else "last_run_at"
    if is_job and told and order in node and order not in told:
        told.append(order)  # with it the graph itself refuses to go back in time
    label = _label(node["label"], labels_of(held.label), word)
    if label != held.label:
        return "label", told, cleared, label
    tagged = held.tagged and "environment" in held.properties
    return ("same" if tagged and not told and not cleared else "changed"), told, cleared, label


def edge_change(
    edge: Mapping[str, Any], held: Mapping[str, list[str]]
) -> tuple[Change, list[str], list[str]]:
    """How what is known of an edge of the merge differs: the change, what to write, and what to remove."""
    known = [item.name for item in EDGE_PROPERTIES if item.name in edge]
    told = [name for name in known if held.get(name) != [str(edge[name])]]
    cleared = [item.name for item in EDGE_PROPERTIES if item.name not in edge and item.name in held]
    if _NO_REASON.issuperset([*told, *cleared]):
        return "same", told, []
    return "changed", told, cleared


def _label(incoming: str, stored: tuple[str, ...], word: Word) -> str:
    """Return the one label of a vertex that has one, or several."""
    if word == "mine":
        return incoming
    if word == "nobody's":
        return max(incoming, *stored)
    return max([each for each in stored if each != incoming] or stored)


def _word(node: Mapping[str, Any], held: Held, builds: bool) -> Word:
    """Whose word counts."""
    if not held.shared or node["label"] in ("job", "operation"):
        return "mine"
    if node["label"] == "column":
        mine, theirs = builds, held.built_elsewhere
    else:
        # That a path is a file is only what the path looks like; a catalog knows more.
        mine = (builds and node["label"] != "file") or "location" in node
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
    old = int(there[0]) if name in LONGS else there[0]
    return bool(value != old if word == "mine" else word == "nobody's" and value > old)


def _number(held: Held, name: str) -> int:
    there = held.properties.get(name)
    return int(there[0]) if there else 0


def _node_difference(row: Row | None) -> tuple[Change, list[str], list[str], str] | None:
    if row is None:
        return None
    node = {**texts.read(row.text), "label": row.label}
    held = Held(row.old_label, row.tagged, row.shared, _texts(row.held), row.built_elsewhere)
    return node_change(node, held, bool(row["_built"]))


def _edge_difference(row: Row | None) -> tuple[Change, list[str], list[str]] | None:
    return None if row is None else edge_change(texts.read(row.text), _texts(row.held))


def _texts(held: str) -> dict[str, list[str]]:
    """Values as text, whatever their type and cardinality: what is compared is whether they differ."""
    return {
        name: list(map(str, value)) if isinstance(value, list) else [str(value)]
        for name, value in texts.read(held).items()
    }

"""What the graph holds of one environment and DAG, read by Spark's executors.

Which vertices: those of a merge, by id (one that another DAG wrote has no tag of ours yet), and
those that carry the DAG's tag. Which edges: those of the DAG. An edge of a DAG always starts at
a vertex that carries its tag, so the edges are found at their starts, in parallel.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from gremlin_python.process.graph_traversal import GraphTraversal, GraphTraversalSource, __
from gremlin_python.process.traversal import P, T
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (its name everywhere)

from lineage_merge.graph.labels import one_label
from lineage_merge.kept import keep
from lineage_merge.load.connection import Endpoint
from lineage_merge.load.held import INTERIM, project_edges, vertices_by_id
from lineage_merge.load.sending import Asker, asking, by_request
from lineage_merge.load.texts import edge_held, vertex_held

_DDL = (
    "kind string, id string, label string, `from` string, `to` string, held string, tagged boolean,"
    " shared boolean, built_elsewhere boolean, interim boolean"
)
_ALIAS_DDL = "id string, label string, alias string"


@dataclass(frozen=True, slots=True)
class Existing:
    """What the graph holds.

    `vertices`: id, label (of one with several ``A::B``, see `graph.labels`), `held` (their values, as
    `load.texts` writes them), whether they are `tagged` by the DAG and `shared` with another, and
    `built_elsewhere`: whether a job of another DAG writes it, or the dataset whose column it is.
    `edges`: id, label, from, to, held; `interim` where the id has still to be set right.
    """

    vertices: DataFrame
    edges: DataFrame


def read(ids: DataFrame, endpoint: Endpoint, environment: str, dag_name: str) -> Existing:
    """The vertices of `ids` (a column `id`) and of the DAG, and the DAG's edges.

    Raises GraphUnreachable and GraphRejected, from Spark's workers.
    """
    spark = ids.sparkSession
    vertices = wanted(ids, endpoint, environment, dag_name)
    rows = vertices.rdd.mapPartitions(lambda part: _fetch(endpoint, dag_name, part))
    found = keep(spark.createDataFrame(rows, _DDL, verifySchema=False))
    vertices = found.where("kind = 'vertex'").select(
        "id", "label", "held", "tagged", "shared", "built_elsewhere"
    )
    edges = found.where("kind = 'edge'").select("id", "label", "from", "to", "held", "interim")
    return Existing(vertices, edges)


def wanted(ids: DataFrame, endpoint: Endpoint, environment: str, dag_name: str) -> DataFrame:
    """The ids of a DataFrame (its column `id`) and of all vertices of the DAG, parted for Spark's workers."""
    spark = ids.sparkSession
    tagged = _one_task(spark, lambda: _tagged(endpoint, environment, dag_name))
    both = ids.select("id").unionByName(spark.createDataFrame(tagged, "id string")).distinct()
    return both.repartition(spark.sparkContext.defaultParallelism)


def other_names(spark: SparkSession, endpoint: Endpoint, environment: str) -> DataFrame:
    """`id`, `label` and `alias` of every alias of an environment's vertices: ``namespace|name (rule)``."""
    rows = _one_task(spark, lambda: _aliases(endpoint, environment))
    return spark.createDataFrame(rows, _ALIAS_DDL, verifySchema=False)


def _one_task(spark: SparkSession, ask: Any) -> Any:
    return spark.sparkContext.parallelize([0], 1).flatMap(lambda _: ask())


def tagged_ids(g: GraphTraversalSource, environment: str, dag_name: str) -> GraphTraversal:
    """The ids of all vertices that carry a DAG's tag."""
    return g.V().has("dag_name", dag_name).has("environment", environment).id_()


def built_by_others(g: GraphTraversalSource, ids: list[str], dag_name: str) -> GraphTraversal:
    """The ids of those datasets and columns that a job of another DAG writes."""
    by_others = __.in_e("writes").has("dag_name", P.neq(dag_name))
    of_column = __.in_("has_column").in_e("writes").has("dag_name", P.neq(dag_name))
    return g.V(*ids).where(__.or_(by_others, of_column)).id_()


def edges_from(g: GraphTraversalSource, ids: list[str], dag_name: str) -> GraphTraversal:
    """The edges of a DAG that start at these vertices."""
    return project_edges(g.V(*ids).out_e().has("dag_name", dag_name))


def aliases_of(g: GraphTraversalSource, environment: str) -> GraphTraversal:
    """The aliases of an environment's vertices."""
    of_environment = g.V().has("environment", environment).has("aliases")
    projected = of_environment.project("id", "label", "aliases").by(T.id).by(T.label)
    return projected.by(__.values("aliases").fold())


def _tagged(endpoint: Endpoint, environment: str, dag_name: str) -> Iterator[tuple[str]]:
    with asking(endpoint) as ask:
        for found in ask(partial(tagged_ids, environment=environment, dag_name=dag_name)):
            yield (found,)


def _aliases(endpoint: Endpoint, environment: str) -> Iterator[tuple[str, str, str]]:
    with asking(endpoint) as ask:
        for found in ask(partial(aliases_of, environment=environment)):
            for alias in found["aliases"]:
                yield found["id"], one_label(found["label"]), alias


def _fetch(endpoint: Endpoint, dag_name: str, rows: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    with asking(endpoint) as ask:
        for ids in by_request(row.id for row in rows):
            yield from _vertices(ask, ids, dag_name)
            yield from _edges(ask(partial(edges_from, ids=ids, dag_name=dag_name)))


def _vertices(ask: Asker, ids: list[str], dag_name: str) -> Iterator[tuple[Any, ...]]:
    found = ask(lambda g: vertices_by_id(g, ids))
    dags = {each["id"]: set(each["properties"].get("dag_name", ())) for each in found}
    shared = [identifier for identifier, names in dags.items() if names - {dag_name}]
    built = set(ask(lambda g: built_by_others(g, shared, dag_name))) if shared else set()
    others = set(shared)
    for each in found:
        identifier = each["id"]
        held = vertex_held(each["properties"])
        facts = (dag_name in dags[identifier], identifier in others, identifier in built)
        yield ("vertex", identifier, each["label"], None, None, held, *facts, None)


def _edges(found: list[dict[str, Any]]) -> Iterable[tuple[Any, ...]]:
    """One row an edge: of one that stands there under both of its ids, that which has still to go."""
    rows: dict[str, tuple[Any, ...]] = {}
    for edge in found:
        row = _edge_row(edge)
        if row[-1] or row[1] not in rows:
            rows[row[1]] = row
    return rows.values()


def _edge_row(edge: dict[str, Any]) -> tuple[Any, ...]:
    is_interim = edge["id"].endswith(INTERIM)
    identifier = edge["id"].removesuffix(INTERIM)
    held = edge_held(edge["properties"])
    return ("edge", identifier, edge["label"], edge["from"], edge["to"], held, None, None, None, is_interim)


def dataset_of(identifier: str, is_column: Column | None = None) -> Column:
    """The dataset that an id belongs to: itself, or of a column the dataset that has it.

    `identifier` is the name of a DataFrame's column, `is_column` whether it holds a column's id
    (of a vertex its label tells).
    """
    if is_column is None:
        is_column = F.col("label") == "column"
    return F.when(is_column, F.regexp_replace(F.col(identifier), r"\|[^|]*$", "")).otherwise(
        F.col(identifier)
    )


def end_is_column(end: str) -> Column:
    """Whether an edge's `end` (``from`` or ``to``) is a column, by its label."""
    label = F.col("label")
    if end == "from":
        return label.isin("feeds_column", "influences")
    return label.isin("feeds_column", "has_column")

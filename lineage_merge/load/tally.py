"""How many elements of each kind and change a comparison found. No connection.

Planning a query costs Spark more than running it over a small graph, so everything that is counted
is counted by one.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 (its name everywhere)

from lineage_merge.load.difference import UNWRITTEN
from lineage_merge.load.existing import Existing

# Columns' edges: who tells none of them may only lack a parser.
OF_COLUMNS = frozenset({"feeds_column", "influences"})


@dataclass(frozen=True, slots=True)
class Tally:
    """Numbers of a comparison, by change (`load.difference.Change`).

    `strays`: vertices with the DAG's tag of which the merge says nothing. `cleared`: vertices and edges that
    lose a property. `interim`: edges whose id a killed load left unsettled. `column_tellers`: the types of
    jobs of which the merge tells column edges.
    """

    nodes: dict[str, int]
    edges: dict[str, int]
    strays: int
    cleared: int
    interim: int
    column_tellers: frozenset[str]

    @property
    def absent(self) -> int:
        """Edges that the graph has and the merge does not tell."""
        return self.edges.get("absent", 0)

    @property
    def held_edges(self) -> int:
        """Edges of the DAG that the graph has."""
        return sum(count for change, count in self.edges.items() if change != "new")

    @property
    def unchanged(self) -> int:
        """Elements that the graph has just so."""
        return self.nodes.get("same", 0) + self.edges.get("same", 0)

    @property
    def nodes_to_write(self) -> int:
        """Nodes that are new or differ."""
        return _to_write(self.nodes)

    @property
    def edges_to_write(self) -> int:
        """Edges that are new or differ."""
        return _to_write(self.edges)


def tally(nodes: DataFrame, edges: DataFrame, stray: DataFrame, existing: Existing) -> Tally:
    """Count what `load.difference` compared."""
    nothing = F.lit("")
    counted = [
        nodes.select(F.lit("node").alias("kind"), "change", nothing.alias("teller")),
        edges.select(
            F.lit("edge").alias("kind"),
            "change",
            F.when(F.col("label").isin(*OF_COLUMNS), F.col("job_type")).otherwise("").alias("teller"),
        ),
        nodes.where("size(cleared) > 0").select(F.lit("cleared"), nothing, nothing),
        edges.where("size(cleared) > 0").select(F.lit("cleared"), nothing, nothing),
        stray.select(F.lit("stray"), nothing, nothing),
        existing.edges.where("interim").select(F.lit("interim"), nothing, nothing),
    ]
    rows = reduce(DataFrame.union, counted).groupBy("kind", "change", "teller").count().collect()
    return Tally(
        nodes=_by_change(rows, "node"),
        edges=_by_change(rows, "edge"),
        strays=sum(_by_change(rows, "stray").values()),
        cleared=sum(_by_change(rows, "cleared").values()),
        interim=sum(_by_change(rows, "interim").values()),
        column_tellers=frozenset(
            row.teller for row in rows if row.kind == "edge" and row.teller and row.change != "absent"
        ),
    )


def _by_change(rows: Iterable[Row], kind: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for row in rows:
        if row.kind == kind:
            found[row.change] = found.get(row.change, 0) + row["count"]
    return found


def _to_write(counts: dict[str, int]) -> int:
    return sum(count for change, count in counts.items() if change not in UNWRITTEN)

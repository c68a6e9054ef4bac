"""Names that a merge resolves to other datasets than the graph, as the configuration or a catalog changed.

A rule, a default or a catalog resolves a name to a dataset, and the graph keeps which (`aliases`, and in
`resolved_names` for which DAG). A merge that resolves the name to another dataset, or to itself again,
corrects that in one load:

* Where a rule replaces a name for every DAG, the vertex of that name is moved (`load.moves`).
* Otherwise the DAG's own edges are removed that the merge has at the new dataset: they are the same facts.
  Edges and tags of other DAGs stay unchanged.
* The name is removed from the vertex that had it as an alias, unless another DAG asserts it too.

A name that the merge does not read stays resolved as it was.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial, reduce
from itertools import groupby
from typing import Any, Literal, NamedTuple

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 (its name everywhere)

from lineage_merge.graph.schema import DATASET_LABELS
from lineage_merge.kept import keep_planned
from lineage_merge.load.existing import Existing, dataset_of, end_is_column
from lineage_merge.load.texts import one
from lineage_merge.merge.grouping import edge_id
from lineage_merge.merge.identities import ALIAS, EVERYWHERE, OWN
from lineage_merge.model import decode, encode

_DDL = "kind string, id string, means string, property string, value string"


class Change(NamedTuple):
    """What is to be done about a vertex (`id`).

    `move`: it is moved to `means`. `edges`: edges of the DAG go that the merge has at `means`. `remove`: a
    `value` of a `property`. `ignore`: an alias (`value`) of it says nothing of a name that this merge knows.
    """

    kind: Literal["move", "edges", "remove", "ignore"]
    id: str
    means: str | None = None
    property: str | None = None
    value: str | None = None


@dataclass(frozen=True, slots=True)
class Renames:
    """The changes (`Change`) as rows, and which kinds there are: usually none, which saves Spark work."""

    changes: DataFrame
    kinds: frozenset[str] = frozenset()

    def of_kind(self, kind: Literal["move", "edges", "remove", "ignore"]) -> DataFrame:
        """The changes of one kind."""
        return self.changes.where(F.col("kind") == kind)


@dataclass(frozen=True, slots=True)
class Stored:
    """A name that the graph has at a vertex: as an `alias`, and as a value of `resolved_names`.

    `resolved` is "" where a source knows the alias, not the configuration. `elsewhere`: another DAG says the
    same, or may.
    """

    id: str
    alias: str
    resolved: str = ""
    elsewhere: bool = False


@dataclass(slots=True)
class Name:
    """All that is known of one name of a dataset, which is the id of its own vertex.

    `means`: the ids that the merge resolves it to, with how it knows (`merge.identities`). `in_merge`: the
    merge has a node of that id. `is_stored`, `is_tagged`: so has the graph, and with the DAG's tag.
    """

    id: str
    means: dict[str, set[str]] = field(default_factory=dict)
    stored: list[Stored] = field(default_factory=list)
    in_merge: bool = False
    is_stored: bool = False
    is_tagged: bool = False

    def changes(self) -> Iterator[Change]:
        """What follows for the graph."""
        others = sorted(self.means.keys() - {self.id})
        known = {how for hows in self.means.values() for how in hows}
        if len(others) == len(self.means) == 1 and known == {EVERYWHERE} and not self.in_merge:
            if self.is_stored:
                yield Change("move", self.id, others[0])
        elif self.is_tagged:
            yield from (Change("edges", self.id, each) for each in others)
        for each in self.stored:
            yield from self._of_stored(each)

    def _of_stored(self, stored: Stored) -> Iterator[Change]:
        # A location that no rule knows may still have a name that another source knows.
        means = {each for each, hows in self.means.items() if stored.resolved or ALIAS in hows}
        is_own = bool(stored.resolved) and OWN in self.means.get(self.id, ())
        if is_own and not stored.elsewhere:
            yield Change("ignore", stored.id, value=stored.alias)
        if not means or stored.id in means:
            return
        yield from (Change("edges", stored.id, each) for each in sorted(means))
        if stored.resolved:
            yield Change("remove", stored.id, property="resolved_names", value=stored.resolved)
        if not stored.elsewhere:
            yield Change("remove", stored.id, property="aliases", value=stored.alias)


def stored_names(
    identifier: str, resolved: list[str], aliases: list[str], shared: bool, environment: str, dag_name: str
) -> Iterator[tuple[str, Stored]]:
    """Yield the names that a vertex of the DAG holds, each with the id of its own vertex.

    Of `resolved_names` those of the DAG; of `aliases` those that no DAG's configuration is known for.
    """
    own = f"{encode(dag_name)}|"
    by_dag = [value.split("|", 1) for value in resolved if value.count("|") == 3]
    configured = {_alias(rest) for _, rest in by_dag}
    for value in resolved:
        if value.startswith(own) and value.count("|") == 3:
            rest = value.removeprefix(own)
            elsewhere = any(dag != encode(dag_name) and other == rest for dag, other in by_dag)
            name = f"{encode(environment)}|{rest.split('|', 1)[1]}"
            yield name, Stored(identifier, _alias(rest), value, elsewhere)
    for alias in aliases:
        named = alias.rpartition(" (")[0]
        if alias not in configured and "|" in named:
            parts = map(encode, (environment, *named.split("|", 1)))
            yield "|".join(parts), Stored(identifier, alias, elsewhere=shared)


def _alias(resolved: str) -> str:
    """`aliases`' text of a rule, a namespace and a name."""
    rule, namespace, name = map(decode, resolved.split("|"))
    return f"{namespace}|{name} ({rule})"


def find_renames(
    identities: DataFrame, nodes: DataFrame, existing: Existing, environment: str, dag_name: str
) -> Renames:
    """Return the changes that follow from the names of a merge."""
    nothing = F.lit(None).cast("string")
    no = F.lit(False)
    datasets = existing.vertices.where(F.col("label").isin(*DATASET_LABELS))
    held = datasets.where("tagged").select(
        "id", "shared", one("resolved_names").alias("resolved"), one("aliases").alias("aliases")
    )
    names = held.where("resolved is not null or aliases is not null").rdd.mapPartitions(
        partial(_names_of, environment, dag_name)
    )
    rows = [
        identities.select(
            F.lit("means").alias("kind"),
            F.col("other").alias("name"),
            F.col("means").alias("id"),
            F.col("how").alias("text"),
            nothing.alias("resolved"),
            no.alias("flag"),
        ),
        identities.sparkSession.createDataFrame(
            names,
            "kind string, name string, id string, text string, resolved string, flag boolean",
            verifySchema=False,
        ),
        nodes.where(F.col("label").isin(*DATASET_LABELS)).select(
            F.lit("node"), "id", nothing, nothing, nothing, no
        ),
        datasets.select(F.lit("vertex"), "id", nothing, nothing, nothing, "tagged"),
    ]
    by_name = reduce(DataFrame.union, rows).repartition("name").sortWithinPartitions("name")
    changes = identities.sparkSession.createDataFrame(
        by_name.rdd.mapPartitions(_decide), _DDL, verifySchema=False
    )
    changes = keep_planned(changes.distinct())
    kinds = frozenset(row.kind for row in changes.select("kind").distinct().collect())
    if "move" in kinds:
        # A dataset that was left out as temporary takes nothing over.
        means = nodes.select(F.col("id").alias("means"))
        moves = changes.where("kind = 'move'").join(means, "means", "leftsemi").select(changes.columns)
        changes = keep_planned(changes.where("kind <> 'move'").unionByName(moves))
    return Renames(changes, kinds)


def _names_of(environment: str, dag_name: str, rows: Iterable[Row]) -> Iterator[tuple[Any, ...]]:
    for row in rows:
        resolved, aliases = (json.loads(text or "[]") for text in (row.resolved, row.aliases))
        for name, stored in stored_names(row.id, resolved, aliases, row.shared, environment, dag_name):
            yield "stored", name, stored.id, stored.alias, stored.resolved, stored.elsewhere


def _decide(rows: Iterable[Row]) -> Iterator[tuple[Any, ...]]:
    for identifier, group in groupby(rows, key=lambda row: row.name):
        name = Name(identifier)
        for row in group:
            match row.kind:
                case "means":
                    name.means.setdefault(row.id, set()).add(row.text)
                case "stored":
                    name.stored.append(Stored(row.id, row.text, row.resolved, row.flag))
                case "node":
                    name.in_merge = True
                case _:
                    name.is_stored = True
                    name.is_tagged = name.is_tagged or bool(row.flag)
        yield from (tuple(change) for change in name.changes())


def replaced_edges(edges: DataFrame, renames: Renames, environment: str, dag_name: str) -> DataFrame:
    """Return the `id` of each absent edge that the merge has at the dataset that one of its ends means now.

    `edges` as `load.difference` compared them.
    """
    if "edges" not in renames.kinds:
        return edges.sparkSession.createDataFrame([], "id string")
    images = (
        renames.of_kind("edges")
        .groupBy(F.col("id").alias("_dataset"))
        .agg(F.collect_set("means").alias("_means"))
    )
    absent = edges.where("change = 'absent'").withColumn("_old", F.col("id"))
    for end in ("from", "to"):
        absent = absent.withColumn("_dataset", dataset_of(end, end_is_column(end)))
        absent = absent.join(images, "_dataset", "left")
        ends = F.concat(F.array(end), F.coalesce(_ends_at(end), F.array().cast("array<string>")))
        absent = absent.withColumn(end, F.explode(ends)).drop("_dataset", "_means")
    moved = (
        absent.withColumn("environment", F.lit(environment))
        .withColumn("dag_name", F.lit(dag_name))
        .withColumn("id", edge_id())
        .where("id <> _old")
    )
    present = edges.where("change <> 'absent'").select("id")
    return moved.join(present, "id", "leftsemi").select(F.col("_old").alias("id")).distinct()


def _ends_at(end: str) -> Column:
    """The ends (datasets, or columns of them) that an edge has in place of `end`, at each of `_means`."""
    of_dataset = F.expr(f"substring(`{end}`, length(_dataset) + 1)")
    return F.transform("_means", lambda means: F.concat(means, of_dataset))

"""The facts about plan nodes that Spark's JSON lacks, as an interface of pure data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Any, Protocol

from lineage_merge.model.elements import Reference
from lineage_merge.spark_capture.plan_tree import Json, Node


@dataclass(frozen=True, slots=True)
class Relation:
    """What a leaf of a plan reads.

    `uris` as Spline's agent reports them; `table` for a table without a path. `params` are those of the read;
    `problem` says why the source is unknown.
    """

    uris: tuple[str, ...] = ()
    table: Reference | None = None
    data_format: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    problem: str = ""


@dataclass(frozen=True, slots=True)
class RddSources:
    """The sources of an RDD: files, and RDDs of unknown origin."""

    uris: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


class SparkMetadata(Protocol):
    """Facts about single nodes."""

    zone: tzinfo

    def output(self, node: Node) -> list[Json]:
        """Return the output attributes of an operation, as trees of one node each."""

    def rows(self, node: Node, field: str) -> list[list[list[Json]]]:
        """Return the trees of a field that is a list of lists of expressions."""

    def relation(self, node: Node) -> Relation | None:
        """Return what a leaf reads; None if it is not a relation but constants."""

    def rdd(self, node: Node) -> RddSources:
        """Return the sources of the RDD in a `LogicalRDD`."""

    def cached(self, node: Node) -> Node | None:
        """Return the plan behind an `InMemoryRelation`; None if it is no longer available."""

    def inner(self, node: Node) -> Any:
        """Return the JVM's plan of a subquery expression."""

    def top(self, operation: Node, index: int) -> Any:
        """Return the JVM's expression at a position in an operation's expressions."""

    def function_name(self, node: Node) -> str:
        """Return the SQL name of a function expression."""

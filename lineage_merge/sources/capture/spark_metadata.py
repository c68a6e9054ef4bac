"""What a plan's reading needs to hear from Spark beside the JSON, and in which words it is told."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Any, Protocol

from lineage_merge.model.elements import Reference
from lineage_merge.sources.capture.plan_tree import Json, Node


@dataclass(frozen=True, slots=True)
class Relation:
    """What a leaf of a plan reads.

    `uris` as Spline's agent would give them; a table that has no path but a name is `table`.
    `params` are those of the read; `problem` says why nothing is known of it.
    """

    uris: tuple[str, ...] = ()
    table: Reference | None = None
    data_format: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    problem: str = ""


@dataclass(frozen=True, slots=True)
class RddSources:
    """What an RDD was made of: files, and RDDs of which nobody can tell."""

    uris: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


class SparkMetadata(Protocol):
    """Questions about single nodes."""

    zone: tzinfo

    def output(self, node: Node) -> list[Json]:
        """The attributes that an operation puts out, as trees of one node each."""

    def rows(self, node: Node, field: str) -> list[list[list[Json]]]:
        """The trees of a field that is a list of lists of expressions."""

    def relation(self, node: Node) -> Relation | None:
        """What a leaf reads; None where it is no relation, but constants."""

    def rdd(self, node: Node) -> RddSources:
        """What the RDD of a `LogicalRDD` was made of."""

    def cached(self, node: Node) -> Node | None:
        """The plan behind an `InMemoryRelation`; None where it has forgotten it."""

    def inner(self, node: Node) -> Any:
        """The JVM's plan of a subquery's expression."""

    def top(self, operation: Node, index: int) -> Any:
        """The JVM's expression at that place of an operation's expressions."""

    def function_name(self, node: Node) -> str:
        """What SQL calls a function, by its expression."""

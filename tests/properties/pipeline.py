"""A pipeline as it is drawn: what Spark's runs and a dbt project did, before anybody writes it down.

`pipeline_documents` writes it as Spline and dbt would, `oracle` says which graph must come of it. Both take
a prefix, which stands in every name, so that hundreds of pipelines fit one build without ever meeting.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from benchmarks.generated.pipeline import At, Made

# Every dataset has these, and more are never written.
COLUMNS = ("a", "b", "c")
WAREHOUSE = "redshift://tickit-wh.us-east-1:5439"
PROJECT = "shop"
LOOKBACK_DAYS = 30
DAY = 24 * 60


NodeKind = Literal["table", "view", "ephemeral", "seed", "snapshot", "exposure"]


class Kind(StrEnum):
    """How a dataset is stored."""

    LAKE = "lake"
    TEMPORARY = "tmp"  # below a folder whose datasets are collapsed
    TABLE = "db"  # a catalog's table, stored in files
    WAREHOUSE = "wh"


@dataclass(frozen=True, order=True)
class Place:
    """A dataset."""

    kind: Kind
    name: str


@dataclass(frozen=True)
class Mention:
    """A dataset as one operation has it: in one of its spellings, with the catalog's table or without."""

    place: Place
    spelling: int = 0
    with_table: bool = False


@dataclass(frozen=True)
class Plan:
    """A write, with columns as `benchmarks.generated` has them. Plans that are equal are one plan.

    `by_name`: tables that only a subquery reads, and so by their name. `on_glue`: Glue names the application.
    """

    application: str
    target: Mention
    reads: tuple[Mention, ...]
    columns: tuple[Made, ...]
    filters: tuple[At, ...] = ()
    joins: tuple[tuple[At, At], ...] = ()
    sorts: tuple[At, ...] = ()
    by_name: tuple[Place, ...] = ()
    append: bool = False
    on_glue: bool = False


@dataclass(frozen=True)
class End:
    """An execution of a plan that ended `at`, in minutes; `pending`: its transaction is not committed."""

    plan: Plan
    run: str
    at: int
    minutes: int = 1
    failed: bool = False
    pending: bool = False
    rows: int = 0


@dataclass(frozen=True)
class Node:
    """Something of a dbt project; `parents` are places of earlier nodes, `sources` tables."""

    kind: NodeKind
    parents: tuple[int, ...] = ()
    sources: tuple[Place, ...] = ()


@dataclass(frozen=True)
class Pipeline:
    """A database of Spline's and a part of a dbt project; `unrun` plans were never executed."""

    ends: tuple[End, ...]
    nodes: tuple[Node, ...] = ()
    unrun: tuple[Plan, ...] = ()

    @property
    def plans(self) -> tuple[Plan, ...]:
        """Each once."""
        return tuple(dict.fromkeys((*(each.plan for each in self.ends), *self.unrun)))

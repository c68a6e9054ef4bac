"""Description of a pipeline: plans that read, compute and write, their runs, and dbt models on top.

Nothing here knows how Spline or dbt write it down (`spline`, `manifest`), nor what lineage_merge
should make of it: a test may work that out by itself.
"""

from dataclasses import dataclass
from typing import Literal

# 2026-01-01, in ms since 1970.
START = 1_767_225_600_000
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS

# What is done to a column's sources: passed on or renamed; computed; summed over the groups of all
# columns that are not sums; looked at in a CASE that chooses between constants.
How = Literal["identity", "transformation", "aggregation", "conditional"]


@dataclass(frozen=True, slots=True, order=True)
class Dataset:
    """A source of a plan: a raw URI, and the names of the columns that it reads."""

    uri: str
    columns: tuple[str, ...]
    format: str = "parquet"


@dataclass(frozen=True, slots=True, order=True)
class At:
    """A column of one of a plan's reads, by the index of the read."""

    read: int
    column: str


@dataclass(frozen=True, slots=True)
class Made:
    """A column that a plan writes, and its sources. `identity` has one source."""

    name: str
    how: How
    sources: tuple[At, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """One write. Plans that are equal are one plan of Spline, with a run for each time.

    All reads are joined, each to those before it. `filters`, `joins` (pairs, each of two reads) and
    `sorts` are columns that decide on rows; where a column is an aggregation, all others are what rows
    are grouped by. `steps` are projections more than needed, each of which computes one of the
    transformed columns again or, if there is none, an unused column. `version`: another difference between
    plans, the constant of their filters, such as yesterday's date.
    """

    application: str
    reads: tuple[Dataset, ...]
    target: str
    columns: tuple[Made, ...]
    filters: tuple[At, ...] = ()
    joins: tuple[tuple[At, At], ...] = ()
    sorts: tuple[At, ...] = ()
    steps: int = 0
    append: bool = False
    format: str = "parquet"
    version: int = 0


@dataclass(frozen=True, slots=True)
class Run:
    """One execution of a plan: `id` is Spark's (an application that writes twice has it twice).

    `at` is when it ended, in ms since 1970. One that failed has an `error`.
    """

    plan: Plan
    id: str
    at: int
    duration_ms: int = 60_000
    rows: int = 1000
    error: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a warehouse as dbt names it; `columns` are those that its YAML or SQL names."""

    database: str
    schema: str
    name: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Model:
    """A dbt model: it selects columns of what it reads. `reads` are places among `Project.sources`,
    or, counted on from there, among the models before it. `columns` are as a plan's."""

    table: Table
    reads: tuple[int, ...]
    columns: tuple[Made, ...]
    materialized: Literal["table", "view", "incremental", "ephemeral"] = "table"


@dataclass(frozen=True, slots=True)
class Project:
    """A dbt project; `generated_at` in ms since 1970."""

    name: str
    sources: tuple[Table, ...]
    models: tuple[Model, ...]
    generated_at: int = START
    adapter: str = "redshift"

    def table(self, place: int) -> Table:
        """Return the element at an index of a model's `reads`."""
        sources = len(self.sources)
        return self.sources[place] if place < sources else self.models[place - sources].table


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A whole pipeline. Its plans are those of the runs, and `unrun` ones, whose run did not end."""

    runs: tuple[Run, ...] = ()
    projects: tuple[Project, ...] = ()
    unrun: tuple[Plan, ...] = ()

    @property
    def plans(self) -> tuple[Plan, ...]:
        """Return each plan once, in the order of their first runs."""
        return tuple(dict.fromkeys((*(run.plan for run in self.runs), *self.unrun)))

"""Uses of datasets: which kinds of jobs read and write them, from the edges of a merge."""

from collections.abc import Iterator
from typing import NamedTuple

from lineage_merge.graph_format.schema import Row
from lineage_merge.infra.engine.rows import Rows


class JobKind(NamedTuple):
    """The type of a job, and the project of dbt's jobs."""

    job_type: str
    project: str = ""

    def __str__(self) -> str:
        """Return the type, dbt's with the project: ``dbt:tickit``."""
        return f"dbt:{self.project}" if self.job_type == "dbt" else self.job_type


Kinds = frozenset[JobKind]
_NONE: Kinds = frozenset()


class Uses(NamedTuple):
    """Uses of one dataset by kinds of jobs.

    `readers` derive another dataset from it, `feeders` derive it from another one, `loops` from itself;
    `writers` write it. `rules` join it.
    """

    readers: Kinds = _NONE
    feeders: Kinds = _NONE
    loops: Kinds = _NONE
    writers: Kinds = _NONE
    rules: frozenset[str] = frozenset()

    def types_of_readers(self) -> set[str]:
        """Return the types of jobs that read the dataset, also to write it again."""
        return {reader.job_type for reader in self.readers | self.loops}

    def types_of_flows(self) -> set[str]:
        """Return the types of jobs that derive it, or another dataset from it."""
        return {reader.job_type for reader in self.readers | self.feeders | self.loops}


def uses_of(row: Row) -> Iterator[tuple[str, Uses]]:
    """Yield the datasets that a row of a merge uses, if it is an edge of a job."""
    label = row["label"]
    if label == "writes":
        yield row["to"], Uses(writers=_kinds(row))
    elif label == "feeds" and row["from"] == row["to"]:
        yield row["to"], Uses(loops=_kinds(row))
    elif label == "feeds":
        kinds = _kinds(row)
        yield row["from"], Uses(readers=kinds)
        yield row["to"], Uses(feeders=kinds)


def together(one: Uses, other: Uses) -> Uses:
    """Return both uses of a dataset as one."""
    return Uses(
        one.readers | other.readers,
        one.feeders | other.feeders,
        one.loops | other.loops,
        one.writers | other.writers,
        one.rules | other.rules,
    )


def dataset_uses(elements: Rows[Row]) -> Rows[tuple[str, Uses]]:
    """Return the uses of each dataset that a job uses."""
    return elements.flat_map(uses_of).combine(_itself, together, together)


def _itself(uses: Uses) -> Uses:
    return uses


def _kinds(row: Row) -> Kinds:
    if row["job_type"] != "dbt":
        return frozenset((JobKind(str(row["job_type"])),))
    project, slash, _ = row["job_name"].partition("/")
    if not slash:
        project = row["job_name"].split(".", 2)[1] if "." in row["job_name"] else ""
    return frozenset((JobKind("dbt", project.partition("@")[0]),))

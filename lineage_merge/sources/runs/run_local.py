"""Which sources a run had written itself before it read them: marks for what the merge collapses."""

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeVar

from lineage_merge.infra.engine.rows import Rows
from lineage_merge.merge.collapse_intermediate import RUN_LOCAL
from lineage_merge.merge.records import Record
from lineage_merge.sources.runs.events import EventRow
from lineage_merge.sources.runs.run_selection import Counted, PlanKey, is_successful

K = TypeVar("K")
# The run that a row is of: a database and a run in it.
_Run = tuple[str, str | None]
# Ids of datasets.
Datasets = frozenset[str]


class _Made(NamedTuple):
    """A run wrote a dataset: the first time."""

    dataset: str
    at: int


class _Read(NamedTuple):
    """A run executed a plan."""

    plan: str
    at: int


def own_sources(recent: Rows[EventRow], counted: Rows[Counted]) -> Rows[tuple[PlanKey, Datasets]]:
    """The datasets that each counted run of a plan had made before it read them, for plans that have some.

    What a run reads before it writes it comes from an earlier run, and is no temporary dataset.
    """
    uses: Rows[tuple[_Run, _Made | _Read]] = recent.flat_map(_made).union(counted.map(_read))
    return uses.group(_key, _made_before).combine(_as_it_is, _common, _common).filter(_is_any)


def marked(
    records_by_plan: Rows[tuple[PlanKey, Record]], recent: Rows[EventRow], counted: Rows[Counted]
) -> Rows[tuple[PlanKey, Record]]:
    """The records of plans, `feeds` marked where every counted run of the plan made the source before.

    Moves every record. What has its own group of each plan takes `own_sources` into it, and calls `mark`.
    """
    records: Rows[Any] = records_by_plan
    return records.union(own_sources(recent, counted)).group(_key, _marked)


def mark(record: Record, own: Datasets) -> Record:
    """A record of a plan, marked where it is a `feeds` and its source is one of the plan's own."""
    if record.kind != "feeds" or record.source not in own:
        return record
    return record._replace(sets={**record.sets, RUN_LOCAL: ["true"]})


def _made(event: EventRow) -> Iterator[tuple[_Run, _Made | _Read]]:
    if is_successful(event) and event.run_id is not None and event.dataset is not None:
        yield (event.database, event.run_id), _Made(event.dataset, event.at or 0)


def _read(each: Counted) -> tuple[_Run, _Made | _Read]:
    event = each.event
    return (event.database, event.run_id), _Read(event.plan or "", event.at or 0)


def _made_before(run: _Run, uses: list[tuple[_Run, _Made | _Read]]) -> Iterator[tuple[PlanKey, Datasets]]:
    made: dict[str, int] = {}
    read: dict[str, int] = {}
    for _, use in uses:
        if isinstance(use, _Made):
            made[use.dataset] = min(use.at, made.get(use.dataset, use.at))
        else:
            read[use.plan] = min(use.at, read.get(use.plan, use.at))
    for plan, first in read.items():
        yield (run[0], plan), frozenset(dataset for dataset, at in made.items() if at < first)


def _key(row: tuple[K, object]) -> K:
    return row[0]


def _as_it_is(own: Datasets) -> Datasets:
    return own


def _common(one: Datasets, other: Datasets) -> Datasets:
    return one & other


def _is_any(found: tuple[PlanKey, Datasets]) -> bool:
    return bool(found[1])


def _marked(key: PlanKey, rows: list[tuple[PlanKey, Record | Datasets]]) -> Iterator[tuple[PlanKey, Record]]:
    own = next((found for _, found in rows if isinstance(found, frozenset)), frozenset())
    for _, found in rows:
        if isinstance(found, Record):
            yield key, mark(found, own)

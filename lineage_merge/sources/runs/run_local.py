"""Sources that a run wrote itself before reading them: marked as candidates for collapsing."""

from collections.abc import Iterator
from typing import NamedTuple, TypeVar

from lineage_merge.infra.engine.rows import Rows
from lineage_merge.model.records import FeedsRecord, Record
from lineage_merge.sources.runs.events import EventRow
from lineage_merge.sources.runs.run_selection import PlanKey, SelectedWrite, is_successful

K = TypeVar("K")
# A database and a run in it.
_Run = tuple[str, str | None]
# Dataset ids.
Datasets = frozenset[str]


class _Made(NamedTuple):
    """A dataset and its first write in a run."""

    dataset: str
    at: int


class _Read(NamedTuple):
    """A plan that a run executed."""

    plan: str
    at: int


def own_sources(events: Rows[EventRow], selected: Rows[SelectedWrite]) -> Rows[tuple[PlanKey, Datasets]]:
    """Return, per plan, the datasets that each selected run of it had written before reading them.

    A dataset that a run reads before writing it comes from an earlier run: it is no temporary dataset.
    """
    uses: Rows[tuple[_Run, _Made | _Read]] = events.flat_map(_made).union(selected.map(_read))
    return (
        uses.group(_key, _made_before).combine(_unchanged, _intersection, _intersection).filter(_has_datasets)
    )


def mark(record: Record, own: Datasets) -> Record:
    """Return a record of a plan, marked if it is a `feeds` from one of the plan's `own` sources."""
    if isinstance(record, FeedsRecord) and record.source in own:
        return record._replace(is_run_local=True)
    return record


def _made(event: EventRow) -> Iterator[tuple[_Run, _Made | _Read]]:
    if is_successful(event) and event.run_id is not None and event.dataset is not None:
        yield (event.database, event.run_id), _Made(event.dataset, event.at or 0)


def _read(each: SelectedWrite) -> tuple[_Run, _Made | _Read]:
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


def _unchanged(own: Datasets) -> Datasets:
    return own


def _intersection(one: Datasets, other: Datasets) -> Datasets:
    return one & other


def _has_datasets(found: tuple[PlanKey, Datasets]) -> bool:
    return bool(found[1])

"""Sources that a run wrote itself before reading them: marked as candidates for collapsing."""

from collections.abc import Iterator
from operator import and_

from lineage_merge.infra.engine.rows import Rows
from lineage_merge.model.elements import Feeds
from lineage_merge.model.records import Record
from lineage_merge.sources.runs.events import EventRow
from lineage_merge.sources.runs.run_selection import PlanKey, SelectedWrite, is_successful

# A database and a run in it.
_Run = tuple[str, str | None]
# Whether a dataset was written or a plan executed, which one, and when.
_Use = tuple[bool, str, int]
# Dataset ids.
Datasets = frozenset[str]


def own_sources(events: Rows[EventRow], selected: Rows[SelectedWrite]) -> Rows[tuple[PlanKey, Datasets]]:
    """Return, per plan, the datasets that each selected run of it had written before reading them.

    A dataset that a run reads before writing it comes from an earlier run: it is no temporary dataset.
    """
    uses: Rows[tuple[_Run, _Use]] = events.flat_map(_write).union(selected.map(_read))
    made_before = uses.group(lambda use: use[0], _find_made_before)
    return made_before.combine(frozenset, and_, and_).filter(lambda own: bool(own[1]))


def mark(record: Record, own: Datasets) -> Record:
    """Return a record of a plan, marked if it is a `feeds` from one of the plan's `own` sources."""
    if isinstance(record, Feeds) and record.source in own:
        return record._replace(is_run_local=True)
    return record


def _write(event: EventRow) -> Iterator[tuple[_Run, _Use]]:
    if is_successful(event) and event.run_id is not None and event.dataset is not None:
        yield (event.database, event.run_id), (True, event.dataset, event.at or 0)


def _read(write: SelectedWrite) -> tuple[_Run, _Use]:
    event = write.event
    return (event.database, event.run_id), (False, event.plan or "", event.at or 0)


def _find_made_before(run: _Run, uses: list[tuple[_Run, _Use]]) -> Iterator[tuple[PlanKey, Datasets]]:
    made: dict[str, int] = {}
    read: dict[str, int] = {}
    for _, (is_write, name, at) in uses:
        first = made if is_write else read
        first[name] = min(at, first.get(name, at))
    for plan, began in read.items():
        yield (run[0], plan), frozenset(dataset for dataset, at in made.items() if at < began)

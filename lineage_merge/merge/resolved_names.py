"""Resolved dataset names of a merge, and run counts of its jobs: input of the load."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import NamedTuple

from lineage_merge.infra.engine.rows import Rows
from lineage_merge.merge.alias_resolution import Aliases
from lineage_merge.model.elements import JobKey
from lineage_merge.model.records import Record, ResolvedRecord, RunsRecord

# Values of `known_by`: the location has its own name, no rule matches; a rule that depends on the location
# alone, so it holds for every DAG; another part of this DAG's configuration; a source or a catalog.
OWN, EVERYWHERE, CONFIGURED, ALIAS = "own", "everywhere", "configured", "alias"


class IdentityRow(NamedTuple):
    """An alias, the dataset that it resolves to (both as ids), and the origin of that knowledge."""

    alias_id: str
    canonical_id: str
    known_by: str


def identities(records: Rows[Record], aliases: Aliases) -> Rows[IdentityRow]:
    """Return each name with its canonical id. A rule may resolve to an alias, which is resolved here."""
    known = {alias_id: each[0] for alias_id, each in aliases.candidates.items() if len(each) == 1}
    engine = records.engine
    resolved = records.flat_map(_resolved)
    of_aliases = engine.rows((IdentityRow(*each, ALIAS) for each in known.items()), engine.parallelism)
    return resolved.distinct().map(partial(_canonical, known)).union(of_aliases).distinct()


def job_runs(records: Rows[Record]) -> dict[JobKey, int]:
    """Return the number of successful runs per job; if two sources report a job, the smaller number."""
    return dict(records.flat_map(_runs).combine(_same, min, min).collect())


def _resolved(record: Record) -> Iterator[IdentityRow]:
    if isinstance(record, ResolvedRecord):
        is_own = record.name == record.dataset
        known_by = OWN if is_own else EVERYWHERE if record.is_everywhere else CONFIGURED
        yield IdentityRow(record.name, record.dataset, known_by)


def _canonical(known: Mapping[str, str], row: IdentityRow) -> IdentityRow:
    return row._replace(canonical_id=known.get(row.canonical_id, row.canonical_id))


def _runs(record: Record) -> Iterator[tuple[JobKey, int]]:
    if isinstance(record, RunsRecord):
        yield record.job, record.number


def _same(number: int) -> int:
    return number

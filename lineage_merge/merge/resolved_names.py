"""Resolved dataset names of a merge, and run counts of its jobs: input of the load."""

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

from lineage_merge.infra.engine.rows import Rows
from lineage_merge.merge.alias_resolution import Aliases
from lineage_merge.model.elements import JobKey
from lineage_merge.model.records import Record

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
    resolved = records.filter(_is_resolved).map(_own)
    of_aliases = engine.rows((IdentityRow(*each, ALIAS) for each in known.items()), engine.parallelism)
    return resolved.distinct().map(partial(_canonical, known)).union(of_aliases).distinct()


def job_runs(records: Rows[Record]) -> dict[JobKey, int]:
    """Return the number of successful runs per job; if two sources report a job, the smaller number."""
    found = records.filter(_is_runs).map(_runs).combine(_same, min, min).collect()
    return {JobKey(*key): number for key, number in found}


def _is_resolved(record: Record) -> bool:
    return record.kind == "resolved"


def _own(record: Record) -> IdentityRow:
    alias_id, canonical_id = str(record.source), str(record.target)
    known_by = OWN if alias_id == canonical_id else EVERYWHERE if record.at == 1 else CONFIGURED
    return IdentityRow(alias_id, canonical_id, known_by)


def _canonical(known: Mapping[str, str], row: IdentityRow) -> IdentityRow:
    return row._replace(canonical_id=known.get(row.canonical_id, row.canonical_id))


def _is_runs(record: Record) -> bool:
    return record.kind == "runs"


def _runs(record: Record) -> tuple[tuple[str, str], int]:
    return (record.job_type or "", record.job_name or ""), record.at or 0


def _same(number: int) -> int:
    return number

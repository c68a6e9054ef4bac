"""What the names of datasets mean in a merge, and how often its jobs ran: for the load."""

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

from lineage_merge.infra.engine.rows import Rows
from lineage_merge.merge.alias_resolution import Aliases
from lineage_merge.merge.records import Record
from lineage_merge.model.elements import JobKey

# `how` a merge knows it: a location has its own name, as no rule knows it; a rule knows the location, which
# holds for every DAG; by another part of this DAG's configuration; a source or a catalog knows it.
OWN, EVERYWHERE, CONFIGURED, ALIAS = "own", "everywhere", "configured", "alias"


class IdentityRow(NamedTuple):
    """A name (`other`) and what it means, both as ids, and `how` that is known."""

    other: str
    means: str
    how: str


def identities(records: Rows[Record], aliases: Aliases) -> Rows[IdentityRow]:
    """Each name and what it means. What a name is resolved to may be another dataset's alias itself."""
    known = {other: each[0] for other, each in aliases.candidates.items() if len(each) == 1}
    engine = records.engine
    resolved = records.filter(_is_resolved).map(_own)
    of_aliases = engine.rows((IdentityRow(*each, ALIAS) for each in known.items()), engine.parallelism)
    return resolved.distinct().map(partial(_meaning, known)).union(of_aliases).distinct()


def job_runs(records: Rows[Record]) -> dict[JobKey, int]:
    """How many successful runs of each job the sources read; of two sources, the smaller number counts."""
    found = records.filter(_is_runs).map(_runs).combine(_same, min, min).collect()
    return {JobKey(*key): number for key, number in found}


def _is_resolved(record: Record) -> bool:
    return record.kind == "resolved"


def _own(record: Record) -> IdentityRow:
    other, means = str(record.source), str(record.target)
    how = OWN if other == means else EVERYWHERE if record.at == 1 else CONFIGURED
    return IdentityRow(other, means, how)


def _meaning(known: Mapping[str, str], row: IdentityRow) -> IdentityRow:
    return row._replace(means=known.get(row.means, row.means))


def _is_runs(record: Record) -> bool:
    return record.kind == "runs"


def _runs(record: Record) -> tuple[tuple[str, str], int]:
    return (record.job_type or "", record.job_name or ""), record.at or 0


def _same(number: int) -> int:
    return number

"""Temporary datasets left out: what feeds them feeds what they feed, and `via` names them.

A dataset is left out when a glob matches its path, or when one job writes it and no run but the one that
wrote it reads it. One that nothing feeds, or that feeds nothing, is no hop between others: it stays.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from typing import NamedTuple

from lineage_merge.config import Merge
from lineage_merge.infra.engine.rows import Rows, Shared
from lineage_merge.merge.dataset_resolver import path_of
from lineage_merge.merge.identity_rules import is_generated
from lineage_merge.merge.path_contraction import Moved, components, through
from lineage_merge.merge.records import Record
from lineage_merge.model.elements import DatasetName, decode

# The mark, among the sets of a `feeds` record, of a source that the same run had written before.
RUN_LOCAL = "run_local"

_MOVED = frozenset({"feeds", "writes", "feeds_column", "influences"})
_LINKS = frozenset({"feeds", "feeds_column", "influences"})


class Hop(NamedTuple):
    """A dataset to leave out: its path as `via` names it, and the part of the graph that it belongs to."""

    path: str
    part: str


@dataclass(frozen=True, slots=True)
class Folded:
    """The records without temporary datasets; `hops` are the ids of those."""

    records: Rows[Record]
    hops: frozenset[str]


@dataclass(slots=True)
class _Uses:
    """How records use one dataset. `jobs`: two stand for several; `is_own`: by marked reads only."""

    is_source: bool = False
    is_target: bool = False
    jobs: set[tuple[str | None, str | None]] = field(default_factory=set)
    is_own: bool = True
    is_read: bool = False
    is_written: bool = False

    @property
    def is_between(self) -> bool:
        return self.is_source and self.is_target

    @property
    def is_run_local(self) -> bool:
        """Whether one job writes it, and reads it only after the same run has written it."""
        return len(self.jobs) == 1 and self.is_own and self.is_read and self.is_written


def fold(resolved: Rows[Record], settings: Merge) -> Folded | None:
    """Leave out what the settings ask for; None where there is nothing to leave out.

    In `resolved` each dataset has the id that counts.
    """
    if not settings.collapse_datasets and not settings.collapse_run_local:
        return None
    resolved = resolved.keep()
    moved = resolved.filter(_is_moved)
    used = moved.flat_map(_uses).combine(_create, _add, _merge)
    found = dict(
        used.flat_map(partial(_temporary, settings.collapse_datasets, settings.collapse_run_local)).collect()
    )
    if not found:
        return None
    engine = resolved.engine
    pairs = moved.map_partitions(partial(_pairs, engine.share(frozenset(found)))).distinct().collect()
    parts = components(pairs)
    hops = engine.share({each: Hop(path, parts.get(each, each)) for each, path in found.items()})
    lasting = resolved.map_partitions(partial(_lasting, hops))
    links = moved.map_partitions(partial(_links, hops)).group(_part, _through)
    return Folded(lasting.union(links), frozenset(found))


def _is_moved(record: Record) -> bool:
    return record.kind in _MOVED


def _uses(record: Record) -> Iterator[tuple[str, _Uses]]:
    job = (record.job_type, record.job_name)
    is_between = record.source != record.target
    if record.kind == "feeds":
        is_own = "true" in record.sets.get(RUN_LOCAL, ())
        yield str(record.source), _Uses(is_source=is_between, jobs={job}, is_own=is_own, is_read=True)
        yield str(record.target), _Uses(is_target=is_between, jobs={job}, is_written=True)
    elif record.kind == "writes":
        yield str(record.target), _Uses(jobs={job}, is_written=True)


def _create(uses: _Uses) -> _Uses:
    return uses


def _add(one: _Uses, other: _Uses) -> _Uses:
    return _merge(one, other)


def _merge(one: _Uses, other: _Uses) -> _Uses:
    one.is_source = one.is_source or other.is_source
    one.is_target = one.is_target or other.is_target
    if len(one.jobs) < 2:
        one.jobs |= other.jobs
    one.is_own = one.is_own and other.is_own
    one.is_read = one.is_read or other.is_read
    one.is_written = one.is_written or other.is_written
    return one


def _temporary(globs: tuple[str, ...], run_local: bool, used: tuple[str, _Uses]) -> Iterator[tuple[str, str]]:
    identifier, uses = used
    if not uses.is_between:
        return
    path = path_of_id(identifier)
    # A folder is below itself: the last segment of s3://b/tmp/<generated> is no part of a name.
    is_temporary = any(fnmatchcase(each, glob) for each in (path, f"{path}/") for glob in globs)
    if is_temporary or (run_local and uses.is_run_local):
        yield identifier, "/".join(part for part in path.split("/") if not is_generated(part))


def path_of_id(identifier: str) -> str:
    """``s3://lake/tmp/x`` of the dataset id ``dev|s3://lake|tmp/x``."""
    _, namespace, name = (decode(part) for part in identifier.split("|", 2))
    return path_of(DatasetName(namespace, name))


def _pairs(hops: Shared[frozenset[str]], records: Iterable[Record]) -> Iterator[tuple[str, str]]:
    """Temporary datasets that lead to each other."""
    known = hops.value
    for record in records:
        if record.kind != "writes" and record.source in known and record.target in known:
            yield str(record.source), str(record.target)


def _lasting(hops: Shared[Mapping[str, Hop]], records: Iterable[Record]) -> Iterator[Record]:
    known = hops.value
    return (each for each in records if each.source not in known and each.target not in known)


def _links(
    hops: Shared[Mapping[str, Hop]], records: Iterable[Record]
) -> Iterator[tuple[Hop | None, Hop | None, Record]]:
    """Records that begin or end at temporary datasets, with those: source and target."""
    known = hops.value
    for record in records:
        if record.kind in _LINKS:
            out_of, into = known.get(record.source or ""), known.get(record.target or "")
            if out_of or into:
                yield out_of, into, record


def _part(link: tuple[Hop | None, Hop | None, Record]) -> str:
    hop = link[1] or link[0]
    return hop.part if hop else ""


def _through(_part: str, links: Iterable[tuple[Hop | None, Hop | None, Record]]) -> Iterator[Record]:
    """What leads from lasting datasets to lasting ones through temporary ones of one part."""
    for each in through(_moved(*link) for link in links):
        job_type, job_name = each.job
        yield Record(
            each.kind,
            each.source,
            each.target,
            each.source_column,
            each.target_column,
            job_type,
            job_name,
            properties=dict(each.properties),
            sets={name: list(values) for name, values in each.sets.items()},
        )


def _moved(out_of: Hop | None, into: Hop | None, record: Record) -> Moved:
    return Moved(
        record.kind,
        (record.job_type or "", record.job_name or ""),
        str(record.source),
        str(record.target),
        record.source_column,
        record.target_column,
        record.properties,
        record.sets,
        out_of and out_of.path,
        into and into.path,
    )

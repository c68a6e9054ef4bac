"""Collapse of temporary datasets: their sources feed their targets directly, and `via` lists them.

A dataset is collapsed if a glob matches its path, or if a single job writes it and only the run that wrote
it reads it. A dataset without a source or without a target is not intermediate: it remains.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from operator import itemgetter
from typing import NamedTuple

from lineage_merge.config import Merge
from lineage_merge.infra.engine.rows import Rows, Shared
from lineage_merge.merge.identity_rules import is_generated
from lineage_merge.merge.path_contraction import HopLink, components, contract_paths
from lineage_merge.merge.property_rows import DATASET_FIELDS
from lineage_merge.model.elements import DatasetName, Feeds, JobKey, Writes, decode, path_of
from lineage_merge.model.records import LINKS, ElementRecord, LinkRecord


class Hop(NamedTuple):
    """A dataset to collapse: its path in `via`, and the connected component that it belongs to."""

    path: str
    component: str


@dataclass(frozen=True, slots=True)
class Collapsed:
    """The records without temporary datasets; `hops` are the ids of these datasets."""

    records: Rows[ElementRecord]
    hops: frozenset[str]


@dataclass(slots=True)
class _Uses:
    """How records use one dataset. `jobs`: at most two; `is_own`: all reads are marked as run-local."""

    is_source: bool = False
    is_target: bool = False
    jobs: set[JobKey] = field(default_factory=set)
    is_own: bool = True
    is_read: bool = False
    is_written: bool = False

    @property
    def is_between(self) -> bool:
        return self.is_source and self.is_target

    @property
    def is_run_local(self) -> bool:
        """Whether a single job writes it, and reads it only after the same run has written it."""
        return len(self.jobs) == 1 and self.is_own and self.is_read and self.is_written


def collapse(resolved: Rows[ElementRecord], settings: Merge) -> Collapsed | None:
    """Collapse the datasets that the settings select; None if there are none.

    In `resolved` each dataset has its canonical id.
    """
    if not settings.collapse_datasets and not settings.collapse_run_local:
        return None
    resolved = resolved.cache()
    used = resolved.flat_map(_uses).reduce_by_key(_merge)
    temporary = dict(
        used.flat_map(partial(_temporary, settings.collapse_datasets, settings.collapse_run_local)).collect()
    )
    if not temporary:
        return None
    engine = resolved.engine
    links = resolved.map_partitions(_links)
    pairs = links.map_partitions(partial(_pairs, engine.share(frozenset(temporary)))).distinct().collect()
    component_of = components(pairs)
    hops = engine.share({hop: Hop(path, component_of.get(hop, hop)) for hop, path in temporary.items()})
    remaining = resolved.map_partitions(partial(_remaining, hops))
    contracted: Rows[ElementRecord] = links.map_partitions(partial(_links_of_hops, hops)).group(
        itemgetter(0), _contract
    )
    return Collapsed(remaining.union(contracted), frozenset(temporary))


def _uses(record: ElementRecord) -> Iterator[tuple[str, _Uses]]:
    match record:
        case Feeds(job, source, target, is_run_local=is_own):
            yield source, _Uses(is_source=source != target, jobs={job}, is_own=is_own, is_read=True)
            yield target, _Uses(is_target=source != target, jobs={job}, is_written=True)
        case Writes(job, target):
            yield target, _Uses(jobs={job}, is_written=True)


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
    # "s3://b/tmp/*" includes the folder itself: the generated last segment is not part of its name.
    is_temporary = any(fnmatchcase(spelling, glob) for spelling in (path, f"{path}/") for glob in globs)
    if is_temporary or (run_local and uses.is_run_local):
        yield identifier, "/".join(part for part in path.split("/") if not is_generated(part))


def path_of_id(identifier: str) -> str:
    """Return ``s3://lake/tmp/x`` for the dataset id ``dev|s3://lake|tmp/x``."""
    _, namespace, name = (decode(part) for part in identifier.split("|", 2))
    return path_of(DatasetName(namespace, name))


def _links(records: Iterable[ElementRecord]) -> Iterator[LinkRecord]:
    return (record for record in records if isinstance(record, LINKS))


def _pairs(hops: Shared[frozenset[str]], records: Iterable[LinkRecord]) -> Iterator[tuple[str, str]]:
    """Yield pairs of temporary datasets that are connected."""
    known = hops.value
    for record in records:
        if record.source in known and record.target in known:
            yield record.source, record.target


def _remaining(hops: Shared[Mapping[str, Hop]], records: Iterable[ElementRecord]) -> Iterator[ElementRecord]:
    known = hops.value
    for record in records:
        if not any(getattr(record, name) in known for name in DATASET_FIELDS[type(record)]):
            yield record


def _links_of_hops(
    hops: Shared[Mapping[str, Hop]], records: Iterable[LinkRecord]
) -> Iterator[tuple[str, HopLink[LinkRecord]]]:
    """Yield the records that start or end at temporary datasets, with their component."""
    known = hops.value
    for record in records:
        out_of, into = known.get(record.source), known.get(record.target)
        hop = into or out_of
        if hop:
            yield hop.component, HopLink(record, out_of and out_of.path, into and into.path)


def _contract(_component: str, links: list[tuple[str, HopLink[LinkRecord]]]) -> Iterator[LinkRecord]:
    """Yield the edges between permanent datasets through the temporary ones of one component."""
    return contract_paths(link for _, link in links)

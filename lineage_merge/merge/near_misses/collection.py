"""Near misses of a merge: collects the datasets without producer and their counterparts from the merged rows.

On Spark the driver collects only the datasets that are read and never written, written ones with a similar
name, and the columns of pairs, all bounded.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from lineage_merge import naming
from lineage_merge.graph_format.schema import Row
from lineage_merge.infra.engine.rows import Rows, Shared
from lineage_merge.merge.dataset_uses import Kinds, Uses, dataset_uses
from lineage_merge.merge.flows import Flows
from lineage_merge.merge.near_misses.details import Details, DetailsOf, details_and_flows
from lineage_merge.merge.near_misses.fixes import fixes
from lineage_merge.merge.near_misses.names import parts_of
from lineage_merge.merge.near_misses.pairs import OpenDataset, Pair, candidates, index_keys, pairs
from lineage_merge.merge.near_misses.settings import Settings
from lineage_merge.merge.report import NearMiss
from lineage_merge.model.elements import DBT_NAMESPACE, Problem, decode
from lineage_merge.model.errors import NamingError
from lineage_merge.sources import registry
from lineage_merge.sources.settings import NamespaceSetting

if TYPE_CHECKING:
    from lineage_merge.config import Config

# Datasets of each side: bounds the memory of the driver.
MAX_DATASETS = 20_000
MAX_NEAR_MISSES = 100
# Datasets of one namespace that are examined to confirm it.
_MAX_CONFIRMING = 1000
# Near misses that share fixes; more of them say nothing new.
_MAX_FIXED = 1000


class NearMisses(NamedTuple):
    """The near misses of a merge, best first, at most `MAX_NEAR_MISSES`, and notes about exceeded limits."""

    found: tuple[NearMiss, ...] = ()
    notes: tuple[Problem, ...] = ()


def near_misses(
    elements: Rows[Row],
    config: "Config",
    details_of: DetailsOf | None = None,
    uses: Rows[tuple[str, Uses]] | None = None,
) -> NearMisses:
    """Return the near misses among the rows of a merge, which are read several times: cache them.

    `details_of` returns the details of datasets, by default from the same rows: their columns, and how
    the configuration names them and other datasets. `uses`: the uses of all datasets, if they are known.
    """
    engine = elements.engine
    if uses is None:
        uses = dataset_uses(elements).cache()
    parts = uses.map_partitions(_without_producer).collect()
    unwritten, notes = _bounded([part.unwritten for part in parts], "without producer")
    if not unwritten:
        return NearMisses()
    keys = {key for each in unwritten for key in index_keys(parts_of(each.id))}
    shared_keys = engine.share(frozenset(keys))
    alike = uses.map_partitions(partial(_written_alike, shared_keys)).map_partitions(_first)
    written, more = _bounded(alike.collect(), "with similar names")
    found = candidates(unwritten, written)
    if not found:
        return NearMisses(notes=(*notes, *more))
    ids = frozenset(end.id for candidate in found for end in (candidate.read, candidate.written))
    confirming = _confirming(
        parts, {end.namespace for candidate in found for end in (candidate.read, candidate.written)}
    )
    if details_of is None:
        details, flows = details_and_flows(elements, ids, confirming)
    else:
        details, flows = details_of(ids, confirming), Flows.of(elements)
    selected = pairs(found, details.columns, flows.reaches)
    jobs = {each.id: each.jobs for each in (*unwritten, *written)}
    confirmed = frozenset(_namespace_of(each) for each in confirming - details.placed)
    settings = settings_of(config, jobs, confirmed, details)
    if len(selected) > MAX_NEAR_MISSES:
        best = f"only the best {MAX_NEAR_MISSES} of {len(selected):,} near misses are listed"
        notes = (*notes, Problem("notice", "near misses", "", best))
    return NearMisses(as_near_misses(selected, settings), (*notes, *more))


def as_near_misses(selected: list[Pair], settings: Settings) -> tuple[NearMiss, ...]:
    """Return the pairs with their fixes."""
    fix = fixes(selected[:_MAX_FIXED], settings)
    return tuple(
        NearMiss(
            each.written.id, each.read.id, each.score, each.evidence, *fix[each.read.id, each.written.id]
        )
        for each in selected[:MAX_NEAR_MISSES]
    )


def settings_of(
    config: "Config",
    jobs: Mapping[str, frozenset[str]],
    confirmed: frozenset[str],
    details: Details,
) -> Settings:
    """Return the parts of a configuration that decide names. `jobs`: of each dataset."""
    namespaces: list[NamespaceSetting] = []
    types_of_rules: set[str] = set()
    for source, parsed in registry.configured(config):
        namespaces += source.namespaces(parsed)
        if source.has_raw_uris:
            types_of_rules.update(source.job_types)
    return Settings(
        tuple(namespace._replace(namespace=_canonical(namespace.namespace)) for namespace in namespaces),
        config.merge.default_schemas,
        confirmed,
        frozenset(dataset for dataset, types in jobs.items() if types & types_of_rules),
        details.completed,
        details.directories,
        tuple(sorted(jobs)),
    )


def _canonical(namespace: str) -> str:
    try:
        return naming.canonical_namespace(namespace)
    except NamingError:
        return namespace


def _names(kinds: Kinds) -> frozenset[str]:
    return frozenset(map(str, kinds))


def _written_alike(keys: Shared[frozenset[str]], rows: Iterable[tuple[str, Uses]]) -> Iterator[OpenDataset]:
    wanted = keys.value
    for identifier, uses in rows:
        is_written = uses.writers and f"|{DBT_NAMESPACE}" not in identifier
        if is_written and not wanted.isdisjoint(index_keys(parts_of(identifier))):
            yield OpenDataset(identifier, _names(uses.writers | uses.readers), bool(uses.readers))


class _Listed(NamedTuple):
    """Datasets of a partition, those with the smallest ids, and the number of all."""

    datasets: list[OpenDataset]
    total: int


class _Reads(NamedTuple):
    """Datasets of a partition without producer, and by namespace those that another type of job writes."""

    unwritten: _Listed
    confirming: dict[str, list[str]]


def _without_producer(rows: Iterable[tuple[str, Uses]]) -> Iterator[_Reads]:
    confirming: dict[str, list[str]] = defaultdict(list)

    def unwritten() -> Iterator[OpenDataset]:
        for identifier, uses in rows:
            if uses.readers and not uses.writers and not uses.feeders:
                yield OpenDataset(identifier, _names(uses.readers))
            elif _is_confirming(uses):
                of_namespace = confirming[_namespace_of(identifier)]
                of_namespace.append(identifier)
                if len(of_namespace) >= 2 * _MAX_CONFIRMING:
                    of_namespace[:] = sorted(of_namespace)[:_MAX_CONFIRMING]

    (listed,) = _first(unwritten())
    yield _Reads(listed, dict(confirming))


def _confirming(parts: Iterable[_Reads], namespaces: set[str]) -> frozenset[str]:
    """Return datasets in these namespaces that one type of job writes and another one reads."""
    found: dict[str, list[str]] = defaultdict(list)
    for part in parts:
        for namespace in namespaces & part.confirming.keys():
            found[namespace] += part.confirming[namespace]
    return frozenset(identifier for ids in found.values() for identifier in sorted(ids)[:_MAX_CONFIRMING])


def _namespace_of(identifier: str) -> str:
    return decode(identifier.split("|", 2)[1])


def _is_confirming(uses: Uses) -> bool:
    """Whether one type of job writes a dataset and another one reads it."""
    writers, readers = ({kind.job_type for kind in kinds} for kinds in (uses.writers, uses.readers))
    return bool(writers and readers - writers)


def _bounded(parts: Iterable[_Listed], what: str) -> tuple[list[OpenDataset], tuple[Problem, ...]]:
    """Return datasets up to the limit, the smallest ids, with a note if there are more."""
    listed = list(parts)
    found = sorted((dataset for part in listed for dataset in part.datasets), key=_id)
    total = sum(part.total for part in listed)
    if total <= MAX_DATASETS:
        return found, ()
    note = f"only the first {MAX_DATASETS:,} of {total:,} datasets {what} were compared"
    return found[:MAX_DATASETS], (Problem("notice", "near misses", "", note),)


def _id(dataset: OpenDataset) -> str:
    return dataset.id


def _first(rows: Iterable[OpenDataset]) -> Iterator[_Listed]:
    found: list[OpenDataset] = []
    total = 0
    for row in rows:
        total += 1
        found.append(row)
        if len(found) >= 2 * MAX_DATASETS:
            found = sorted(found, key=_id)[:MAX_DATASETS]
    yield _Listed(sorted(found, key=_id)[:MAX_DATASETS], total)

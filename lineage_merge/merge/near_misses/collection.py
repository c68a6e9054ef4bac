"""Near misses of a merge: collects the datasets without producer and their counterparts from the merged rows.

On Spark the driver collects only the datasets that are read and never written, written ones with a similar
name, and the columns of pairs, all bounded.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from heapq import nsmallest
from itertools import count, islice
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from lineage_merge import naming
from lineage_merge.graph_format.schema import DATASET_LABELS, Row
from lineage_merge.infra.engine.rows import Rows, Shared
from lineage_merge.merge.dataset_resolver import DEFAULT, SPARK_CATALOG
from lineage_merge.merge.dataset_uses import Flows, Kinds, Uses, dataset_uses, pack_flow
from lineage_merge.merge.declared_dashboards import is_declared
from lineage_merge.merge.identity_rules import REDSHIFT_TEMPORARY
from lineage_merge.merge.near_misses.dashboards import pair_dashboards
from lineage_merge.merge.near_misses.dismissals import Dismissals, as_dismissed
from lineage_merge.merge.near_misses.fixes import Fix, Settings, fixes
from lineage_merge.merge.near_misses.names import parts_of
from lineage_merge.merge.near_misses.pairs import OpenDataset, Pair, candidates, index_keys, pairs
from lineage_merge.merge.report import Dismissed, NearMiss
from lineage_merge.model.elements import DBT_NAMESPACE, Problem, column_of, decode
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
# Columns of a dataset.
MAX_COLUMNS = 500


@dataclass(frozen=True, slots=True)
class Details:
    """Properties of datasets by id: their columns (in lower case), and how the configuration names them.

    `completed`: the short name that a default schema completes. `directories`: the id of a temporary
    directory that a rule resolves to the dataset. `placed`: datasets that have another namespace without
    a rule. `tables`: the full names of tables.
    """

    columns: dict[str, set[str]] = field(default_factory=dict)
    completed: dict[str, str] = field(default_factory=dict)
    directories: dict[str, str] = field(default_factory=dict)
    placed: set[str] = field(default_factory=set)
    tables: dict[str, str] = field(default_factory=dict)

    def add(self, row: Row) -> None:
        """Add a `has_column` edge or a dataset."""
        if row["label"] == "has_column":
            self.columns.setdefault(row["from"], set()).add(_column(row))
            return
        if row["label"] == "table" and row.get("qualified_name"):
            self.tables[row["id"]] = row["qualified_name"]
        for resolved_name in row.get("resolved_names") or ():
            _, rule, namespace, name = resolved_name.split("|")
            if rule not in (DEFAULT, SPARK_CATALOG) and namespace != row["id"].split("|", 2)[1]:
                self.placed.add(row["id"])
            if rule == DEFAULT:
                self.completed[row["id"]] = decode(name)
            elif rule == REDSHIFT_TEMPORARY:
                directory = f"{row['id'].partition('|')[0]}|{namespace}|{name}"
                self.completed[row["id"]] = parts_of(directory).leaf
                self.directories[row["id"]] = directory


# Returns the columns of datasets, and the names of these and of other datasets.
DetailsOf = Callable[[frozenset[str], frozenset[str]], Details]


class NearMisses(NamedTuple):
    """The near misses of a merge, best first, at most `MAX_NEAR_MISSES`, and those that are dismissed.

    `notes`: exceeded limits, and dismissals of nothing.
    """

    found: tuple[NearMiss, ...] = ()
    notes: tuple[Problem, ...] = ()
    dismissed: tuple[Dismissed, ...] = ()


def find_near_misses(
    elements: Rows[Row],
    config: "Config",
    details_of: DetailsOf | None = None,
    uses: Rows[tuple[str, Uses]] | None = None,
) -> NearMisses:
    """Return the near misses among the rows of a merge, which are read several times: cache them.

    `details_of` returns the details of datasets, by default from the same rows: their columns, and how
    the configuration names them and other datasets; with it, the rows are those of a whole environment.
    `uses`: the uses of all datasets, if they are known.
    """
    dismissals = Dismissals(config.merge.dismissed_near_misses, datetime.now(UTC).date())
    selected, settings, notes = _pairs(elements, config, details_of, uses, dismissals)
    applied = [(pair, dismissals.find(pair)) for pair in selected]
    reported = [pair for pair, dismissal in applied if dismissal is None]
    notes = (*notes, *dismissals.report_unmatched(selected, is_environment=details_of is not None))
    if len(reported) > MAX_NEAR_MISSES:
        best = f"only the best {MAX_NEAR_MISSES} of {len(reported):,} near misses are listed"
        notes = (*notes, Problem("notice", "near misses", "", best))
    dismissed = (as_dismissed(pair, dismissal) for pair, dismissal in applied if dismissal)
    return NearMisses(
        as_near_misses(reported, settings, dismissals), notes, tuple(islice(dismissed, MAX_NEAR_MISSES))
    )


def _pairs(
    elements: Rows[Row],
    config: "Config",
    details_of: DetailsOf | None,
    uses: Rows[tuple[str, Uses]] | None,
    dismissals: Dismissals,
) -> tuple[list[Pair], Settings, tuple[Problem, ...]]:
    """Return pairs, dismissed ones included, what decides their fixes, and notes about exceeded limits."""
    engine = elements.engine
    if uses is None:
        uses = dataset_uses(elements).cache()
    parts = uses.map_partitions(_find_without_producer).collect()
    unwritten, notes = _limit([part.unwritten for part in parts], "without producer")
    dashboards = pair_dashboards(elements) if any(part.has_declared for part in parts) else []
    if not unwritten:
        return dashboards, Settings(), ()
    keys = {key for dataset in unwritten for key in index_keys(parts_of(dataset.id))}
    shared_keys = engine.share(frozenset(keys))
    alike = uses.map_partitions(partial(_find_written_alike, shared_keys)).map_partitions(_first)
    written, more = _limit(alike.collect(), "with similar names")
    found_candidates = candidates(unwritten, written)
    if not found_candidates:
        return dashboards, Settings(), (*notes, *more)
    ids = frozenset(end.id for candidate in found_candidates for end in (candidate.read, candidate.written))
    confirming = _confirming(
        parts,
        {end.namespace for candidate in found_candidates for end in (candidate.read, candidate.written)},
    )
    if details_of is None:
        details, flows = details_and_flows(elements, ids, confirming)
    else:
        details, flows = details_of(ids, confirming), Flows.from_elements(elements)
    selected = pairs(found_candidates, details.columns, flows.reaches, details.tables, dismissals.applies)
    jobs = {dataset.id: dataset.jobs for dataset in (*unwritten, *written)}
    confirmed = frozenset(_namespace_of(dataset) for dataset in confirming - details.placed)
    settings = settings_of(config, jobs, confirmed, details)
    return [*selected, *dashboards], settings, (*notes, *more)


def as_near_misses(selected: list[Pair], settings: Settings, dismissals: Dismissals) -> tuple[NearMiss, ...]:
    """Return the pairs with their fixes, and notes about dismissals that no longer apply."""
    # The project of an exposure has its URL, no configuration.
    fix = fixes([pair for pair in selected[:_MAX_FIXED] if not is_declared(pair.read.id)], settings)
    return tuple(
        NearMiss(
            pair.written.id,
            pair.read.id,
            int(pair.score),
            pair.evidence,
            *fix.get(pair.ids, Fix()),
            dismissals.note(pair),
        )
        for pair in selected[:MAX_NEAR_MISSES]
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
    for source, parsed in registry.list_configured(config):
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


def _find_written_alike(
    keys: Shared[frozenset[str]], rows: Iterable[tuple[str, Uses]]
) -> Iterator[OpenDataset]:
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
    """Datasets of a partition without producer, and by namespace those that another type of job writes.

    `has_declared`: there are datasets that only dbt declares, such as exposures.
    """

    unwritten: _Listed
    confirming: dict[str, list[str]]
    has_declared: bool


def _find_without_producer(rows: Iterable[tuple[str, Uses]]) -> Iterator[_Reads]:
    confirming: dict[str, list[str]] = defaultdict(list)
    has_declared = False

    def find_unwritten() -> Iterator[OpenDataset]:
        nonlocal has_declared
        for identifier, uses in rows:
            has_declared = has_declared or is_declared(identifier)
            if uses.readers and not uses.writers and not uses.feeders:
                yield OpenDataset(identifier, _names(uses.readers))
            elif _is_confirming(uses):
                of_namespace = confirming[_namespace_of(identifier)]
                of_namespace.append(identifier)
                if len(of_namespace) >= 2 * _MAX_CONFIRMING:
                    of_namespace[:] = sorted(of_namespace)[:_MAX_CONFIRMING]

    (listed,) = _first(find_unwritten())
    yield _Reads(listed, dict(confirming), has_declared)


def _confirming(parts: Iterable[_Reads], namespaces: set[str]) -> frozenset[str]:
    """Return datasets in these namespaces that one type of job writes and another one reads."""
    by_namespace: dict[str, list[str]] = defaultdict(list)
    for part in parts:
        for namespace in namespaces & part.confirming.keys():
            by_namespace[namespace] += part.confirming[namespace]
    return frozenset(
        identifier for ids in by_namespace.values() for identifier in sorted(ids)[:_MAX_CONFIRMING]
    )


def _namespace_of(identifier: str) -> str:
    return decode(identifier.split("|", 2)[1])


def _is_confirming(uses: Uses) -> bool:
    """Whether one type of job writes a dataset and another one reads it."""
    writers, readers = ({kind.job_type for kind in kinds} for kinds in (uses.writers, uses.readers))
    return bool(writers and readers - writers)


def _limit(parts: Iterable[_Listed], what: str) -> tuple[list[OpenDataset], tuple[Problem, ...]]:
    """Return datasets up to the limit, the smallest ids, with a note if there are more."""
    listed = list(parts)
    datasets = sorted((dataset for part in listed for dataset in part.datasets), key=attrgetter("id"))
    total = sum(part.total for part in listed)
    if total <= MAX_DATASETS:
        return datasets, ()
    note = f"only the first {MAX_DATASETS:,} of {total:,} datasets {what} were compared"
    return datasets[:MAX_DATASETS], (Problem("notice", "near misses", "", note),)


def _first(rows: Iterable[OpenDataset]) -> Iterator[_Listed]:
    number = count()
    datasets = nsmallest(MAX_DATASETS, (row for row, _ in zip(rows, number, strict=False)), attrgetter("id"))
    yield _Listed(datasets, next(number))


_NAMES = ("label", "id", "qualified_name", "resolved_names")
# What one pass over the rows finds, by kind: the columns and the row of a dataset, the flows of a partition.
_Key = tuple[str, str | int]
_Found = set[str] | Row | bytes


def details_and_flows(
    elements: Rows[Row], ids: frozenset[str], others: frozenset[str]
) -> tuple[Details, Flows]:
    """Read the details of datasets, and the edges between all datasets, in one pass."""
    shared, named = elements.engine.share(ids), elements.engine.share(ids | others)
    inspected = elements.map_numbered_partitions(partial(_inspect, shared, named)).reduce_by_key(_add_found)
    details = Details()
    flows: list[bytes] = []
    for (_, key), value in inspected.collect():
        if isinstance(value, set):
            details.columns[str(key)] = _smallest(value)
        elif isinstance(value, bytes):
            flows.append(value)
        else:
            details.add(value)
    return details, Flows.unpack(flows)


def _column(row: Row) -> str:
    return column_of(row["to"])


def _inspect(
    ids: Shared[frozenset[str]], named: Shared[frozenset[str]], number: int, rows: Iterable[Row]
) -> Iterator[tuple[_Key, _Found]]:
    """Yield columns and names of `ids`, flows, and names of `named` that the configuration decides."""
    wanted, known = ids.value, named.value
    by_dataset: dict[str, set[str]] = defaultdict(set)
    flows = bytearray()
    for row in rows:
        label = row["label"]
        if label == "has_column":
            if row["from"] in wanted:
                columns = by_dataset[row["from"]]
                columns.add(_column(row))
                if len(columns) > 2 * MAX_COLUMNS:
                    by_dataset[row["from"]] = _smallest(columns)
        elif label == "feeds":
            pack_flow(flows, row)
        elif row["id"] in (known if row.get("resolved_names") else wanted) and label in DATASET_LABELS:
            yield ("names", row["id"]), {name: row[name] for name in _NAMES if name in row}
    yield ("flows", number), bytes(flows)
    for dataset, columns in by_dataset.items():
        yield ("columns", dataset), columns


def _smallest(columns: set[str]) -> set[str]:
    """Return a bounded number of columns, in any order of rows the same ones."""
    return columns if len(columns) <= MAX_COLUMNS else set(sorted(columns)[:MAX_COLUMNS])


def _add_found(one: _Found, other: _Found) -> _Found:
    if isinstance(one, set) and isinstance(other, set):
        return _smallest(one | other)
    raise TypeError("only columns are found in several partitions")

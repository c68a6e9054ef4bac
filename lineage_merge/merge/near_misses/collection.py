"""Near misses of a merge: collects the datasets without producer and their counterparts from the merged rows.

On Spark the driver collects only the datasets that are read and never written, written ones with a similar
name, and the columns of pairs, all bounded.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from lineage_merge import naming
from lineage_merge.graph_format.schema import Row
from lineage_merge.infra.engine.rows import Rows, Shared
from lineage_merge.merge.dataset_resolver import DEFAULT, SPARK_CATALOG
from lineage_merge.merge.flows import Flows
from lineage_merge.merge.identity_rules import REDSHIFT_TEMPORARY
from lineage_merge.merge.near_misses.fixes import fixes
from lineage_merge.merge.near_misses.names import parts_of
from lineage_merge.merge.near_misses.pairs import OpenDataset, Pair, candidates, index_keys, pairs
from lineage_merge.merge.near_misses.settings import NamespaceSetting, Settings
from lineage_merge.merge.report import NearMiss
from lineage_merge.model.elements import Problem, decode
from lineage_merge.model.errors import NamingError

if TYPE_CHECKING:
    from lineage_merge.config import Config

# Datasets of each side: bounds the memory of the driver.
MAX_DATASETS = 20_000
MAX_COLUMNS = 500
MAX_NEAR_MISSES = 100
# Datasets of one namespace that are examined to confirm it.
_MAX_CONFIRMING = 1000
# Near misses that share fixes; more of them say nothing new.
_MAX_FIXED = 1000
_EXPOSURES = "dbt://"


class NearMisses(NamedTuple):
    """The near misses of a merge, best first, at most `MAX_NEAR_MISSES`, and notes about exceeded limits."""

    found: tuple[NearMiss, ...] = ()
    notes: tuple[Problem, ...] = ()


@dataclass(slots=True)
class _Uses:
    """Jobs that read and write a dataset; its own input does not count as a reader."""

    readers: set[str] = field(default_factory=set)
    writers: set[str] = field(default_factory=set)
    is_fed: bool = False

    def __reduce__(self) -> tuple[type["_Uses"], tuple[set[str], set[str], bool]]:
        return _Uses, (self.readers, self.writers, self.is_fed)


@dataclass(frozen=True, slots=True)
class Details:
    """Properties of datasets by id: their columns (in lower case), and how the configuration names them.

    `completed`: the short name that a default schema completes. `directories`: the id of a temporary
    directory that a rule resolves to the dataset. `placed`: datasets that have another namespace without
    a rule.
    """

    columns: dict[str, set[str]] = field(default_factory=dict)
    completed: dict[str, str] = field(default_factory=dict)
    directories: dict[str, str] = field(default_factory=dict)
    placed: set[str] = field(default_factory=set)

    def add(self, row: Row) -> None:
        """Add a `has_column` edge or a dataset."""
        if row["label"] == "has_column":
            self.columns.setdefault(row["from"], set()).add(_column(row))
            return
        for each in row.get("resolved_names") or ():
            _, rule, namespace, name = each.split("|")
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


def near_misses(elements: Rows[Row], config: "Config", details_of: DetailsOf | None = None) -> NearMisses:
    """Return the near misses among the rows of a merge, which are read several times: cache them.

    `details_of` returns the details of datasets, by default from the same rows: their columns, and how
    the configuration names them and other datasets.
    """
    engine = elements.engine
    uses = elements.flat_map(_uses).combine(_itself, _add, _add).cache()
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
    ids = frozenset(end.id for each in found for end in (each.read, each.written))
    confirming = _confirming(parts, {end.namespace for each in found for end in (each.read, each.written)})
    details = (details_of or partial(_details_of, elements))(ids, confirming)
    selected = pairs(found, details.columns, Flows.of(elements).reaches)
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
    found = [
        NamespaceSetting(
            f"dbt[{index}].namespace", each.namespace, "dbt", {"manifest": naming.redact(each.manifest)}
        )
        for index, each in enumerate(config.dbt)
    ]
    for index, files in enumerate(config.sources.get("sql", ())):
        entry = {"path": naming.redact(files.path), "dialect": files.dialect}
        found.append(NamespaceSetting(f"sql[{index}].namespace", files.namespace, "sql", entry))
    hive = config.sources.get("hive")
    if hive:
        found.append(NamespaceSetting("hive.metastore", hive.namespace, "hive", {}, "metastore"))
    by_jdbc = (
        frozenset(each for each, types in jobs.items() if "spark" in types) if config.spline else frozenset()
    )
    return Settings(
        tuple(each._replace(namespace=_canonical(each.namespace)) for each in found),
        config.merge.default_schemas,
        _canonical(hive.metastore) if hive and hive.metastore else "",
        hive.spark_catalogs if hive else (),
        confirmed,
        by_jdbc,
        details.completed,
        details.directories,
        tuple(sorted(jobs)),
    )


def _canonical(namespace: str) -> str:
    try:
        return naming.canonical_namespace(namespace)
    except NamingError:
        return namespace


def _uses(row: Row) -> Iterator[tuple[str, _Uses]]:
    label = row["label"]
    if label == "feeds" and row["from"] != row["to"]:
        job = _job(row)
        yield row["from"], _Uses(readers={job})
        yield row["to"], _Uses(is_fed=True)
    elif label == "writes":
        yield row["to"], _Uses(writers={_job(row)})


def _job(row: Row) -> str:
    """Return the type of an edge's job, dbt's with the project: ``dbt:tickit``."""
    if row["job_type"] != "dbt":
        return str(row["job_type"])
    project, slash, _ = row["job_name"].partition("/")
    if not slash:
        project = row["job_name"].split(".", 2)[1] if "." in row["job_name"] else ""
    return f"dbt:{project.partition('@')[0]}"


def _itself(uses: _Uses) -> _Uses:
    return uses


def _add(one: _Uses, other: _Uses) -> _Uses:
    one.readers |= other.readers
    one.writers |= other.writers
    one.is_fed = one.is_fed or other.is_fed
    return one


def _written_alike(keys: Shared[frozenset[str]], rows: Iterable[tuple[str, _Uses]]) -> Iterator[OpenDataset]:
    wanted = keys.value
    for identifier, uses in rows:
        is_written = uses.writers and f"|{_EXPOSURES}" not in identifier
        if is_written and not wanted.isdisjoint(index_keys(parts_of(identifier))):
            yield OpenDataset(identifier, frozenset(uses.writers | uses.readers), bool(uses.readers))


class _Listed(NamedTuple):
    """Datasets of a partition, those with the smallest ids, and the number of all."""

    datasets: list[OpenDataset]
    total: int


class _Reads(NamedTuple):
    """Datasets of a partition without producer, and by namespace those that another type of job writes."""

    unwritten: _Listed
    confirming: dict[str, list[str]]


def _without_producer(rows: Iterable[tuple[str, _Uses]]) -> Iterator[_Reads]:
    confirming: dict[str, list[str]] = defaultdict(list)

    def unwritten() -> Iterator[OpenDataset]:
        for identifier, uses in rows:
            if uses.readers and not uses.writers and not uses.is_fed:
                yield OpenDataset(identifier, frozenset(uses.readers))
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
    return frozenset(each for ids in found.values() for each in sorted(ids)[:_MAX_CONFIRMING])


def _namespace_of(identifier: str) -> str:
    return decode(identifier.split("|", 2)[1])


def _is_confirming(uses: _Uses) -> bool:
    """Whether one type of job writes a dataset and another one reads it."""
    writers, readers = ({job.partition(":")[0] for job in jobs} for jobs in (uses.writers, uses.readers))
    return bool(writers and readers - writers)


def _bounded(parts: Iterable[_Listed], what: str) -> tuple[list[OpenDataset], tuple[Problem, ...]]:
    """Return datasets up to the limit, the smallest ids, with a note if there are more."""
    listed = list(parts)
    found = sorted((each for part in listed for each in part.datasets), key=_id)
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
    for each in rows:
        total += 1
        found.append(each)
        if len(found) >= 2 * MAX_DATASETS:
            found = sorted(found, key=_id)[:MAX_DATASETS]
    yield _Listed(sorted(found, key=_id)[:MAX_DATASETS], total)


def _details_of(elements: Rows[Row], ids: frozenset[str], others: frozenset[str]) -> Details:
    shared = elements.engine.share(ids)
    columns = elements.map_partitions(partial(_columns, shared)).combine(
        _smallest, _add_columns, _add_columns
    )
    details = Details(dict(columns.collect()))
    named = elements.engine.share(ids | others)
    for row in elements.map_partitions(partial(_completed, named)).collect():
        details.add(row)
    return details


def _column(row: Row) -> str:
    return str(row["to"]).rpartition("|")[2]


def _columns(ids: Shared[frozenset[str]], rows: Iterable[Row]) -> Iterator[tuple[str, set[str]]]:
    wanted = ids.value
    found: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        if row["label"] == "has_column" and row["from"] in wanted:
            columns = found[row["from"]]
            columns.add(_column(row))
            if len(columns) > 2 * MAX_COLUMNS:
                found[row["from"]] = _smallest(columns)
    yield from found.items()


def _smallest(columns: set[str]) -> set[str]:
    """Return a bounded number of columns, in any order of rows the same ones."""
    return columns if len(columns) <= MAX_COLUMNS else set(sorted(columns)[:MAX_COLUMNS])


def _add_columns(one: set[str], other: set[str]) -> set[str]:
    return _smallest(one | other)


def _completed(ids: Shared[frozenset[str]], rows: Iterable[Row]) -> Iterator[Row]:
    """Yield the datasets of which the configuration completes or replaces names."""
    wanted = ids.value
    for row in rows:
        if row.get("resolved_names") and row["id"] in wanted:
            yield {each: row[each] for each in ("label", "id", "resolved_names")}

"""What a query log says, as plain sets that tests compare completely."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lineage_merge.infra.engine.rows import Engine
from lineage_merge.merge import dataset_resolver
from lineage_merge.model.elements import (
    Column,
    Count,
    Dataset,
    Feeds,
    FeedsColumn,
    Influences,
    ObservedLog,
    dot_path,
)
from lineage_merge.model.records import Record
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources.registry import QUERY_LOG
from tests.record_reading import jobs_of, problems_of, records_of, runs_of, writes_of

# The fingerprint at the end of a job's name.
_HASH = re.compile(r" #[0-9a-f]{8}\Z")
NAMESPACE = "redshift://wh.us-east-1:5439"


@dataclass(frozen=True)
class LogLineage:
    """Edges by short names: tables without namespace and database, paths as they are."""

    records: tuple[Record, ...]

    @property
    def feeds(self) -> set[str]:
        """``job: source > target``."""
        return {
            f"{_HASH.sub(' #', each.job.name)}: {short(each.source)} > {short(each.target)}"
            for each in records_of(Feeds, self.records)
        }

    @property
    def via(self) -> dict[str, list[str]]:
        """Temporary tables between, by edge."""
        return {
            f"{short(each.source)} > {short(each.target)}": list(each.sets["via"])
            for each in records_of(Feeds, self.records)
            if "via" in each.sets
        }

    @property
    def without_columns(self) -> set[str]:
        """Edges whose columns are unknown: ``source > target``."""
        return {
            f"{short(each.source)} > {short(each.target)}"
            for each in records_of(Feeds, self.records)
            if each.properties.get("column_lineage") == "unavailable"
        }

    @property
    def columns(self) -> set[str]:
        """``source#column > target#column KINDS``."""
        return {
            f"{short(each.source)}#{dot_path(each.source_column)} > {short(each.target)}#{each.target_column}"
            f" {','.join(each.transformations)}"
            for each in records_of(FeedsColumn, self.records)
        }

    @property
    def influences(self) -> set[str]:
        """``source#column > target KINDS``."""
        return {
            f"{short(each.source)}#{each.source_column} > {short(each.target)}"
            f" {','.join(each.transformations)}"
            for each in records_of(Influences, self.records)
        }

    @property
    def expressions(self) -> set[str]:
        """The expressions of all columns."""
        return {each.expression for each in records_of(FeedsColumn, self.records)} - {""}

    @property
    def writes(self) -> set[tuple[str, str]]:
        """Jobs and what they write."""
        return {(_HASH.sub(" #", job), short(f"dev|{target}")) for job, target in writes_of(self.records)}

    @property
    def reads(self) -> dict[str, int]:
        """How often ``dataset`` or ``dataset#column`` was read."""
        return {name: int(facts["read_count"]) for name, facts, _ in self._usage()}

    @property
    def last_reads(self) -> dict[str, int]:
        """When each was read last."""
        return {name: int(facts["last_read_at"]) for name, facts, _ in self._usage()}

    @property
    def readers(self) -> dict[str, list[str]]:
        """Who read it."""
        return {name: list(readers) for name, _, readers in self._usage()}

    def _usage(self) -> Iterator[tuple[str, Mapping[str, Any], Sequence[str]]]:
        for dataset in records_of(Dataset, self.records):
            if "read_count" in dataset.properties:
                yield short(dataset.ref), dataset.properties, dataset.sets["readers"]
        for column in records_of(Column, self.records):
            if "read_count" in column.properties:
                name = f"{short(column.ref)}#{dot_path(column.name)}"
                yield name, column.properties, column.sets["readers"]

    @property
    def observed(self) -> dict[str, tuple[int, int]]:
        """The time for which the statements of each warehouse were read."""
        return {
            each.namespace: (each.observed_from, each.observed_until)
            for each in records_of(ObservedLog, self.records)
        }

    @property
    def jobs(self) -> dict[str, Mapping[str, str]]:
        """The facts of jobs by name."""
        return {_HASH.sub(" #", name): facts for name, facts in jobs_of(self.records).items()}

    @property
    def runs(self) -> dict[str, int]:
        """The numbers of successful runs."""
        return {_HASH.sub(" #", name): number for name, number in runs_of(self.records).items()}

    @property
    def counts(self) -> dict[str, int]:
        """The numbers of items that were read."""
        counts: Counter[str] = Counter()
        for each in records_of(Count, self.records):
            counts[each.what] += each.number
        return dict(counts)

    @property
    def problems(self) -> set[tuple[str, str, str, str]]:
        """All problems."""
        return problems_of(self.records)


def short(dataset: str) -> str:
    """``mart.sales`` or ``s3://bucket/path``."""
    _, namespace, name = dataset.split("|", 2)
    return name.removeprefix("dw.") if namespace == NAMESPACE else f"{namespace}/{name}"


def read_log(engine: Engine, path: Path | str, **more: Any) -> LogLineage:
    """Read a log."""
    entry = {"format": "redshift", "path": str(path), "namespace": NAMESPACE, **more}
    return read_entries(engine, [entry])


def read_entries(engine: Engine, entries: Iterable[Mapping[str, Any]]) -> LogLineage:
    """Read configured logs."""
    config = CONFIGURATION.parse({"dag_name": "d", "environment": "dev", "query_log": list(entries)})
    resolver = dataset_resolver.from_config(config)
    return LogLineage(tuple(QUERY_LOG.read(engine, config, resolver).collect()))

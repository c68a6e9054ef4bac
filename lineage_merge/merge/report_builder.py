"""Builds the report of a merge from its records and elements: problems, counts, near misses, completeness."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from heapq import nsmallest
from typing import Any, NamedTuple, cast

from lineage_merge.config import Config
from lineage_merge.graph_format.schema import Row
from lineage_merge.infra.engine.rows import Rows, Shared
from lineage_merge.merge.alias_resolution import Aliases
from lineage_merge.merge.dataset_uses import Uses, together, uses_of
from lineage_merge.merge.expectations import unmet
from lineage_merge.merge.join import Merged
from lineage_merge.merge.near_misses.collection import NearMisses, find_near_misses
from lineage_merge.merge.property_rows import DATASET_FIELDS, is_edge
from lineage_merge.merge.report import MAX_EXAMPLES, MERGE, JoinedBy, Report
from lineage_merge.merge.source_completeness import why_not_retired
from lineage_merge.model.elements import (
    DBT_NAMESPACE,
    Alias,
    Count,
    FeedsColumn,
    Influences,
    Problem,
    ProblemKind,
)
from lineage_merge.model.records import JoinedRecord, Record, YieldRecord
from lineage_merge.sources import registry

# Rule of datasets that several job types name identically.
SAME_NAME = "same-name"


# Distinct keys of the report's input: ``("problem", source, kind, document, field, message)``,
# ``("read", what)``, ``("yield", source)``, ``("node", label)``, ``("edge", label)``, ``("assumed",)`` with a
# number, and ``("dataset", id)`` with its uses.
_Key = tuple[str, ...]
ReportFact = tuple[_Key, int | Uses]


# Problems are counted by source and kind, and joined datasets by their rules.
_Counts = Counter[tuple[str | tuple[str, ...], ...]]


class _Part(NamedTuple):
    """The report of one partition: counts, and the first problems by source and kind."""

    counts: _Counts
    examples: dict[tuple[str, str], list[Problem]]

    def find(self, source: str, problem: Problem) -> None:
        """Count a problem, and retain the first examples of its source and kind."""
        self.counts["problem", source, problem.kind] += 1
        examples = self.examples[source, problem.kind]
        examples.append(problem)
        if len(examples) > 2 * MAX_EXAMPLES:
            examples[:] = nsmallest(MAX_EXAMPLES, examples, key=_order)


def complete_report(records: Rows[Record], merged: Merged, config: Config) -> Report:
    """Return the report of a merge with these records as input."""
    of_merge = facts(records, merged).cache()
    report = build_report(of_merge)
    report = with_near_misses(
        report, find_near_misses(merged.elements, config, uses=of_merge.flat_map(_uses))
    )
    # Of a catalog only what other sources reference counts, which may be nothing.
    sources = [source.key for source, _ in registry.list_configured(config) if not source.is_catalog]
    return replace(
        report,
        elements={**dict.fromkeys(sources, 0), **report.elements},
        not_retired=why_not_retired(config, report),
        unmet=unmet(merged.elements, report, config.merge.expect),
    )


def with_near_misses(report: Report, added: NearMisses) -> Report:
    """Add the near misses and their notes to a report."""
    report = replace(report, near_misses=added.found, dismissed_near_misses=added.dismissed)
    if not added.notes:
        return report
    number = len(added.notes)
    kinds = report.by_source.get(MERGE, {})
    of_merge = {**kinds, "notice": kinds.get("notice", 0) + number}
    return replace(
        report,
        problems=(*report.problems, *added.notes),
        totals={**report.totals, "notice": report.totals.get("notice", 0) + number},
        by_source={**report.by_source, MERGE: of_merge},
    )


def report(records: Rows[Record], merged: Merged) -> Report:
    """Build the report; on Spark a single job that also computes records and elements."""
    return build_report(facts(records, merged))


def facts(records: Rows[Record], merged: Merged) -> Rows[ReportFact]:
    """Return the input of the report, combined by key: problems, counts, and uses of datasets."""
    engine = records.engine
    of_merge = engine.rows([*_report_aliases(merged.aliases), *map(_problem, merged.problems)], 1)
    return (
        records.flat_map(partial(_report_record, engine.share(merged.aliases.canonical_ids())))
        .union(merged.elements.flat_map(_report_element), of_merge)
        .reduce_by_key(_add)
    )


def build_report(facts: Rows[ReportFact]) -> Report:
    """Build the report of these facts."""
    return _total(facts.map_partitions(_part).collect())


def _uses(fact: ReportFact) -> Iterator[tuple[str, Uses]]:
    key, value = fact
    if isinstance(value, Uses):
        yield key[1], value


def assign_source(records: Rows[Record], key: str, client: int = 0) -> Rows[Record]:
    """Set the `source` of problems and the `client` of edges of a source, and count its elements."""
    return records.map_partitions(partial(_report_group, key, client))


def _report_group(key: str, client: int, records: Iterable[Record]) -> Iterator[Record]:
    elements = 0
    for record in records:
        if client and isinstance(record, (FeedsColumn, Influences)):
            record = record._replace(client=client)
        elements += type(record) in DATASET_FIELDS or isinstance(record, Alias)
        yield record._replace(source=key) if isinstance(record, Problem) else record
    if elements:
        yield YieldRecord(key, elements)


def _report_record(canonical_ids: Shared[dict[str, str]], record: Record) -> Iterator[ReportFact]:
    match record:
        case Problem():
            # Several workers may report the same problem: it counts once.
            yield _problem(record)
        case JoinedRecord(dataset, rule):
            yield _report_join(rule, canonical_ids.value.get(dataset, dataset))
        case Count(items, number):
            yield ("read", items), number
        case YieldRecord(source, elements):
            yield ("yield", source), elements


def _report_element(row: Row) -> Iterator[ReportFact]:
    yield ("edge" if is_edge(row) else "node", row["label"]), 1
    if "assumed" in row:
        yield ("assumed",), 1
    for dataset, uses in uses_of(row):
        yield ("dataset", dataset), uses


def _report_aliases(aliases: Aliases) -> Iterator[ReportFact]:
    for source, candidates in aliases.candidates.items():
        if len(candidates) == 1:
            yield _report_join(aliases.rules[source], candidates[0])
        else:
            what = f"could mean {len(candidates)} datasets: {', '.join(candidates[:5])}"
            yield _problem(Problem("not-joined", source, "", what))


def _report_join(rule: str, dataset: str) -> ReportFact:
    return ("dataset", dataset), Uses(rules=frozenset((rule,)))


def _problem(problem: Problem) -> ReportFact:
    kind, document, field, message, source = problem
    return ("problem", source or MERGE, kind, document, field, message), 0


def _add(one: int | Uses, other: int | Uses) -> int | Uses:
    if isinstance(one, Uses) and isinstance(other, Uses):
        return together(one, other)
    if isinstance(one, int) and isinstance(other, int):
        return one + other
    raise TypeError("a number and the uses of a dataset have the same key")


def _part(facts: Iterable[ReportFact]) -> Iterator[_Part]:
    part = _Part(Counter(), defaultdict(list))
    for key, value in facts:
        if isinstance(value, Uses):
            rules = value.rules | {SAME_NAME} if len(value.types_of_flows()) > 1 else value.rules
            if rules:
                part.counts["joined", tuple(sorted(rules))] += 1
            problem = _find_disconnected(key[1], value)
            if problem:
                part.find(MERGE, problem)
        elif key[0] == "problem":
            _, source, kind, document, field, message = key
            part.find(source, Problem(cast("ProblemKind", kind), document, field, message))
        else:
            part.counts[key] += value
    yield part


def _find_disconnected(dataset: str, uses: Uses) -> Problem | None:
    """Return a table that dbt reads and no job writes, or a job's output that no job reads."""
    readers = uses.types_of_readers()
    # No job writes an entry of dbt's semantic layer.
    is_of_dbt = dataset.partition("|")[2].startswith(DBT_NAMESPACE)
    if "dbt" in readers and not uses.writers and not is_of_dbt:
        return Problem("no-producer", dataset, "", "dbt reads it, nothing writes it")
    writer = max((writer.job_type for writer in uses.writers if writer.job_type != "dbt"), default="")
    if writer and not readers:
        return Problem("no-consumer", dataset, "", f"{writer.capitalize()} writes it, nothing reads it")
    return None


def _total(parts: Iterable[_Part]) -> Report:
    counts: _Counts = Counter()
    examples: dict[tuple[str, str], list[Problem]] = defaultdict(list)
    for part in parts:
        counts.update(part.counts)
        for key, problems in part.examples.items():
            examples[key].extend(problems)

    def select(tag: str) -> Iterator[tuple[Any, int]]:
        return ((key[1], number) for key, number in sorted(counts.items()) if key[0] == tag)

    by_source: dict[str, dict[str, int]] = {}
    totals: Counter[str] = Counter()
    for source, kind in sorted(examples):
        number = counts["problem", source, kind]
        by_source.setdefault(source, {})[kind] = number
        totals[kind] += number
    # A problem that two sources report is listed once.
    shown = {
        problem for problems in examples.values() for problem in nsmallest(MAX_EXAMPLES, problems, key=_order)
    }
    return Report(
        read=dict(select("read")),
        nodes=dict(select("node")),
        edges=dict(select("edge")),
        elements=dict(select("yield")),
        joined_by=tuple(JoinedBy(*item) for item in select("joined")),
        assumed=counts["assumed",],
        problems=tuple(sorted(shown, key=lambda example: (example.kind, *_order(example)))),
        totals=dict(sorted(totals.items())),
        by_source=by_source,
    )


def _order(problem: Problem) -> tuple[str, str, str]:
    return problem.document, problem.field, problem.message

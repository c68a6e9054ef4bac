"""Builds the report of a merge from its records and elements."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, field
from functools import partial
from heapq import nsmallest
from typing import cast

from lineage_merge.graph_format.schema import Row
from lineage_merge.infra.engine.rows import Rows, Shared
from lineage_merge.merge.alias_resolution import Aliases
from lineage_merge.merge.dataset_uses import Uses, together, uses_of
from lineage_merge.merge.join import Merged
from lineage_merge.merge.property_rows import is_edge
from lineage_merge.merge.report import MAX_EXAMPLES, MERGE, JoinedBy, Report
from lineage_merge.model.elements import DBT_NAMESPACE, Problem, ProblemKind
from lineage_merge.model.records import CountRecord, JoinedRecord, ProblemRecord, Record

# Rule of datasets that several job types name identically.
SAME_NAME = "same-name"


# Distinct keys of the report's input: ``("problem", source, kind, document, field, message)``,
# ``("read", what)``, ``("node", label)``, ``("edge", label)``, ``("assumed",)`` with a number, and
# ``("dataset", id)`` with its uses.
_Key = tuple[str, ...]
ReportFact = tuple[_Key, int | Uses]


@dataclass(slots=True)
class _Part:
    """The report of one partition."""

    read: Counter[str] = field(default_factory=Counter)
    nodes: Counter[str] = field(default_factory=Counter)
    edges: Counter[str] = field(default_factory=Counter)
    assumed: int = 0
    joined: Counter[tuple[str, ...]] = field(default_factory=Counter)
    problems: Counter[tuple[str, str]] = field(default_factory=Counter)
    examples: dict[tuple[str, str], list[Problem]] = field(default_factory=lambda: defaultdict(list))

    def find(self, source: str, problem: Problem) -> None:
        """Count a problem, and retain the first examples of its source and kind."""
        key = source, problem.kind
        self.problems[key] += 1
        examples = self.examples[key]
        examples.append(problem)
        if len(examples) > 2 * MAX_EXAMPLES:
            self.examples[key] = nsmallest(MAX_EXAMPLES, examples, key=_order)


def report(records: Rows[Record], merged: Merged) -> Report:
    """Build the report; on Spark a single job that also computes records and elements."""
    return of_facts(facts(records, merged))


def facts(records: Rows[Record], merged: Merged) -> Rows[ReportFact]:
    """Return the input of the report, combined by key: problems, counts, and uses of datasets."""
    engine = records.engine
    of_aliases = engine.rows(_of_aliases(merged.aliases), 1)
    return (
        records.flat_map(partial(_of_record, engine.share(merged.aliases.canonical_ids())))
        .union(merged.elements.flat_map(_of_element), of_aliases)
        .combine(_create, _add, _add)
    )


def of_facts(found: Rows[ReportFact]) -> Report:
    """Build the report of these facts."""
    return _total(found.map_partitions(_part).collect())


def uses_in(found: Rows[ReportFact]) -> Rows[tuple[str, Uses]]:
    """Return the uses of each dataset among these facts."""
    return found.flat_map(_uses)


def _uses(fact: ReportFact) -> Iterator[tuple[str, Uses]]:
    key, value = fact
    if isinstance(value, Uses):
        yield key[1], value


def of_source(records: Rows[Record], key: str) -> Rows[Record]:
    """Set the `source` of problems among the records of a source."""
    return records.map(partial(_reported_by, key))


def _reported_by(key: str, record: Record) -> Record:
    return record._replace(source=key) if isinstance(record, ProblemRecord) else record


def _of_record(canonical_ids: Shared[dict[str, str]], record: Record) -> Iterator[ReportFact]:
    match record:
        case ProblemRecord(problem, source):
            # Several workers may report the same problem: it counts once.
            yield _problem(source or MERGE, problem)
        case JoinedRecord(dataset, rule):
            yield _joined(rule, canonical_ids.value.get(dataset, dataset))
        case CountRecord(items, number):
            yield ("read", items), number


def _of_element(row: Row) -> Iterator[ReportFact]:
    yield ("edge" if is_edge(row) else "node", row["label"]), 1
    if "assumed" in row:
        yield ("assumed",), 1
    for dataset, uses in uses_of(row):
        yield ("dataset", dataset), uses


def _of_aliases(aliases: Aliases) -> Iterator[ReportFact]:
    for source, candidates in aliases.candidates.items():
        if len(candidates) == 1:
            yield _joined(aliases.rules[source], candidates[0])
        else:
            what = f"could mean {len(candidates)} datasets: {', '.join(candidates[:5])}"
            yield _problem(MERGE, Problem("not-joined", source, "", what))


def _joined(rule: str, dataset: str) -> ReportFact:
    return ("dataset", dataset), Uses(rules=frozenset((rule,)))


def _problem(source: str, problem: Problem) -> tuple[_Key, int]:
    return ("problem", source, *astuple(problem)), 0


def _create(value: int | Uses) -> int | Uses:
    return value


def _add(one: int | Uses, other: int | Uses) -> int | Uses:
    if isinstance(one, Uses) and isinstance(other, Uses):
        return together(one, other)
    if isinstance(one, int) and isinstance(other, int):
        return one + other
    raise TypeError("a number and the uses of a dataset have the same key")


def _part(found: Iterable[ReportFact]) -> Iterator[_Part]:
    part = _Part()
    for (tag, *names), value in found:
        if isinstance(value, Uses):
            rules = value.rules | {SAME_NAME} if len(value.types_of_flows()) > 1 else value.rules
            if rules:
                part.joined[tuple(sorted(rules))] += 1
            problem = _disconnected(names[0], value)
            if problem:
                part.find(MERGE, problem)
        elif tag == "problem":
            source, kind, document, field_, message = names
            part.find(source, Problem(cast("ProblemKind", kind), document, field_, message))
        elif tag == "assumed":
            part.assumed += value
        else:
            counts = {"read": part.read, "node": part.nodes, "edge": part.edges}[tag]
            counts[names[0]] += value
    yield part


def _disconnected(dataset: str, uses: Uses) -> Problem | None:
    """Return a table that dbt reads and no job writes, or a job's output that no job reads."""
    readers = uses.types_of_readers()
    # No job writes an entry of dbt's semantic layer.
    is_of_dbt = dataset.partition("|")[2].startswith(DBT_NAMESPACE)
    if "dbt" in readers and not uses.writers and not is_of_dbt:
        return Problem("no-producer", dataset, "", "dbt reads it, nothing writes it")
    writer = max((each.job_type for each in uses.writers if each.job_type != "dbt"), default="")
    if writer and not readers:
        return Problem("no-consumer", dataset, "", f"{writer.capitalize()} writes it, nothing reads it")
    return None


def _total(parts: Iterable[_Part]) -> Report:
    total = _Part()
    for part in parts:
        for name in ("read", "nodes", "edges", "joined", "problems"):
            getattr(total, name).update(getattr(part, name))
        total.assumed += part.assumed
        for key, problems in part.examples.items():
            total.examples[key].extend(problems)
    by_source: dict[str, dict[str, int]] = {}
    totals: Counter[str] = Counter()
    for (source, kind), number in sorted(total.problems.items()):
        by_source.setdefault(source, {})[kind] = number
        totals[kind] += number
    # A problem that two sources report is listed once.
    examples = {
        problem
        for problems in total.examples.values()
        for problem in nsmallest(MAX_EXAMPLES, problems, key=_order)
    }
    return Report(
        read=dict(sorted(total.read.items())),
        nodes=dict(sorted(total.nodes.items())),
        edges=dict(sorted(total.edges.items())),
        joined_by=tuple(JoinedBy(*each) for each in sorted(total.joined.items())),
        assumed=total.assumed,
        problems=tuple(sorted(examples, key=lambda example: (example.kind, *_order(example)))),
        totals=dict(sorted(totals.items())),
        by_source=by_source,
    )


def _order(problem: Problem) -> tuple[str, str, str]:
    return problem.document, problem.field, problem.message

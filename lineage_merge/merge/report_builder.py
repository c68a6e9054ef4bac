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
from lineage_merge.merge.join import Merged
from lineage_merge.merge.property_rows import is_edge
from lineage_merge.merge.records import Record, problem_of
from lineage_merge.merge.report import MAX_EXAMPLES, MERGE, Joined, Report
from lineage_merge.model.elements import Problem, ProblemKind

# Rule of datasets that several job types name identically.
SAME_NAME = "same-name"


# Distinct keys of the report's input: ``("problem", source, kind, document, field, message)``,
# ``("joined", rule, dataset)``, ``("read", what)``, ``("node", label)``, ``("edge", label)`` with a number,
# and ``("dataset", id)`` with its uses.
_Key = tuple[str, ...]


@dataclass(slots=True)
class _Uses:
    """Uses of one dataset by edges. `job_types`: types of the jobs that read or write it.

    `is_joined`: a rule joins it.
    """

    is_read: bool = False
    dbt_reads: bool = False
    is_written: bool = False
    writer: str = ""
    job_types: set[str] = field(default_factory=set)
    is_joined: bool = False


@dataclass(slots=True)
class _Part:
    """The report of one partition."""

    read: Counter[str] = field(default_factory=Counter)
    nodes: Counter[str] = field(default_factory=Counter)
    edges: Counter[str] = field(default_factory=Counter)
    joined: Counter[str] = field(default_factory=Counter)
    datasets_joined: int = 0
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
    engine = records.engine
    of_aliases = engine.rows(_of_aliases(merged.aliases), 1)
    parts = (
        records.flat_map(partial(_of_record, engine.share(merged.aliases.canonical_ids())))
        .union(merged.elements.flat_map(_of_element), of_aliases)
        .combine(_create, _add, _add)
        .map_partitions(_part)
        .collect()
    )
    return _total(parts)


def of_source(records: Rows[Record], key: str) -> Rows[Record]:
    """Set the `source` of problems among the records of a source."""
    return records.map(partial(_reported_by, key))


def _reported_by(key: str, record: Record) -> Record:
    return record._replace(source=key) if record.kind == "problem" else record


def _of_record(canonical_ids: Shared[dict[str, str]], record: Record) -> "Iterator[tuple[_Key, int | _Uses]]":
    match record.kind:
        case "problem":
            # Several workers may report the same problem: it counts once.
            yield _problem(record.source or MERGE, problem_of(record))
        case "joined":
            target = canonical_ids.value.get(str(record.target), str(record.target))
            yield from _joined(record.rule or "", target)
        case "count":
            yield ("read", record.rule or ""), record.at or 0


def _of_element(row: Row) -> "Iterator[tuple[_Key, int | _Uses]]":
    label = row["label"]
    yield ("edge" if is_edge(row) else "node", label), 1
    if label == "feeds":
        kind = row["job_type"]
        yield ("dataset", row["from"]), _Uses(is_read=True, dbt_reads=kind == "dbt", job_types={kind})
        yield ("dataset", row["to"]), _Uses(job_types={kind})
    elif label == "writes":
        writer = "" if row["job_type"] == "dbt" else row["job_type"]
        yield ("dataset", row["to"]), _Uses(is_written=True, writer=writer)


def _of_aliases(aliases: Aliases) -> "Iterator[tuple[_Key, int | _Uses]]":
    for source, candidates in aliases.candidates.items():
        if len(candidates) == 1:
            yield from _joined(aliases.rules[source], candidates[0])
        else:
            what = f"could mean {len(candidates)} datasets: {', '.join(candidates[:5])}"
            yield _problem(MERGE, Problem("not-joined", source, "", what))


def _joined(rule: str, dataset: str) -> "Iterator[tuple[_Key, int | _Uses]]":
    yield ("joined", rule, dataset), 0
    # Several rules may join one dataset, which counts once.
    yield ("dataset", dataset), _Uses(is_joined=True)


def _problem(source: str, problem: Problem) -> tuple[_Key, int]:
    return ("problem", source, *astuple(problem)), 0


def _create(value: "int | _Uses") -> "int | _Uses":
    return value


def _add(one: "int | _Uses", other: "int | _Uses") -> "int | _Uses":
    if isinstance(one, _Uses) and isinstance(other, _Uses):
        one.is_read = one.is_read or other.is_read
        one.dbt_reads = one.dbt_reads or other.dbt_reads
        one.is_written = one.is_written or other.is_written
        one.writer = max(one.writer, other.writer)
        one.job_types |= other.job_types
        one.is_joined = one.is_joined or other.is_joined
        return one
    if isinstance(one, int) and isinstance(other, int):
        return one + other
    raise TypeError("a number and the uses of a dataset have the same key")


def _part(found: "Iterable[tuple[_Key, int | _Uses]]") -> Iterator[_Part]:
    part = _Part()
    for (tag, *names), value in found:
        if isinstance(value, _Uses):
            is_shared = len(value.job_types) > 1
            part.joined[SAME_NAME] += is_shared
            part.datasets_joined += is_shared or value.is_joined
            problem = _disconnected(names[0], value)
            if problem:
                part.find(MERGE, problem)
        elif tag == "problem":
            source, kind, document, field_, message = names
            part.find(source, Problem(cast(ProblemKind, kind), document, field_, message))
        elif tag == "joined":
            part.joined[names[0]] += 1
        else:
            counts = {"read": part.read, "node": part.nodes, "edge": part.edges}[tag]
            counts[names[0]] += value
    yield part


def _disconnected(dataset: str, uses: _Uses) -> Problem | None:
    """Return a table that dbt reads and no job writes, or a job's output that no job reads."""
    if uses.dbt_reads and not uses.is_written:
        return Problem("no-producer", dataset, "", "dbt reads it, nothing writes it")
    if uses.writer and not uses.is_read:
        return Problem("no-consumer", dataset, "", f"{uses.writer.capitalize()} writes it, nothing reads it")
    return None


def _total(parts: Iterable[_Part]) -> Report:
    total = _Part()
    for part in parts:
        for name in ("read", "nodes", "edges", "joined", "problems"):
            getattr(total, name).update(getattr(part, name))
        total.datasets_joined += part.datasets_joined
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
        joined=tuple(Joined(*each) for each in sorted(total.joined.items()) if each[1]),
        datasets_joined=total.datasets_joined,
        problems=tuple(sorted(examples, key=lambda each: (each.kind, *_order(each)))),
        totals=dict(sorted(totals.items())),
        by_source=by_source,
    )


def _order(problem: Problem) -> tuple[str, str, str]:
    return problem.document, problem.field, problem.message

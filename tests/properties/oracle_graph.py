"""The graph that must come of a pipeline, worked out slowly from what was drawn: no name is ever read."""

from collections import defaultdict
from dataclasses import dataclass, field

from tests.properties import oracle_dbt, oracle_runs
from tests.properties.oracle_runs import Done, JobFacts
from tests.properties.pipeline import COLUMNS, Kind, Pipeline, Place, Plan
from tests.properties.spelling import identity, table_identity

# Job type, job, from, to; of columns with their ids.
Edge = tuple[str, str, str, str]


@dataclass
class Flow:
    """What is said of a `feeds` edge."""

    modes: set[str] = field(default_factory=set)
    sequences: set[int] = field(default_factory=set)
    operations: set[str] = field(default_factory=set)
    via: set[str] = field(default_factory=set)


@dataclass
class Graph:
    """Vertices and edges. `labels` of datasets by id; `columns` are ids; transformations by edge."""

    labels: dict[str, str] = field(default_factory=dict)
    columns: set[str] = field(default_factory=set)
    jobs: dict[str, JobFacts] = field(default_factory=dict)
    dbt_jobs: set[str] = field(default_factory=set)
    feeds: dict[Edge, Flow] = field(default_factory=lambda: defaultdict(Flow))
    writes: set[tuple[str, str, str]] = field(default_factory=set)
    feeds_column: dict[Edge, set[str]] = field(default_factory=lambda: defaultdict(set))
    influences: dict[Edge, set[str]] = field(default_factory=lambda: defaultdict(set))
    # Datasets that no other run reads, and of which every reader had written them before.
    run_local: set[str] = field(default_factory=set)


def expected(pipeline: Pipeline, prefix: str) -> Graph:
    """The whole graph, with temporary datasets still in it."""
    graph = Graph()
    found = oracle_runs.recent(pipeline, prefix)
    counted = oracle_runs.counted(found)
    tables = _tables(counted)
    for write in counted:
        _add(graph, write, found, tables, prefix)
    graph.jobs = oracle_runs.jobs(found)
    dbt = oracle_dbt.expected(pipeline, prefix)
    for identifier, label in dbt.labels.items():
        graph.labels[identifier] = label
    graph.dbt_jobs, graph.writes = dbt.jobs, graph.writes | dbt.writes
    for edge, via in dbt.feeds.items():
        graph.feeds[edge].via |= via
    graph.run_local = _run_local(counted, found, tables, graph, prefix)
    return graph


def _tables(counted: list[Done]) -> set[Place]:
    """Return the catalog tables whose path is in some plan."""
    plans = [each.end.plan for each in counted]
    return {mention.place for plan in plans for mention in (plan.target, *plan.reads) if mention.with_table}


def _id(place: Place, tables: set[Place], prefix: str, *, by_name: bool = False) -> str:
    known = not by_name or place in tables
    return identity(prefix, place) if known else table_identity(prefix, place)


def _add(graph: Graph, write: Done, found: list[Done], tables: set[Place], prefix: str) -> None:
    plan = write.end.plan
    target = _id(plan.target.place, tables, prefix)
    reads = [_id(each.place, tables, prefix) for each in plan.reads]
    by_name = [_id(each, tables, prefix, by_name=True) for each in plan.by_name]
    for place, identifier in [
        (plan.target.place, target),
        *zip((each.place for each in plan.reads), reads, strict=True),
        *zip(plan.by_name, by_name, strict=True),
    ]:
        graph.labels[identifier] = _label(place, identifier, tables)
    graph.columns |= {f"{each}|{column}" for each in (*reads, *by_name) for column in COLUMNS}
    graph.columns |= {f"{target}|{each.name.lower()}" for each in plan.columns}
    graph.writes.add(("spark", write.job, target))
    sequence = min(
        oracle_runs.sequence(other, found) for other in oracle_runs.counted(found) if other.plan == write.plan
    )
    for number, source in enumerate([*reads, *by_name]):
        flow = graph.feeds["spark", write.job, source, target]
        flow.modes.add("append" if plan.append else "overwrite")
        flow.sequences.add(sequence)
        if number < len(reads):
            flow.operations |= {_chain(plan, number)}
    _add_columns(graph, write.job, plan, reads, target)


def _label(place: Place, identifier: str, tables: set[Place]) -> str:
    if place.kind == Kind.WAREHOUSE or "|spark_catalog|" in identifier:
        return "table"
    return "table" if place in tables else "file"


def _chain(plan: Plan, place: int) -> str:
    """The operations from a read up to the write."""
    steps = ["Filter"] * any(each.read == place for each in plan.filters)
    joins = len(plan.reads) - 1
    steps += ["Join"] * (joins if place == 0 else joins - place + 1)
    steps += ["Sort"] * bool(plan.sorts)
    steps += ["Project"]
    steps += ["Aggregate"] * any(each.how == "aggregation" for each in plan.columns)
    steps += ["Filter"] * bool(plan.by_name)
    return " > ".join(steps)


def _add_columns(graph: Graph, job: str, plan: Plan, reads: list[str], target: str) -> None:
    for made in plan.columns:
        for each in made.sources:
            edge = ("spark", job, f"{reads[each.read]}|{each.column}", f"{target}|{made.name.lower()}")
            graph.feeds_column[edge].add(made.how.upper())
    deciding = [("FILTER", each) for each in plan.filters]
    deciding += [("JOIN", each) for pair in plan.joins for each in pair]
    deciding += [("SORT", each) for each in plan.sorts]
    if any(made.how == "aggregation" for made in plan.columns):
        grouped = (made for made in plan.columns if made.how != "aggregation")
        deciding += [("GROUP_BY", each) for made in grouped for each in made.sources]
    for kind, each in deciding:
        graph.influences["spark", job, f"{reads[each.read]}|{each.column}", target].add(kind)


def _run_local(
    counted: list[Done], found: list[Done], tables: set[Place], graph: Graph, prefix: str
) -> set[str]:
    local = set()
    for place in {each.target for each in counted}:
        identifier = identity(prefix, place)
        users = {
            (kind, job) for kind, job, source, target in graph.feeds if identifier in (source, target)
        } | {(kind, job) for kind, job, target in graph.writes if target == identifier}
        readers = [each for each in counted if place in [read.place for read in each.end.plan.reads]]
        # Who reads a table by its name alone may mean what an earlier run left there.
        named = place in tables and any(place in each.end.plan.by_name for each in counted)
        own = all(oracle_runs.made_before(each, place, found) for each in readers)
        if len(users) == 1 and readers and own and not named:
            local.add(identifier)
    return local

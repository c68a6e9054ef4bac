"""Temporary datasets removed from a graph, slowly: every path is followed step by step."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from copy import deepcopy

from tests.properties.oracle_graph import Edge, Flow, Graph
from tests.properties.pipeline import Kind, Pipeline
from tests.properties.spelling import identity

# The direct ones by how much they change; of two indirect ones the one nearer to the target takes precedence.
_DIRECT = ("IDENTITY", "TRANSFORMATION", "AGGREGATION")


def folded(graph: Graph, temporary: Iterable[str]) -> Graph:
    """The graph without temporary datasets that lie between others."""
    fed = {target for _, _, source, target in graph.feeds if source != target}
    feeding = {source for _, _, source, target in graph.feeds if source != target}
    hops = set(temporary) & fed & feeding
    return Graph(
        labels={each: label for each, label in graph.labels.items() if each not in hops},
        columns={each for each in graph.columns if _dataset(each) not in hops},
        jobs=graph.jobs,
        dbt_jobs=graph.dbt_jobs,
        feeds=_feeds(graph, hops),
        writes={each for each in graph.writes if each[2] not in hops},
        feeds_column=_feeds_column(graph, hops),
        influences=_influences(graph, hops),
    )


def below_tmp(pipeline: Pipeline, prefix: str) -> set[str]:
    """The datasets that the glob ``s3://*/tmp/*`` means."""
    places = {mention.place for plan in pipeline.plans for mention in (plan.target, *plan.reads)}
    return {identity(prefix, each) for each in places if each.kind == Kind.TEMPORARY}


def _dataset(column: str) -> str:
    return column.rpartition("|")[0]


def _path(identifier: str) -> str:
    namespace, name = identifier.split("|")[1:]
    return f"{namespace}/{name}"


def _reached(start: str, steps: Mapping[str, set[str]]) -> set[str]:
    """Where steps lead to, the start itself included."""
    seen, waiting = {start}, [start]
    while waiting:
        for each in steps.get(waiting.pop(), ()):
            if each not in seen:
                seen.add(each)
                waiting.append(each)
    return seen


def _feeds(graph: Graph, hops: set[str]) -> dict[Edge, Flow]:
    between: defaultdict[str, set[str]] = defaultdict(set)
    back: defaultdict[str, set[str]] = defaultdict(set)
    into: defaultdict[str, set[str]] = defaultdict(set)
    for _, _, source, target in graph.feeds:
        if source in hops and target in hops:
            between[source].add(target)
            back[target].add(source)
        elif target in hops:
            into[source].add(target)
    left: defaultdict[Edge, Flow] = defaultdict(Flow)
    for edge, flow in graph.feeds.items():
        kind, job, source, target = edge
        if target in hops:
            continue
        if source not in hops:
            left[edge] = deepcopy(flow) if edge not in left else _both(left[edge], flow)
            continue
        for start, firsts in into.items():
            passed = {
                hop
                for first in firsts
                for hop in _reached(first, between)
                if source in _reached(first, between) and hop in _reached(source, back)
            }
            if passed:
                passed_on = Flow(
                    set(flow.modes), set(flow.sequences), set(), {*flow.via, *map(_path, passed)}
                )
                new = (kind, job, start, target)
                left[new] = _both(left[new], passed_on)
    return left


def _both(one: Flow, other: Flow) -> Flow:
    return Flow(
        one.modes | other.modes,
        one.sequences | other.sequences,
        one.operations | other.operations,
        one.via | other.via,
    )


def _along(nearer: str, further: str) -> str:
    if nearer not in _DIRECT:
        return nearer
    if further not in _DIRECT:
        return further
    return max(nearer, further, key=_DIRECT.index)


def _origins(column: str, graph: Graph, hops: set[str]) -> set[tuple[str, str]]:
    """The lasting columns that a temporary one comes of, each with its transformations."""
    found, seen, waiting = set(), {(column, "IDENTITY")}, [(column, "IDENTITY")]
    while waiting:
        place, so_far = waiting.pop()
        for (_, _, source, target), kinds in graph.feeds_column.items():
            if target != place:
                continue
            for kind in kinds:
                step = (source, _along(so_far, kind))
                if _dataset(source) not in hops:
                    found.add(step)
                elif step not in seen:
                    seen.add(step)
                    waiting.append(step)
    return found


def _feeds_column(graph: Graph, hops: set[str]) -> dict[Edge, set[str]]:
    left: defaultdict[Edge, set[str]] = defaultdict(set)
    for (kind, job, source, target), kinds in graph.feeds_column.items():
        if _dataset(target) in hops:
            continue
        if _dataset(source) not in hops:
            left[kind, job, source, target] |= kinds
            continue
        for origin, step in _origins(source, graph, hops):
            left[kind, job, origin, target] |= {_along(each, step) for each in kinds}
    return left


def _influences(graph: Graph, hops: set[str]) -> dict[Edge, set[str]]:
    lasting: defaultdict[Edge, set[str]] = defaultdict(set)

    def add(kind: str, job: str, column: str, target: str, how: set[str]) -> None:
        origins = [column]
        if _dataset(column) in hops:
            origins = [origin for origin, _ in _origins(column, graph, hops)]
        for each in origins:
            lasting[kind, job, each, target] |= how

    for (kind, job, column, target), how in graph.influences.items():
        if target not in hops:
            add(kind, job, column, target, how)
    # What decides on the rows of a temporary dataset decides on those of all that is made of it.
    made_of: defaultdict[str, set[str]] = defaultdict(set)
    for _, _, source, target in graph.feeds:
        if source in hops and target in hops:
            made_of[target].add(source)
    for kind, job, source, target in graph.feeds:
        if source in hops and target not in hops:
            behind = _reached(source, made_of)
            for (_, _, column, decided), how in graph.influences.items():
                if decided in behind:
                    add(kind, job, column, target, how)
    return lasting

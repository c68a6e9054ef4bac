"""The moments of a page, read from the history, and their differences."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import combinations
from typing import NamedTuple

from lineage_merge.exporters.page import PageMoment
from lineage_merge.exporters.page.moments import MAX_MOMENTS, Changes
from lineage_merge.exporters.page.selection import entire_graph, neighborhood, select_within
from lineage_merge.graph_format.elements import Subgraph, Vertex
from lineage_merge.history.moments import parse_moment
from lineage_merge.infra.progress import ProgressCallback
from lineage_merge.model.errors import ConfigError, NotFound
from lineage_merge.model.times import utc_time
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.questions.names import check_scope
from lineage_merge.questions.past import AsOf, as_of
from lineage_merge.questions.traversal.lineage_changes import Limit, compare_pictures
from lineage_merge.questions.traversal.staleness import Expectations, freshness_within


class PageMoments(NamedTuple):
    """Moments, oldest first, the changes of each pair, and the vertex of `--focus`.

    `graph`: all of the newest, also what is not selected.
    """

    moments: list[PageMoment]
    changes: Changes
    start: Vertex | None
    graph: LineageGraph


def read_moments(
    location: str,
    earlier: Sequence[str],
    newest: str,
    environment: str | None,
    dag: str | None,
    focus: str | None,
    depth: int | None,
    expectations: Expectations,
    on_progress: ProgressCallback,
) -> PageMoments:
    """Read the lineage of the earlier moments and the newest one.

    The freshness of the newest is as of `expectations.now`, that of the others as of their times. Raises
    `ConfigError` for too many moments, or ones that are younger than the newest; `NotFound`.
    """
    if len(earlier) >= MAX_MOMENTS:
        raise ConfigError("--moment", f"more than {MAX_MOMENTS - 1} moments: {len(earlier)}")
    now = datetime.now(UTC)
    last = as_of(location, parse_moment(newest, now), environment, on_progress)
    times = {_time(last): last}
    for text in earlier:
        moment = as_of(location, parse_moment(text, now, "--moment"), environment, on_progress)
        if _time(moment) > _time(last):
            raise ConfigError("--moment", f"{text} is later than {last.moment}")
        times.setdefault(_time(moment), moment)
    pictures = [times[time] for time in sorted(times)]
    start, limit, graphs = _select(pictures, environment, dag, focus, depth)
    names = _names(sorted(times))
    moments = []
    for time, picture, graph in zip(sorted(times), pictures, graphs, strict=True):
        at = expectations.now if picture is last else time
        freshness = freshness_within(
            picture.graph,
            (dataset.id for dataset in graph.datasets),
            replace(expectations, now=at),
            environment=environment,
            dag=dag,
        )
        merges = tuple(map(str, picture.merges))
        moments.append(PageMoment(_key(time), names[time], graph, merges, tuple(freshness)))
    changes = {}
    for before, after in combinations(range(len(pictures)), 2):
        both = pictures[before].graph, pictures[after].graph
        changes[before, after] = compare_pictures(*both, environment, dag, limit)
    return PageMoments(moments, changes, start, last.graph)


def _select(
    pictures: Sequence[AsOf], environment: str | None, dag: str | None, focus: str | None, depth: int | None
) -> tuple[Vertex | None, Limit | None, list[Subgraph]]:
    """Return what the page shows of each picture; with a focus, the lineage that it has in any of them."""
    if focus is None:
        graphs = [_everything(picture, environment, dag) for picture in pictures]
        if not any(graph.vertices for graph in graphs):
            check_scope(pictures[-1].graph, environment, dag)
        return None, None, graphs
    start: Vertex | None = None
    datasets: set[str] = set()
    unknown: NotFound | None = None
    for picture in pictures:
        try:
            start, subgraph = neighborhood(picture.graph, focus, depth, environment, dag)
        except NotFound as error:
            unknown = error
            continue
        datasets |= {dataset.id for dataset in subgraph.datasets}
    if start is None and unknown:
        raise unknown
    limit = Limit(frozenset(datasets))
    return (
        start,
        limit,
        [select_within(_everything(picture, environment, dag), limit) for picture in pictures],
    )


def _everything(picture: AsOf, environment: str | None, dag: str | None) -> Subgraph:
    """Return everything of an environment and DAG, which a moment may not have yet."""
    try:
        return entire_graph(picture.graph, environment, dag)
    except NotFound:
        return Subgraph()


def _time(picture: AsOf) -> int:
    """Return the time of a moment in ms since 1970; of one that is a merge, the merge's."""
    if not picture.moment.merge:
        return picture.moment.time
    return max((merge.record.name.time for merge in picture.merges), default=0)


def _key(time: int) -> str:
    return datetime.fromtimestamp(time // 1000, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _names(times: Sequence[int]) -> dict[int, str]:
    """Return the times for display; with seconds if two are in the same minute."""
    names = {time: utc_time(time) for time in times}
    if len({*names.values()}) == len(names):
        return names
    return {time: utc_time(time, seconds=True) for time in times}

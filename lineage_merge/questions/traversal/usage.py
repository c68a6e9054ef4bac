"""Usage of datasets and columns: how often and when last the statements of their warehouse read them.

The merge of a query log counts the reads and records the observed time (`query_log`). What no query log
covers is not observed: its usage is unknown, never none.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from lineage_merge.graph_format.elements import COLUMN, Vertex, name_parts, values_of
from lineage_merge.model.counts import format_count
from lineage_merge.model.elements import dataset_of, is_column_id, query_log_id, structures_of
from lineage_merge.model.graph_walks import reachable
from lineage_merge.model.times import duration_text, utc_date
from lineage_merge.questions.graph import LineageGraph

Status = Literal["used", "unused", "unknown"]
QUERY_LOG = "query_log"
_DAY_MS = 24 * 3_600_000
# What was not read for so long is unused, without another duration. A bit less than the default lookback of
# a query log, of which the first statement may be later.
UNUSED_AFTER_MS = 28 * _DAY_MS
# A statement that reads a view reads what it is made of.
_READS = {False: ("feeds",), True: ("feeds_column", "influences")}


class Verdict(NamedTuple):
    """Whether an element is unused, with the reason."""

    status: Status
    reason: str


@dataclass(frozen=True, slots=True)
class Usage:
    """The reads of a dataset or column in the observed time.

    Times are ms since 1970. `observed_from`, `observed_until`: None if it is not observed. `own_reads`,
    `own_last_read`: of the element itself. `through`: what is read with it: views that read it, directly or
    through other views, of a field the structures that contain it, of a structure its fields.
    """

    element: Vertex
    own_reads: int = 0
    own_last_read: int | None = None
    readers: tuple[str, ...] = ()
    observed_from: int | None = None
    observed_until: int | None = None
    through: tuple["Usage", ...] = ()

    @property
    def is_observed(self) -> bool:
        """Whether the reads of its namespace are counted."""
        return self.observed_from is not None and self.observed_until is not None

    @property
    def reads(self) -> int | None:
        """The statements in the observed time that read the element itself; None if it is not observed.

        A count of an earlier merge, whose last read is before that time, is 0.
        """
        if not self.is_observed:
            return None
        is_stale = self.own_last_read is not None and self.own_last_read < (self.observed_from or 0)
        return 0 if is_stale else self.own_reads

    @property
    def last_read(self) -> int | None:
        """The time of the last read, of the element itself or of `through`."""
        times = (usage.own_last_read for usage in (self, *self.through))
        return max((time for time in times if time is not None), default=None)

    @property
    def read_through(self) -> Vertex | None:
        """The view or structure by which it was last read; None if it was read itself then, or never."""
        last_read = self.last_read
        if last_read is None or last_read == self.own_last_read:
            return None
        return next(usage.element for usage in self.through if usage.own_last_read == last_read)

    @property
    def not_read_since(self) -> int | None:
        """The time after which no statement read it, as far as it is observed."""
        if not self.is_observed:
            return None
        return max(self.observed_from or 0, self.last_read or 0)

    def verdict(self, duration_ms: int) -> Verdict:
        """Return whether nothing read it for that long before the end of the observed time.

        It is unknown if the element, or what is read with it, is not observed that long.
        """
        unknown = ""
        for use in (self, *self.through):
            if use.observed_from is None or use.observed_until is None:
                reason = "not observed"
            elif use.own_last_read is not None and use.own_last_read >= use.observed_until - duration_ms:
                return Verdict(
                    "used", self.text if self.is_read else f"last read on {utc_date(self.last_read)}"
                )
            elif use.observed_until - use.observed_from < duration_ms:
                reason = f"observed for {duration_text(use.observed_until - use.observed_from)} only"
            else:
                continue
            unknown = unknown or (reason if use is self else f"{use.element.title}: {reason}")
        return Verdict("unknown", unknown) if unknown else Verdict("unused", self.text)

    @property
    def is_read(self) -> bool:
        """Whether it was read in the observed time."""
        return self.last_read is not None and self.last_read >= (self.observed_from or 0)

    @property
    def text(self) -> str:
        """``read 1,204 times, last on 2026-11-20``; ``not read since 2026-08-01 (observed)``."""
        if not self.is_observed:
            return "not observed"
        times = f"read {format_count(self.reads, 'time')}" if self.reads else ""
        if self.is_read:
            through = f" through {self.read_through.title}" if self.read_through else ""
            last_on = f"last on {utc_date(self.last_read)}"
            return f"{times}, {last_on}{through}" if times else f"read{through}, {last_on}"
        return times or f"not read since {utc_date(self.not_read_since)} (observed)"


def usages(graph: LineageGraph, elements: Iterable[Vertex]) -> dict[str, Usage]:
    """Return the usage of datasets and columns by id, in their order."""
    starts = {element.id: element for element in elements}
    logs = _query_logs(graph, starts)
    observed = {id_: vertex for id_, vertex in starts.items() if query_log_of(id_) in logs}
    through = _find_read_with(graph, observed) if observed else {}
    others = {other for others_through in through.values() for other in others_through}
    vertices = starts | {vertex.id: vertex for vertex in graph.vertices(sorted(others - starts.keys()))}
    logs |= _query_logs(graph, vertices.keys() - starts.keys())
    own = {id_: _own_usage(vertex, logs.get(query_log_of(id_))) for id_, vertex in vertices.items()}
    return {
        identifier: replace(
            own[identifier],
            through=tuple(own[other] for other in through.get(identifier, ()) if other in own),
        )
        for identifier in starts
    }


def query_log_of(identifier: str) -> str:
    """Return the id of the query log that counts the reads of a dataset or column."""
    environment, namespace, _ = name_parts(dataset_of(identifier))
    return query_log_id(environment, namespace)


def _query_logs(graph: LineageGraph, identifiers: Iterable[str]) -> dict[str, Vertex]:
    ids = sorted({query_log_of(identifier) for identifier in identifiers})
    return {log.id: log for log in graph.vertices(ids)} if ids else {}


def _own_usage(element: Vertex, log: Vertex | None) -> Usage:
    held, observed = element.properties, log.properties if log else {}
    return Usage(
        element,
        int(held.get("read_count", 0)),
        held.get("last_read_at"),
        tuple(map(str, values_of(element, "readers"))),
        observed.get("observed_from"),
        observed.get("observed_until"),
    )


def _find_read_with(graph: LineageGraph, vertices: Mapping[str, Vertex]) -> dict[str, list[str]]:
    """Return the ids of what is read with each element, by id."""
    seeds = _fields_and_structures(graph, vertices)
    readers: defaultdict[str, set[str]] = defaultdict(set)
    datasets: dict[str, Vertex] = {}
    left = {*vertices, *(seed for seeds_found in seeds.values() for seed in seeds_found)}
    passed = set(left)
    while left:
        edges = []
        for is_column, labels in _READS.items():
            if starts := sorted(identifier for identifier in left if is_column_id(identifier) is is_column):
                edges += graph.edges_from(starts, labels)
        new = {dataset_of(edge.to_id) for edge in edges} - datasets.keys()
        datasets |= {vertex.id: vertex for vertex in graph.vertices(sorted(new))} if new else {}
        for edge in edges:
            view = datasets.get(dataset_of(edge.to_id))
            if view is not None and view.label == "view" and view.id != dataset_of(edge.from_id):
                readers[edge.from_id].add(edge.to_id)
        left = {target for edge in edges for target in readers.get(edge.from_id, ())} - passed
        passed |= left
    return {id_: sorted(reachable({id_, *seeds.get(id_, ())}, readers) - {id_}) for id_ in vertices}


def _fields_and_structures(graph: LineageGraph, vertices: Mapping[str, Vertex]) -> dict[str, set[str]]:
    """Return of columns and fields, by id, the structures that contain them and their fields."""
    columns = [identifier for identifier, vertex in vertices.items() if vertex.label == COLUMN]
    edges_of = {column: set(structures_of(column)) for column in columns}
    for edge in graph.edges_below(sorted(columns), ["has_column"]) if columns else ():
        for structure in structures_of(edge.to_id):
            if structure in edges_of:
                edges_of[structure].add(edge.to_id)
    return edges_of


def lookback_fix(assessed: Iterable[Usage], duration_ms: int) -> str:
    """Return the remedy if usage is unknown because it is not observed for so long, else ""."""
    is_too_short = any(
        usage.verdict(duration_ms).status == "unknown"
        and all(use.is_observed for use in (usage, *usage.through))
        for usage in assessed
    )
    days = -(-duration_ms // _DAY_MS)
    return f"Fix: set query_log[].lookback to {days}d, with a log that is as long" if is_too_short else ""


def may_be_dropped(usage: Usage, dependents: Mapping[str, int], duration_ms: int) -> str:
    """Return what stands against dropping a dataset or column: its dependents by kind, and its usage."""
    status, reason = usage.verdict(duration_ms)
    if status == "unused":
        since, until = utc_date(usage.not_read_since), utc_date(usage.observed_until)
        read = f"no statement read it since {since} (observed until {until})"
    else:
        read = f"it was {reason}" if status == "used" else f"its usage is unknown: {reason}"
        if fix := lookback_fix([usage], duration_ms):
            read += f" ({fix})"
    if kinds := [format_count(number, kind) for kind, number in dependents.items() if number]:
        depends = "depends" if sum(dependents.values()) == 1 else "depend"
        return f"{', '.join(kinds)} {depends} on it; {read}"
    joined = {"unused": " and ", "used": ", but ", "unknown": "; "}[status]
    return f"Nothing depends on it{joined}{read}"

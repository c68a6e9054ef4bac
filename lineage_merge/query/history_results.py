"""Answers about differences of environments and moments, and about merges."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar

from lineage_merge.graph_format.elements import Vertex
from lineage_merge.questions.comparison import Comparison
from lineage_merge.questions.lineage_changes import Change
from lineage_merge.questions.result import Record, Result

if TYPE_CHECKING:
    from rich.console import RenderableType

    from lineage_merge.history.pictures import ScopedMerge
    from lineage_merge.history.timeline import TimelineEvent
    from lineage_merge.questions.past import AsOf


@dataclass(frozen=True, kw_only=True, repr=False)
class NoGraphResult(Result):
    """An answer that is not a part of a graph: its JSON has neither vertices nor edges."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object of the command line, to which only fields are added."""
        return {**self.header(), **self.fields()}

    def __repr__(self) -> str:
        """Return the question and the number of records."""
        return f"<{type(self).__name__} {self.question}: {sum(1 for _ in self.records())} records>"


@dataclass(frozen=True, kw_only=True, repr=False)
class ComparisonResult(NoGraphResult):
    """What only one of two environments has."""

    columns: ClassVar[Mapping[str, type]] = {"environment": str, "kind": str, "what": str, "to": str}

    comparison: Comparison

    def records(self) -> Iterator[Record]:
        """Yield datasets, feeds (`to`: the target) and columns, by id without the environment."""
        for only in (self.comparison.only_left, self.comparison.only_right):
            found: list[tuple[str, str, str | None]] = [("dataset", each, None) for each in only.datasets]
            found += [("feed", source, target) for source, target in only.feeds]
            found += [("column", each, None) for each in only.columns]
            for kind, what, target in found:
                yield {"environment": only.environment, "kind": kind, "what": what, "to": target}

    def header(self) -> dict[str, Any]:
        """Return the question, the environments and the DAG."""
        sides = (self.comparison.only_left, self.comparison.only_right)
        environments = [each.environment for each in sides]
        return {"question": self.question, "environments": environments, "dag": self.scope.dag}

    def fields(self) -> dict[str, Any]:
        """Return what only one environment has, by environment."""
        sides = (self.comparison.only_left, self.comparison.only_right)
        return {"only": {each.environment: each.as_json() for each in sides}}

    def tables(self) -> "Iterable[RenderableType]":
        """Return a table per environment."""
        from lineage_merge.questions.formats.answer_tables import comparison_tables

        return comparison_tables(self.comparison)


@dataclass(frozen=True, kw_only=True, repr=False)
class ChangesResult(NoGraphResult):
    """The changes of the lineage between two moments of its history."""

    columns: ClassVar[Mapping[str, type]] = {
        "kind": str,
        "action": str,
        "id": str,
        "from": str,
        "title": str,
        "property": str,
        "before": str,
        "after": str,
    }

    before: "AsOf"
    after: "AsOf"
    changes: tuple[Change, ...] = ()
    upstream_of: str | None = None
    downstream_of: str | None = None

    @property
    def title(self) -> str:
        """The moments as text."""
        return f"from {self.before.moment} to {self.after.moment}"

    def records(self) -> Iterator[Record]:
        """Yield a record per changed property, one without property for other changes."""
        for each in self.changes:
            element = {"kind": each.kind, "action": each.action, "id": each.id}
            element |= {"from": each.source or None, "title": each.title}  # type: ignore[dict-item]
            for difference in each.differences or ((None, None, None),):
                yield element | dict(zip(("property", "before", "after"), difference, strict=True))

    def parameters(self) -> dict[str, Any]:
        """Return the moments with their merges, and the limit."""
        return {
            "from": _moment(self.before),
            "to": _moment(self.after),
            "upstream_of": self.upstream_of,
            "downstream_of": self.downstream_of,
        }

    def fields(self) -> dict[str, Any]:
        """Return the numbers of changes, and the changes."""
        from lineage_merge.questions.lineage_changes import counts

        return {"counts": counts(self.changes), "changes": [each.as_json() for each in self.changes]}

    def to_markdown(self) -> str:
        """Return the changes as Markdown: a table of numbers, then a list per kind."""
        from lineage_merge.questions.formats.change_tables import markdown

        return markdown(self.changes, self.title)

    def to_svg(self) -> str:
        """Return the changed elements, and what is between them, as an SVG drawing."""
        from lineage_merge.questions.changed_subgraph import changed_subgraph
        from lineage_merge.questions.formats.svg import svg

        graph, marks = changed_subgraph(self.changes, self.before.graph, self.after.graph)
        return svg(graph, f"changes {self.title}", marks=marks)

    def tables(self) -> "Iterable[RenderableType]":
        """Return the numbers of changes, then a table per kind."""
        from lineage_merge.questions.formats.change_tables import change_tables

        return change_tables(self.changes, self.title)

    def csv_tables(self) -> "Iterable[RenderableType]":
        """Return a row per change and property."""
        from lineage_merge.questions.formats.change_tables import change_rows

        return [change_rows(self.changes)]


@dataclass(frozen=True, kw_only=True, repr=False)
class MergesResult(NoGraphResult):
    """The merges of a history, newest first."""

    columns: ClassVar[Mapping[str, type]] = {
        "environment": str,
        "dag": str,
        "merge": str,
        "at": datetime,
        "kind": str,
        "added": int,
        "changed": int,
        "retired": int,
        "vertices": int,
        "edges": int,
        "run_id": str,
        "logical_date": str,
        "version": str,
    }

    merges: "tuple[ScopedMerge, ...]" = ()

    def records(self) -> Iterator[Record]:
        """Yield the merges."""
        for each in self.merges:
            found = _merge(each) | {"at": each.record.name.time}
            yield {key: found[key] for key in self.columns}

    def fields(self) -> dict[str, Any]:
        """Return the merges."""
        return {"merges": [_merge(each) for each in self.merges]}

    def tables(self) -> "Iterable[RenderableType]":
        """Return a row per merge."""
        from lineage_merge.query.history_tables import merge_table

        return [merge_table(self.merges)]


@dataclass(frozen=True, kw_only=True, repr=False)
class TimelineResult(NoGraphResult):
    """What merges changed of `element`, oldest first."""

    columns: ClassVar[Mapping[str, type]] = {
        "environment": str,
        "dag": str,
        "merge": str,
        "at": datetime,
        "event": str,
        "what": str,
        "name": str,
        "before": str,
        "after": str,
    }

    element: Vertex
    events: "tuple[TimelineEvent, ...]" = ()

    def records(self) -> Iterator[Record]:
        """Yield the events, newest first."""
        for each in reversed(self.events):
            found = each.as_json() | {"at": each.merge.record.name.time}
            yield {key: found.get(key) for key in self.columns}

    def parameters(self) -> dict[str, Any]:
        """Return the element."""
        return {"of": self.element.id}

    def fields(self) -> dict[str, Any]:
        """Return the events, newest first."""
        return {"events": [each.as_json() for each in reversed(self.events)]}

    def tables(self) -> "Iterable[RenderableType]":
        """Return a row per event, with its text."""
        from lineage_merge.query.history_tables import event_table

        return [event_table(self.events, self.element.title)]

    def csv_tables(self) -> "Iterable[RenderableType]":
        """Return a row per event, with its parts."""
        from lineage_merge.query.history_tables import event_rows

        return [event_rows(self.events)]


def _moment(picture: "AsOf") -> dict[str, Any]:
    return {"moment": str(picture.moment), "merges": [each.as_json() for each in picture.merges]}


def _merge(merge: "ScopedMerge") -> dict[str, Any]:
    record = merge.record
    return {
        **merge.as_json(),
        "kind": record.kind,
        "added": record.added,
        "changed": record.changed,
        "retired": record.retired,
        "vertices": record.vertices,
        "edges": record.edges,
        "run_id": record.run_id,
        "logical_date": record.logical_date,
        "version": record.version,
    }

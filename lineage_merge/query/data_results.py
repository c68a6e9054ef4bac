"""Answers about late or wrong data."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar

from lineage_merge.graph_format.elements import Vertex
from lineage_merge.query.result import Record, Result
from lineage_merge.questions.assertions import Check, Checks
from lineage_merge.questions.causes import Cause, Diagnosis
from lineage_merge.questions.formats.freshness_json import cause_as_json, check_as_json, freshness_as_json
from lineage_merge.questions.freshness import Freshness

if TYPE_CHECKING:
    from rich.console import RenderableType

    from lineage_merge.model.errors import LineageMergeError


@dataclass(frozen=True, kw_only=True, repr=False)
class FreshnessResult(Result):
    """Datasets by last update at `now` (ms since 1970); `assessed`: also those that are not in `datasets`."""

    columns: ClassVar[Mapping[str, type]] = {
        "dataset": str,
        "title": str,
        "status": str,
        "reasons": tuple,
        "age_ms": int,
        "updated_at": datetime,
        "written_at": datetime,
        "failed_at": datetime,
        "max_loaded_at": datetime,
        "because_of": str,
    }

    now: int
    datasets: tuple[Freshness, ...] = ()
    assessed: tuple[Freshness, ...] = ()
    start: Vertex | None = None
    older_than_ms: int | None = None

    def records(self) -> Iterator[Record]:
        """Yield the datasets, the oldest first."""
        for each in self.datasets:
            found = freshness_as_json(each) | {"title": each.dataset.title}
            found |= {"reasons": each.reasons, "because_of": (found["because_of"] or {}).get("dataset")}
            yield {key: found[key] for key in self.columns}

    def parameters(self) -> dict[str, Any]:
        """Return the start and times, the numbers by status, and the datasets."""
        from lineage_merge.questions.formats.freshness_tables import freshness_counts

        return {
            "of": self.start.id if self.start else None,
            "now": self.now,
            "older_than_ms": self.older_than_ms,
            "counts": freshness_counts(self.assessed),
            "datasets": [freshness_as_json(each) for each in self.datasets],
        }

    def tables(self) -> "Iterable[RenderableType]":
        """Return a row per dataset, then numbers."""
        from lineage_merge.questions.formats.freshness_tables import freshness_tables

        return freshness_tables(self.datasets, self.assessed)


@dataclass(frozen=True, kw_only=True, repr=False)
class AssertionsResult(Result):
    """Tests with their newest results. `found`: all of the scope, `shown`: those of the answer."""

    columns: ClassVar[Mapping[str, type]] = {
        "assertion": str,
        "name": str,
        "type": str,
        "dataset": str,
        "checked": str,
        "column": str,
        "distance": int,
        "severity": str,
        "status": str,
        "failures": int,
        "last_run_at": datetime,
    }

    found: Checks
    shown: Checks
    start: Vertex | None = None
    depth: int | None = None

    @property
    def tests(self) -> tuple[Check, ...]:
        """The tests of the answer."""
        return self.shown.checks

    @property
    def coverage(self) -> str:
        """What was searched for tests, as the end of a sentence."""
        return f" of {self.start.title} and upstream" if self.start else ""

    def records(self) -> Iterator[Record]:
        """Yield the tests."""
        return map(check_as_json, self.tests)

    def parameters(self) -> dict[str, Any]:
        """Return the start and depth, the tests, and the datasets without any."""
        return {
            "of": self.start.id if self.start else None,
            "depth": self.depth,
            "tests": [check_as_json(each) for each in self.tests],
            "datasets_without_tests": [each.id for each in self.found.unchecked] if self.start else None,
        }

    def tables(self) -> "Iterable[RenderableType]":
        """Return a row per test, then numbers."""
        from lineage_merge.questions.formats.freshness_tables import check_tables

        return check_tables(self.found, self.shown, self.coverage)


@dataclass(frozen=True, kw_only=True, repr=False)
class CausesResult(Result):
    """The nearest causes why the data of `start` may be late or wrong.

    `changes_error`: why recent changes are unknown, although there is a history; `note` has its message.
    """

    columns: ClassVar[Mapping[str, type]] = {
        "kind": str,
        "distance": int,
        "dataset": str,
        "element": str,
        "evidence": str,
        "at": datetime,
        "status": str,
        "failures": int,
        "other": str,
        "other_at": datetime,
        "path": tuple,
        "next": str,
    }

    start: Vertex
    now: int
    diagnosis: Diagnosis
    depth: int | None = None
    older_than_ms: int | None = None
    changes_error: "LineageMergeError | None" = None

    @property
    def causes(self) -> tuple[Cause, ...]:
        """The causes, the nearest first."""
        return self.diagnosis.causes

    @property
    def _options(self) -> tuple[str, ...]:
        return ("--environment", self.scope.environment) if self.scope.environment else ()

    def records(self) -> Iterator[Record]:
        """Yield the causes; `next` is a command."""
        for each in self.causes:
            yield cause_as_json(each, self._options) | {"path": each.path}

    def parameters(self) -> dict[str, Any]:
        """Return the start, depth and times, the causes, and what was checked."""
        return {
            "of": self.start.id,
            "depth": self.depth,
            "now": self.now,
            "older_than_ms": self.older_than_ms,
            "causes": [cause_as_json(each, self._options) for each in self.causes],
            "checked": self.diagnosis.counts,
        }

    def tables(self) -> "Iterable[RenderableType]":
        """Return a paragraph per cause."""
        from lineage_merge.questions.formats.freshness_tables import cause_lines

        return cause_lines(self.start.title, self.diagnosis, self._options)

    def csv_tables(self) -> "Iterable[RenderableType]":
        """Return a row per cause."""
        from lineage_merge.questions.formats.freshness_tables import cause_table

        return [cause_table(self.diagnosis, self._options)]


def causes_note(start: Vertex, diagnosis: Diagnosis, changes_problem: str = "") -> str:
    """Return the note of an answer about causes. `changes_problem`: why recent changes are unknown."""
    lines = [f"note: recent changes are unknown: {changes_problem}"] if changes_problem else []
    return "\n".join([*lines, *([] if diagnosis.causes else [f"{start.title}: no cause found"])])

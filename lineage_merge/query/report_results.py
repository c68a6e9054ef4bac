"""Answers about the last merge of a DAG, and about what is probably one dataset."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from lineage_merge.load.merge_run import MergeRun
from lineage_merge.merge.report import NearMiss
from lineage_merge.model.elements import Problem
from lineage_merge.query.history_results import NoGraphResult
from lineage_merge.questions.result import Record

if TYPE_CHECKING:
    from rich.console import RenderableType


@dataclass(frozen=True, kw_only=True, repr=False)
class ReportResult(NoGraphResult):
    """The last merge of a DAG; `run.report` has what it joined, and what it could not join."""

    columns: ClassVar[Mapping[str, type]] = {"kind": str, "document": str, "field": str, "message": str}

    run: MergeRun

    def records(self) -> Iterator[Record]:
        """Yield the problems: examples, of which `run.report.totals` has the numbers."""
        for each in self.run.report.problems if self.run.report else ():
            yield {
                "kind": each.kind,
                "document": each.document,
                "field": each.field or None,
                "message": each.message,
            }

    def header(self) -> dict[str, Any]:
        """Return no fields: the JSON is that of the merge."""
        return {}

    def fields(self) -> dict[str, Any]:
        """Return the merge and its report."""
        return self.run.as_json()

    def tables(self) -> "Iterable[RenderableType]":
        """Return the merge, what it joined, and the problems."""
        from rich.text import Text

        from lineage_merge.model.times import utc_time
        from lineage_merge.questions.formats.table import add_row, new_table

        run = self.run
        yield Text(f"{run.dag_name} in {run.environment}, merged at {utc_time(run.last_merged_at)}")
        numbers = new_table("written", "retired", "datasets joined", is_summary=True)
        joined = run.report.datasets_joined if run.report else 0
        add_row(numbers, run.elements_written, run.elements_retired, joined)
        yield numbers
        problems = new_table(*self.columns)
        for record in self.records():
            add_row(problems, *(str(each or "") for each in record.values()))
        yield problems


@dataclass(frozen=True, kw_only=True, repr=False)
class NearMissesResult(NoGraphResult):
    """Datasets that are probably one, best first; `problems`: limits that the search exceeded."""

    columns: ClassVar[Mapping[str, type]] = {
        "written": str,
        "read": str,
        "score": int,
        "evidence": tuple,
        "fix_key": str,
        "fix": str,
    }

    near_misses: tuple[NearMiss, ...] = ()
    problems: tuple[Problem, ...] = ()

    def records(self) -> Iterator[Record]:
        """Yield the pairs; `fix` is YAML of the configuration that joins them."""
        return (each._asdict() for each in self.near_misses)

    def header(self) -> dict[str, Any]:
        """Return no fields: the JSON is that of the command."""
        return {}

    def fields(self) -> dict[str, Any]:
        """Return the pairs and the notes."""
        found = [{**each._asdict(), "evidence": list(each.evidence)} for each in self.near_misses]
        return {"near_misses": found, "notes": [each.message for each in self.problems]}

    def tables(self) -> "Iterable[RenderableType]":
        """Return a row per pair."""
        from lineage_merge.questions.formats.table import add_row, new_table

        table = new_table(*(each.replace("_", " ") for each in self.columns), optional=("fix key", "fix"))
        for each in self.near_misses:
            evidence = "; ".join(each.evidence)
            add_row(table, each.written, each.read, each.score, evidence, each.fix_key, each.fix)
        return [table]

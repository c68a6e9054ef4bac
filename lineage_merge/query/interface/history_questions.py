"""Questions about differences of environments and moments, and about merges."""

from typing import TYPE_CHECKING

from lineage_merge.model.errors import NotFound, QueryError
from lineage_merge.query.interface.past import (
    Past,
    changes_between,
    merge_as_of,
    merges,
    past_of,
    timeline_of,
)
from lineage_merge.query.interface.questions import Questions

if TYPE_CHECKING:
    from lineage_merge.query.interface.history_results import (
        ChangesResult,
        ComparisonResult,
        MergesResult,
        TimelineResult,
    )
    from lineage_merge.query.interface.report_results import ReportResult


class HistoryQuestions(Questions):
    """Questions about changes. Those on moments need a history."""

    def compare(self, environment: str, other: str) -> "ComparisonResult":
        """Return the datasets, feeds and columns that only one of two environments has.

        The scope's environment has no effect. Raises `NotFound` if both environments have no lineage.
        """
        from lineage_merge.query.comparison import compare
        from lineage_merge.query.interface.history_results import ComparisonResult

        dag = self._session.dag
        notes = self._empty_sides((environment, other))
        found = compare(self._graph, environment, other, dag)
        if found.only_left.is_empty and found.only_right.is_empty:
            notes.append(f"{environment} and {other} are identical")
        return ComparisonResult(
            question="diff", scope=self._session.scope, note="\n".join(notes), comparison=found
        )

    def diff(
        self,
        start: str,
        end: str = "0m",
        *,
        upstream_of: str | None = None,
        downstream_of: str | None = None,
    ) -> "ChangesResult":
        """Return what was added, removed and changed between two moments, as the history has it.

        Moments are a date, a time, an age (``3d``) or the id of a merge. `upstream_of`, `downstream_of`: only
        what feeds a dataset or column, or what it feeds, at either moment.
        """
        if upstream_of and downstream_of:
            raise QueryError("upstream_of and downstream_of are mutually exclusive")
        return changes_between(self._past(), start, end, upstream_of=upstream_of, downstream_of=downstream_of)

    def merges(self, *, limit: int | None = None) -> "MergesResult":
        """Return the merges of the environment or DAG, newest first, with what each changed."""
        return merges(self._past(), limit)

    def history(self, name: str, *, limit: int | None = None) -> "TimelineResult":
        """Return when a dataset, column or job appeared, changed and was removed, and by which merge.

        The name may be one that the lineage had. `limit`: the newest events.
        """
        return timeline_of(self._past(), name, limit)

    def report(self) -> "ReportResult":
        """Return the report of the last merge of the DAG in the environment; both are required.

        Folders of `build` have none. Raises `NotFound` if the graph has no such merge.
        """
        from lineage_merge.history.moments import parse_moment
        from lineage_merge.load.merge_run import merge_run_of, run_id
        from lineage_merge.query.interface.report_results import ReportResult
        from lineage_merge.query.names import check_scope

        environment, dag, as_of, _ = scope = self._session.scope
        if environment is None or dag is None:
            raise QueryError("a report needs environment and dag. Fix: set them when the graph is opened")
        if as_of:
            found = merge_as_of(self._past().location, parse_moment(as_of), environment, dag)
            return ReportResult(question="report", scope=scope, run=found)
        vertices = self._graph.vertices([run_id(environment, dag)])
        run = merge_run_of(environment, dag, vertices[0].properties) if vertices else None
        if run is None:
            check_scope(self._graph, environment, dag)
            raise NotFound(f"the graph has no merge of {dag} in {environment}")
        return ReportResult(question="report", scope=scope, run=run)

    def _past(self) -> Past:
        session = self._session
        return past_of(session.selection, session.config, session.environment)

    def _empty_sides(self, both: tuple[str, str]) -> list[str]:
        """Return notes on environments without lineage. Raises `NotFound` if both have none."""
        from lineage_merge.query.names import check_scope

        unknown: list[NotFound] = []
        for environment in both:
            try:
                check_scope(self._graph, environment, self._session.dag)
            except NotFound as error:
                unknown.append(error)
        if len(unknown) == len(both):
            raise unknown[0]
        return [f"note: {each.message} {', '.join(each.candidates)}" for each in unknown]

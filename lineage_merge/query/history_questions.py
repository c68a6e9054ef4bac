"""Questions about differences of environments and moments, and about merges."""

from typing import TYPE_CHECKING

from lineage_merge.model.errors import NotFound, QueryError
from lineage_merge.query.past import (
    Past,
    changes_between,
    merges,
    past_of,
    timeline_of,
)
from lineage_merge.query.questions import Questions

if TYPE_CHECKING:
    from lineage_merge.query.history_results import (
        ChangesResult,
        ComparisonResult,
        MergesResult,
        TimelineResult,
    )


class HistoryQuestions(Questions):
    """Questions about changes. Those on moments need a history."""

    def compare(self, environment: str, other: str) -> "ComparisonResult":
        """Return the datasets, feeds and columns that only one of two environments has.

        The scope's environment has no effect. Raises `NotFound` if both environments have no lineage.
        """
        from lineage_merge.query.history_results import ComparisonResult
        from lineage_merge.questions.comparison import compare

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
        end: str = "now",
        *,
        upstream_of: str | None = None,
        downstream_of: str | None = None,
    ) -> "ChangesResult":
        """Return what was added, removed and changed between two moments, as the history has it.

        Moments are ``now``, a date, a time, an age (``3d``) or the id of a merge. `upstream_of`,
        `downstream_of`: only what feeds a dataset or column, or what it feeds, at either moment.
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

    def _past(self) -> Past:
        session = self._session
        return past_of(session.selection, session.config, session.environment)

    def _empty_sides(self, both: tuple[str, str]) -> list[str]:
        """Return notes on environments without lineage. Raises `NotFound` if both have none."""
        from lineage_merge.questions.names import check_scope

        unknown: list[NotFound] = []
        for environment in both:
            try:
                check_scope(self._graph, environment, self._session.dag)
            except NotFound as error:
                unknown.append(error)
        if len(unknown) == len(both):
            raise unknown[0]
        return [f"note: {each.message} {', '.join(each.candidates)}" for each in unknown]

"""Questions about late or wrong data."""

from typing import TYPE_CHECKING

from lineage_merge.query.questions import Questions

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from lineage_merge.model.errors import LineageMergeError
    from lineage_merge.query.arguments import Age
    from lineage_merge.query.data_results import AssertionsResult, CausesResult, FreshnessResult
    from lineage_merge.questions.causes import FindChanges, RecentChange


class DataQuestions(Questions):
    """Questions about the data of a dataset or column."""

    def freshness(
        self,
        name: str | None = None,
        *,
        older_than: "Age | None" = None,
        stale: bool = False,
        limit: int | None = None,
        now: int | None = None,
    ) -> "FreshnessResult":
        """Return a dataset with its upstream, or all datasets, by last update: oldest first, unknown last.

        A dataset is fresh if what is expected of it holds: its freshness check, `older_than` and the policies
        of the configuration. Without any of them it is current. `older_than`: the age from which a dataset is
        stale (``1d``, `timedelta`, ms). `stale`: only stale datasets. `now`: ms since 1970.
        """
        from lineage_merge.graph_format.elements import subgraph
        from lineage_merge.query.arguments import age_ms, now_ms
        from lineage_merge.query.data_results import FreshnessResult
        from lineage_merge.questions.expectations import Expectations
        from lineage_merge.questions.freshness import freshness

        now = now_ms() if now is None else now
        older_than_ms = age_ms(older_than)
        scope = self._session.scope
        start = self._dataset_or_column(name) if name is not None else None
        found = freshness(
            self._graph,
            Expectations(now, older_than_ms, self._session.config.policies),
            start,
            environment=scope.environment,
            dag=scope.dag,
        )
        shown = [each for each in found if not stale or each.status == "stale"][:limit]
        return FreshnessResult(
            question="freshness",
            scope=scope,
            graph=subgraph(each.dataset for each in shown),
            note="" if found else self._session.empty_note("no datasets"),
            now=now,
            datasets=tuple(shown),
            assessed=tuple(found),
            start=start,
            older_than_ms=older_than_ms,
        )

    def tests(
        self, name: str | None = None, *, failed: bool = False, depth: int | None = None
    ) -> "AssertionsResult":
        """Return the tests of a dataset or column and of everything upstream of it, or all tests.

        `failed`: only tests whose newest result is failed, error or warned. Raises `QueryError` if `depth` is
        set without `name`.
        """
        from dataclasses import replace

        from lineage_merge.graph_format.elements import subgraph
        from lineage_merge.model.errors import QueryError
        from lineage_merge.query.data_results import AssertionsResult
        from lineage_merge.questions.assertions import all_checks, checks_upstream

        if depth is not None and name is None:
            raise QueryError("depth requires a dataset or column")
        scope = self._session.scope
        start = self._dataset_or_column(name) if name is not None else None
        if start is None:
            found = all_checks(self._graph, scope.environment, scope.dag)
        else:
            found = checks_upstream(self._graph, start, depth=depth, dag=scope.dag)
        shown = replace(found, checks=found.failed()) if failed else found
        note = ""
        if not shown.checks:
            where = f" of {start.title} and upstream" if start else ""
            note = "no failed tests" if failed and found.checks else f"no tests{where}"
            note = self._session.empty_note(note)
        return AssertionsResult(
            question="tests",
            scope=scope,
            graph=subgraph(vertex for each in shown.checks for vertex in (each.assertion, each.checked)),
            note=note,
            found=found,
            shown=shown,
            start=start,
            depth=depth,
        )

    def why(
        self,
        name: str,
        *,
        older_than: "Age | None" = None,
        depth: int | None = None,
        changes_since: "Age | None" = "7d",
        now: int | None = None,
    ) -> "CausesResult":
        """Return the nearest causes why the data of a dataset or column may be late or wrong.

        `older_than` and `now` as of `freshness`. `changes_since`: the age of merges whose changes are causes,
        with a history (None: no change is one).
        """
        from lineage_merge.graph_format.elements import subgraph
        from lineage_merge.query.arguments import age_ms, now_ms
        from lineage_merge.query.data_results import CausesResult, causes_note
        from lineage_merge.questions.causes import diagnose
        from lineage_merge.questions.expectations import Expectations

        now = now_ms() if now is None else now
        older_than_ms = age_ms(older_than)
        period = age_ms(changes_since, "changes_since")
        start = self._dataset_or_column(name)
        errors: list[LineageMergeError] = []
        found = diagnose(
            self._graph,
            start,
            Expectations(now, older_than_ms, self._session.config.policies),
            depth=depth,
            dag=self._session.dag,
            find_changes=self._find_changes(start.environment, now, period, errors),
        )
        known = found.situation.upstream.datasets
        vertices = [each.finding.element for each in found.causes]
        vertices += [known[each] for cause in found.causes for each in cause.path if each in known]
        return CausesResult(
            question="why",
            scope=self._session.scope,
            graph=subgraph(vertices),
            note=causes_note(start, found, errors[0].message if errors else ""),
            start=start,
            now=now,
            diagnosis=found,
            depth=depth,
            older_than_ms=older_than_ms,
            changes_error=errors[0] if errors else None,
        )

    def _find_changes(
        self, environment: str, now: int, period: int | None, errors: "list[LineageMergeError]"
    ) -> "FindChanges | None":
        """Return the search for changes in the history; None without one. It adds to `errors`."""
        from lineage_merge.history.location import history_location
        from lineage_merge.model.errors import LineageMergeError

        session = self._session
        selection = session.selection
        location = selection.history.rstrip("/") or history_location(session.config, selection.graph_file)
        if period is None or selection.folder or not location:
            return None
        # As of a moment: until the newest merge of then.
        until = max((each.record.name.time for each in session.scope.merges), default=now)

        def find(datasets: "Collection[str]") -> "Mapping[str, Sequence[RecentChange]]":
            from lineage_merge.questions.recent_changes import recent_changes

            try:
                return recent_changes(location, environment, datasets, until - period, until)
            except LineageMergeError as error:
                errors.append(error)
                return {}

        return find

"""Questions about merges: the report of the last one, and what it could not join."""

from typing import TYPE_CHECKING

from lineage_merge.model.errors import NotFound, QueryError
from lineage_merge.query.past import past_of, report_until
from lineage_merge.query.questions import Questions

if TYPE_CHECKING:
    from lineage_merge.query.report_results import NearMissesResult, ReportResult


class ReportQuestions(Questions):
    """Questions about what merges joined."""

    def report(self) -> "ReportResult":
        """Return the report of the last merge of the DAG in the environment; both are required.

        Folders of `build` have none. Raises `NotFound` if the graph has no such merge.
        """
        from lineage_merge.load.merge_run import merge_run_of, run_id
        from lineage_merge.query.report_results import ReportResult
        from lineage_merge.questions.names import check_scope

        session = self._session
        environment, dag, as_of, _ = session.scope
        if environment is None or dag is None:
            raise QueryError("a report needs environment and dag. Fix: set them when the graph is opened")
        if as_of:
            return report_until(past_of(session.selection, session.config, environment), as_of)
        vertices = self._graph.vertices([run_id(environment, dag)])
        run = merge_run_of(environment, dag, vertices[0].properties) if vertices else None
        if run is None:
            check_scope(self._graph, environment, dag)
            raise NotFound(f"the graph has no merge of {dag} in {environment}")
        return ReportResult(question="report", scope=session.scope, run=run)

    def near_misses(self) -> "NearMissesResult":
        """Return datasets that are probably one, which jobs write and read under different names.

        The environment is required, all of its DAGs are searched. Fixes are changes of the configuration.
        """
        from dataclasses import replace

        from lineage_merge.query.report_results import NearMissesResult
        from lineage_merge.questions.near_misses import near_misses

        session = self._session
        if session.environment is None:
            raise QueryError("near misses need an environment. Fix: set it when the graph is opened")
        found, problems = near_misses(self._graph, replace(session.config, environment=session.environment))
        notes = [f"note: {each.message}" for each in problems]
        return NearMissesResult(
            question="near misses",
            scope=session.scope,
            note="\n".join(notes if found else [*notes, f"no near misses in {session.environment}"]),
            near_misses=found,
            problems=problems,
        )

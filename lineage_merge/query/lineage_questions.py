"""Questions on lineage: upstream, downstream, paths, impact and owners."""

from typing import TYPE_CHECKING

from lineage_merge.query.questions import Questions

if TYPE_CHECKING:
    from lineage_merge.query.impact_results import ImpactResult, OwnersResult
    from lineage_merge.query.lineage_results import LineageResult, PathResult
    from lineage_merge.questions.graph import Direction


class LineageQuestions(Questions):
    """Questions on the lineage of a dataset, column or job."""

    def upstream(
        self, name: str, *, depth: int | None = None, columns: bool = False, influences: bool = False
    ) -> "LineageResult":
        """Return what feeds a dataset or column, within `depth` hops (None: unlimited).

        `columns` adds the columns of the datasets and the edges between them, `influences` the columns that
        determine rows; neither is followed.
        """
        return self._lineage(name, "up", depth, columns, influences)

    def downstream(
        self, name: str, *, depth: int | None = None, columns: bool = False, influences: bool = False
    ) -> "LineageResult":
        """Return what a dataset or column feeds; parameters as of `upstream`."""
        return self._lineage(name, "down", depth, columns, influences)

    def path(
        self,
        start: str,
        end: str,
        *,
        depth: int | None = None,
        columns: bool = False,
        influences: bool = False,
    ) -> "PathResult":
        """Return all paths from one dataset or column to another; parameters as of `upstream`."""
        from lineage_merge.query.lineage_results import PathResult
        from lineage_merge.questions.paths import all_paths

        first, last = self._dataset_or_column(start), self._dataset_or_column(end)
        found = all_paths(
            self._graph,
            first,
            last,
            depth=depth,
            dag=self._session.dag,
            columns=columns,
            influences=influences,
        )
        has_path = any(each.label in ("feeds", "feeds_column") for each in found.edges)
        return PathResult(
            question="path",
            scope=self._session.scope,
            graph=found,
            note="" if has_path else f"no path from {first.title} to {last.title}",
            start=first,
            end=last,
            depth=depth,
        )

    def impact(self, name: str, *, change: str | None = None, depth: int | None = None) -> "ImpactResult":
        """Return everything that depends on a dataset, a column or a job.

        `change`: ``drop``, ``rename`` or ``retype``, to know what breaks, changes or only depends on it.
        Raises `QueryError` if the element cannot be changed like this.
        """
        from lineage_merge.query.impact_results import ImpactResult
        from lineage_merge.questions.affected_tests import affected_tests
        from lineage_merge.questions.arguments import change_of
        from lineage_merge.questions.dependents import dependents

        kind = change_of(change)
        changed = self.resolve(name)
        found = dependents(self._graph, changed, change=kind, depth=depth, dag=self._session.dag)
        return ImpactResult(
            question="impact",
            scope=self._session.scope,
            graph=found.impact.subgraph,
            note="" if found.elements else f"nothing depends on {changed.title}",
            dependents=found,
            tests=affected_tests(self._graph, found, self._session.dag),
            change=change,
            depth=depth,
        )

    def owners(self, name: str, *, depth: int | None = None) -> "OwnersResult":
        """Return the owners of everything that a change of a dataset, column or job affects."""
        from lineage_merge.query.impact_results import OwnersResult
        from lineage_merge.questions.dependents import dependents
        from lineage_merge.questions.ownership import ownership

        changed = self.resolve(name)
        affected = dependents(self._graph, changed, depth=depth, dag=self._session.dag)
        found = ownership(affected)
        note = ""
        if not affected.elements:
            note = f"nothing depends on {changed.title}"
        elif found.without_owner:
            note = f"affected datasets and exposures without an owner: {len(found.without_owner):,}"
        return OwnersResult(
            question="owners",
            scope=self._session.scope,
            graph=affected.impact.subgraph,
            note=note,
            changed=changed,
            ownership=found,
            depth=depth,
        )

    def _lineage(
        self, name: str, direction: "Direction", depth: int | None, columns: bool, influences: bool
    ) -> "LineageResult":
        from lineage_merge.query.lineage_results import LineageResult
        from lineage_merge.questions.lineage import lineage

        start = self._dataset_or_column(name)
        found = lineage(
            self._graph,
            start,
            direction,
            depth=depth,
            dag=self._session.dag,
            columns=columns,
            influences=influences,
        )
        question = "upstream" if direction == "up" else "downstream"
        is_empty = all(each.label == "has_column" for each in found.edges)
        return LineageResult(
            question=question,
            scope=self._session.scope,
            graph=found,
            note=f"{start.title}: no {question} datasets" if is_empty else "",
            start=start,
            depth=depth,
        )

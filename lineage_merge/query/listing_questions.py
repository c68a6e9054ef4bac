"""Questions that list datasets and jobs."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from lineage_merge.query.questions import Questions

if TYPE_CHECKING:
    from lineage_merge.graph_format.elements import Subgraph
    from lineage_merge.query.listing_results import (
        DatasetsResult,
        JobsResult,
        LayersResult,
        VerticesResult,
    )
    from lineage_merge.questions.arguments import Time
    from lineage_merge.questions.graph import LineageGraph
    from lineage_merge.questions.layers import Layer
    from lineage_merge.questions.listing import JobOrder


class ListingQuestions(Questions):
    """Lists of datasets and jobs."""

    def datasets(
        self,
        search: str = "",
        *,
        tags: Iterable[str] = (),
        owners: Iterable[str] = (),
        without_owner: bool = False,
        failed: bool = False,
        limit: int | None = None,
        columns: bool = False,
    ) -> "DatasetsResult":
        """Return the datasets whose names contain a text, with all tags and owners.

        `failed`: those whose newest run, or a test of them, failed. `columns` adds their columns to the
        graph.
        """
        from lineage_merge.query.listing_results import DatasetsResult
        from lineage_merge.questions.dataset_search import DatasetFilter, search_datasets

        wanted = DatasetFilter(tuple(tags), tuple(owners), without_owner, failed)
        scope = self._session.scope
        found = search_datasets(
            self._graph, search, scope.environment, scope.dag, wanted, limit=limit, columns=columns
        )
        return DatasetsResult(
            question="datasets",
            scope=scope,
            graph=found.subgraph,
            note="" if found.datasets else self._session.empty_note("no matching dataset"),
            found=found,
            search=search,
            with_columns=columns,
        )

    def jobs(
        self,
        search: str = "",
        *,
        since: "Time | None" = None,
        failed: bool = False,
        order: "JobOrder | None" = None,
        limit: int | None = None,
    ) -> "JobsResult":
        """Return the jobs whose names contain a text, with their newest run.

        `since`: only newest runs that ended then or later: a time, an age (``1d``, `timedelta`), or ms
        since 1970. `order`: ``name``, ``last-run``, ``duration`` or ``rows``, descending; None: by id.
        """
        from lineage_merge.query.listing_results import JobsResult
        from lineage_merge.questions.arguments import time_ms
        from lineage_merge.questions.listing import jobs

        scope, start = self._session.scope, time_ms(since)
        found = jobs(
            self._graph,
            search,
            scope.environment,
            scope.dag,
            since=start,
            failed=failed,
            order=order,
            limit=limit,
        )
        return JobsResult(
            question="jobs",
            scope=scope,
            graph=found,
            note="" if found.vertices else self._session.empty_note("no matching job"),
            search=search,
            since=start,
            failed=failed,
        )

    def no_consumer(self) -> "VerticesResult":
        """Return the datasets that a job writes and no job reads."""
        from lineage_merge.questions.listing import no_consumer

        return self._listed("no-consumer", no_consumer, "all written datasets have a consumer")

    def no_producer(self) -> "VerticesResult":
        """Return the datasets that a job reads and no job writes."""
        from lineage_merge.questions.listing import no_producer

        return self._listed("no-producer", no_producer, "all read datasets have a producer")

    def layers(self, layers: "Sequence[Layer]" = (), *, adjacent: bool = False) -> "LayersResult":
        """Return the edges that violate an order of layers, by default that of `query.layers`.

        `adjacent`: also edges that skip a layer. Raises `ConfigError` without two layers.
        """
        from lineage_merge.model.errors import ConfigError
        from lineage_merge.query.listing_results import LayersResult
        from lineage_merge.questions.layers import Layer, check_layers

        configured = self._session.config.query.layers.items()
        declared = layers or tuple(Layer(name, globs) for name, globs in configured)
        if len(declared) < 2:
            raise ConfigError(
                "query.layers", "at least two layers are required: set them here or with --layer"
            )
        scope = self._session.scope
        found = check_layers(self._graph, declared, scope.environment, scope.dag, adjacent=adjacent)
        note = "" if found.breaches else "no edge violates the order"
        return LayersResult(question="layers", scope=scope, graph=found.subgraph, note=note, check=found)

    def _listed(
        self,
        question: str,
        listed: "Callable[[LineageGraph, str | None, str | None], Subgraph]",
        empty: str,
    ) -> "VerticesResult":
        from lineage_merge.query.listing_results import VerticesResult

        scope = self._session.scope
        found = listed(self._graph, scope.environment, scope.dag)
        note = "" if found.vertices else self._session.empty_note(empty)
        return VerticesResult(question=question, scope=scope, graph=found, note=note)

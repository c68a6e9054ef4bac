"""Lineage as Python objects: the same questions and answers as on the command line."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from datetime import date
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from lineage_merge.infra.progress import ProgressCallback, no_progress
from lineage_merge.query.interface.result import Scope
from lineage_merge.query.interface.selection import GraphSelection, selection_of
from lineage_merge.query.interface.session import Session, open_session

if TYPE_CHECKING:
    from lineage_merge.config import Config
    from lineage_merge.query.elements import Subgraph, Vertex
    from lineage_merge.query.graph import Direction, LineageGraph
    from lineage_merge.query.interface.arguments import Time
    from lineage_merge.query.interface.impact_results import ImpactResult, OwnersResult
    from lineage_merge.query.interface.lineage_results import LineageResult, PathResult
    from lineage_merge.query.interface.listing_results import (
        CyclesResult,
        DatasetsResult,
        JobsResult,
        LayersResult,
        VerticesResult,
    )
    from lineage_merge.query.layers import Layer
    from lineage_merge.query.listing import JobOrder


class Lineage:
    """An open graph that answers questions. It is a context manager; `close` ends its connections.

    Names of datasets, columns (``dataset#column``) and jobs are resolved as on the command line: a unique
    short or qualified name, ``namespace|name``, a URI, or an id. Methods raise `NotFound` and `Ambiguous` for
    names, and `GraphError` if the graph is unreachable.
    """

    def __init__(self, session: Session, on_close: Callable[[], None] = lambda: None) -> None:
        self._session = session
        self._on_close = on_close

    @classmethod
    def open(
        cls,
        location: "str | Path | Config | None" = None,
        *,
        config: "str | Path | Config | None" = None,
        environment: str | None = None,
        dag: str | None = None,
        as_of: str | date | None = None,
        history: str = "",
        demo: bool = False,
        on_progress: ProgressCallback = no_progress,
    ) -> "Lineage":
        """Open a graph.

        `location`: an endpoint (``wss://...``, ``embedded``), a folder of `build` (local or ``s3://``), the
        file of an embedded graph, or a configuration (``.yml``, ``.yaml``); None: the graph that `config` and
        environment variables set, by default the embedded one. `environment`, `dag`: the scope of all
        questions, by default the environment of the configuration and all DAGs. `as_of`: a date, time, age
        (``3d``) or merge of the history at `history`. `demo`: the graph of `lineage-merge demo`.

        Raises `ConfigError`, `GraphError`, `EmbeddedError`, `IntermediateError`, `SourceError`, `NotFound`.
        """
        moment = as_of.isoformat() if isinstance(as_of, date) else as_of
        selection = selection_of(
            location,
            config=config,
            environment=environment,
            dag=dag,
            as_of=moment,
            history=history,
            demo=demo,
        )
        resources = ExitStack()
        session = resources.enter_context(open_session(selection, on_progress))
        return cls(session, resources.close)

    @classmethod
    def of_graph(
        cls,
        graph: "LineageGraph",
        config: "Config | None" = None,
        *,
        environment: str | None = None,
        dag: str | None = None,
    ) -> "Lineage":
        """Return the interface of a graph that is already open; without `config` the defaults apply."""
        selection = GraphSelection(file=config, environment=environment, dag=dag)
        settings, _ = selection.config()
        return cls(Session(graph, Scope(environment, dag), settings, selection))

    def close(self) -> None:
        """Close the connections."""
        self._on_close()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connections."""
        self.close()

    @property
    def environments(self) -> list[str]:
        """The environments of the graph, sorted."""
        return self._graph.environments()

    def resolve(self, name: str) -> "Vertex":
        """Return the dataset, column or job of a name. Raises `NotFound`, `Ambiguous`."""
        from lineage_merge.query.names import resolve_any

        with self._session.hints():
            return resolve_any(self._graph, name, self._session.environment, self._session.dag)

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
        from lineage_merge.query.interface.lineage_results import PathResult
        from lineage_merge.query.paths import all_paths

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
        from lineage_merge.query.affected_tests import affected_tests
        from lineage_merge.query.dependents import dependents
        from lineage_merge.query.interface.arguments import change_of
        from lineage_merge.query.interface.impact_results import ImpactResult

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
        from lineage_merge.query.dependents import dependents
        from lineage_merge.query.interface.impact_results import OwnersResult
        from lineage_merge.query.ownership import ownership

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
        from lineage_merge.query.dataset_search import DatasetFilter, search_datasets
        from lineage_merge.query.interface.listing_results import DatasetsResult

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
        from lineage_merge.query.interface.arguments import time_ms
        from lineage_merge.query.interface.listing_results import JobsResult
        from lineage_merge.query.listing import jobs

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
        from lineage_merge.query.listing import no_consumer

        return self._listed("no-consumer", no_consumer, "all written datasets have a consumer")

    def no_producer(self) -> "VerticesResult":
        """Return the datasets that a job reads and no job writes."""
        from lineage_merge.query.listing import no_producer

        return self._listed("no-producer", no_producer, "all read datasets have a producer")

    def cycles(self) -> "CyclesResult":
        """Return the datasets that feed themselves, directly or through others."""
        from lineage_merge.query.cycles import cycles
        from lineage_merge.query.interface.listing_results import CyclesResult

        scope = self._session.scope
        found = cycles(self._graph, scope.environment, scope.dag)
        note = "" if found.groups else self._session.empty_note("no cycles")
        return CyclesResult(question="cycles", scope=scope, graph=found.subgraph, note=note, cycles=found)

    def layers(self, layers: "Sequence[Layer]" = (), *, adjacent: bool = False) -> "LayersResult":
        """Return the edges that violate an order of layers, by default that of `query.layers`.

        `adjacent`: also edges that skip a layer. Raises `ConfigError` without two layers.
        """
        from lineage_merge.model.errors import ConfigError
        from lineage_merge.query.interface.listing_results import LayersResult
        from lineage_merge.query.layers import Layer, check_layers

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

    @property
    def _graph(self) -> "LineageGraph":
        return self._session.graph

    def _dataset_or_column(self, name: str) -> "Vertex":
        from lineage_merge.query.names import resolve_dataset_or_column

        with self._session.hints():
            return resolve_dataset_or_column(self._graph, name, self._session.environment, self._session.dag)

    def _lineage(
        self, name: str, direction: "Direction", depth: int | None, columns: bool, influences: bool
    ) -> "LineageResult":
        from lineage_merge.query.interface.lineage_results import LineageResult
        from lineage_merge.query.lineage import lineage

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

    def _listed(
        self,
        question: str,
        listed: "Callable[[LineageGraph, str | None, str | None], Subgraph]",
        empty: str,
    ) -> "VerticesResult":
        from lineage_merge.query.interface.listing_results import VerticesResult

        scope = self._session.scope
        found = listed(self._graph, scope.environment, scope.dag)
        note = "" if found.vertices else self._session.empty_note(empty)
        return VerticesResult(question=question, scope=scope, graph=found, note=note)

"""Adds a merge to the history, after its load.

An entry is read from the graph, because the graph has more of a DAG than its merge: jobs that did not run
keep their lineage. A load that changed nothing adds only an object that refers to the entry before; one that
changed only properties of newest runs stores those vertices.
"""

import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lineage_merge.config import Config
from lineage_merge.graph_format.arrow import has_pyarrow
from lineage_merge.history import layout, merge_index
from lineage_merge.history.changed_entry import is_applicable, write_changed_entry
from lineage_merge.history.entry_files import write_rows, write_table
from lineage_merge.history.fingerprints import add_sums, write_sums
from lineage_merge.history.layout import ENTRY_KINDS, DagScope, MergeName
from lineage_merge.history.merge_record import MergeKind, MergeRecord
from lineage_merge.infra.engine.rows import Engine
from lineage_merge.infra.progress import ProgressCallback, no_progress
from lineage_merge.load.graph_access import Graph, read_changed, read_last_load, read_picture, read_runs
from lineage_merge.load.graph_state import Picture, PictureTables
from lineage_merge.load.merge_run import LastLoad
from lineage_merge.load.result import ChangedIds, Effect, LoadChanges, LoadResult
from lineage_merge.merge.report import Report
from lineage_merge.model.errors import HistoryError, LineageMergeError, SourceError
from lineage_merge.model.version import __version__

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Recorder:
    """The history of a DAG before a load: `before` is the load of the graph that the load continues."""

    location: str
    scope: DagScope
    graph: Graph
    before: LastLoad

    @classmethod
    def read_last_load(cls, location: str, scope: DagScope, graph: Graph) -> "Recorder":
        """Read what the graph stores about the last load of a DAG.

        Raises `GraphError`, and `IntermediateError` if the merge could not be added after the load: the
        history is damaged, or of a newer version. A history that is unavailable may be available then.
        """
        with suppress(SourceError):
            merge_index.newest_record(location, scope)
        return cls(location, scope, graph, read_last_load(graph, *scope))

    def record(
        self,
        engine: Engine,
        spark: "SparkSession | None",
        config: Config,
        loaded: LoadResult,
        report: Report | None,
        on_progress: ProgressCallback = no_progress,
        changed: LoadChanges | None = None,
    ) -> MergeRecord:
        """Add the merge of a load that has ended. `changed`: what it changed, if that is known.

        Raises `HistoryError`.
        """
        on_progress("writing the history")
        with _as_history_error("the graph is loaded, but its history is not written"):
            newest = merge_index.newest_record(self.location, self.scope)
            # A merge is being added, or its process was killed.
            is_adding = newest and merge_index.entry_names(self.location, self.scope, newest.name)
            is_continued = continues(newest, self.before, bool(is_adding))
            kind = kind_of(loaded.effect, is_continued)
            last = read_last_load(self.graph, *self.scope)
            merged_at = last.merged_at
            # Whatever else changed the graph before or after the load is not in the entry before, nor here.
            is_all = changed and newest and (changed.before, changed.after) == (newest.edition, last.edition)
            name = new_name(merged_at, newest)
            vertices, edges = (newest.vertices, newest.edges) if newest else (0, 0)
            if kind == "full":
                counts = None
                if newest and changed and is_all and is_continued and not last.is_followed:
                    counts = self._write_changed(name, newest, engine, changed.ids)
                vertices, edges = counts or _write_full(
                    self.location, self.scope, name, engine, self.graph, spark
                )
            elif kind == "runs":
                rows = read_runs(engine, self.graph, *self.scope)
                write_rows(rows, "runs", layout.entry_folder(self.location, "runs", self.scope, name), spark)
            if loaded.moves:
                merge_index.write_moves(self.location, self.scope, name, dict(loaded.moves))
            if kind != "unchanged":
                merge_index.write_details(
                    layout.json_file(self.location, layout.DETAILS, self.scope, name), report, config
                )
            record = MergeRecord(
                name=name,
                kind=kind,
                entry=name if kind == "full" or newest is None else newest.entry,
                runs=name if kind == "runs" else newest.runs if kind == "unchanged" and newest else None,
                merged_at=merged_at,
                added=loaded.added,
                changed=loaded.nodes + loaded.edges - loaded.added,
                retired=loaded.retired_nodes + loaded.retired_edges,
                vertices=vertices,
                edges=edges,
                run_id=config.history.run_id,
                logical_date=config.history.logical_date,
                version=__version__,
                edition=last.edition if kind == "full" or is_all else "",
            )
            merge_index.write_record(self.location, self.scope, record)
        return record

    def _write_changed(
        self, name: MergeName, before: MergeRecord, engine: Engine, changed: ChangedIds
    ) -> tuple[int, int] | None:
        """Write an entry from the one before; return the numbers of nodes and edges, None if it is not."""
        if not has_pyarrow() or not is_applicable(before, changed):
            return None
        picture = read_changed(engine, self.graph, *self.scope, changed)
        return write_changed_entry(self.location, self.scope, name, before, changed, picture)


def record_merge(
    location: str, scope: DagScope, record: MergeRecord, picture: Picture, config: Config, report: Report
) -> None:
    """Add a merge, of any time, with an entry of its own; its elements need not be in a graph."""
    vertices, edges = write_entry(location, scope, record.name, picture)
    merge_index.write_details(layout.json_file(location, layout.DETAILS, scope, record.name), report, config)
    complete = replace(record, entry=record.name, vertices=vertices, edges=edges)
    merge_index.write_record(location, scope, complete)


def continues(newest: MergeRecord | None, before: LastLoad, has_unfinished_entry: bool) -> bool:
    """Return whether the graph before a load was what the entry of the newest merge has. Pure.

    So every load since was recorded, and none was killed.
    """
    return (
        newest is not None
        and newest.entry is not None
        and newest.merged_at == before.merged_at
        and not before.is_unfinished
        and not has_unfinished_entry
    )


def kind_of(effect: Effect, is_continued: bool) -> MergeKind:
    """Return what has to be stored of a load. `is_continued`: see `continues`. Pure."""
    if not is_continued or effect == "lineage":
        return "full"
    return "runs" if effect == "runs" else "unchanged"


def new_name(merged_at: int, newest: MergeRecord | None) -> MergeName:
    """Return the name of a new merge, which sorts after the newest one whatever the clocks say."""
    at = max(merged_at, newest.name.time + 1) if newest else merged_at
    return MergeName(at, uuid.uuid4().hex[:12])


def _write_full(
    location: str,
    scope: DagScope,
    name: MergeName,
    engine: Engine,
    graph: Graph,
    spark: "SparkSession | None" = None,
) -> tuple[int, int]:
    """Write all that the graph has of a DAG as an entry; return the numbers of nodes and edges."""
    return write_entry(location, scope, name, read_picture(engine, graph, *scope), spark)


def write_entry(
    location: str,
    scope: DagScope,
    name: MergeName,
    picture: Picture | PictureTables,
    spark: "SparkSession | None" = None,
) -> tuple[int, int]:
    """Write nodes and edges of an entry; return their numbers. The entry is not complete yet."""
    folders = [layout.entry_folder(location, kind, scope, name) for kind in ENTRY_KINDS]
    by_start = layout.entry_folder(location, "edges_from", scope, name)
    if isinstance(picture, PictureTables):
        nodes = write_table(picture.nodes, "nodes", folders[0])
        edges = write_table(picture.edges, "edges", folders[1], by_start=by_start)
    else:
        nodes = write_rows(picture.nodes, "nodes", folders[0], spark)
        edges = write_rows(picture.edges, "edges", folders[1], spark, by_start=by_start)
    if nodes.sums and edges.sums:
        write_sums(location, scope, name, add_sums([nodes.sums, edges.sums]))
    return nodes.rows, edges.rows


def record_removal(
    location: str, scope: DagScope, retired: int, engine: Engine, graph: Graph, *, job: str = ""
) -> MergeRecord | None:
    """Add the removal of a DAG, or of a `job` of it; None if the DAG has no history.

    Raises `HistoryError`.
    """
    with _as_history_error("removed, but the history is not written"):
        newest = merge_index.newest_record(location, scope)
        if newest is None:
            return None
        name = new_name(time.time_ns() // 1_000_000, newest)
        before = read_last_load(graph, *scope)
        counts = (0, 0)
        if job:
            counts = _write_full(location, scope, name, engine, graph)
        record = MergeRecord(
            name=name,
            kind="full" if job else "removed",
            entry=name if job else None,
            merged_at=before.merged_at,
            retired=retired,
            vertices=counts[0],
            edges=counts[1],
            version=__version__,
        )
        merge_index.write_record(location, scope, record)
    return record


@contextmanager
def _as_history_error(problem: str) -> Iterator[None]:
    try:
        yield
    except HistoryError:
        raise
    except LineageMergeError as error:
        raise HistoryError(f"{problem}: {error.message}") from None

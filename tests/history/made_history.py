"""Histories for tests: merges of rows, written as a load writes them, at times that the test chooses."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from lineage_merge.history import layout, merge_index
from lineage_merge.history.entry_files import write_rows
from lineage_merge.history.layout import DagScope, MergeName
from lineage_merge.history.merge_record import MergeRecord
from lineage_merge.history.recording import write_entry
from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.load.graph_state import Picture
from tests.made_merges import Made


def at(text: str) -> int:
    """A time in ms since 1970."""
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


@dataclass
class MadeHistory:
    """A history of the environment dev in a folder or prefix."""

    location: str
    number: int = 0
    records: list[tuple[DagScope, MergeRecord]] = field(default_factory=list)

    def name(self, time: str) -> MergeName:
        """The next name: ids are numbers."""
        self.number += 1
        return MergeName(at(time), f"{self.number:012x}")

    def full(self, time: str, made: Made, moves: dict[str, str] | None = None) -> MergeRecord:
        """A merge that changed lineage."""
        name, scope = self.name(time), DagScope("dev", made.dag)
        if moves:
            merge_index.write_moves(self.location, scope, name, moves)
        engine = LocalEngine()
        picture = Picture(engine.rows(made.nodes.values()), engine.rows(made.edges.values()))
        vertices, edges = write_entry(self.location, scope, name, picture)
        return self._add(scope, MergeRecord(name, "full", name, vertices=vertices, edges=edges))

    def runs(self, time: str, dag: str, rows: Iterable[dict[str, object]]) -> MergeRecord:
        """A merge that changed only properties of newest runs."""
        name, scope = self.name(time), DagScope("dev", dag)
        folder = layout.entry_folder(self.location, "runs", scope, name)
        write_rows(LocalEngine().rows(rows), "runs", folder)
        newest = self.newest(scope)
        return self._add(scope, replace(newest, name=name, kind="runs", runs=name))

    def unchanged(self, time: str, dag: str) -> MergeRecord:
        """A merge that changed nothing."""
        scope = DagScope("dev", dag)
        return self._add(scope, replace(self.newest(scope), name=self.name(time), kind="unchanged"))

    def removed(self, time: str, dag: str) -> MergeRecord:
        """The removal of a DAG."""
        return self._add(DagScope("dev", dag), MergeRecord(self.name(time), "removed", None))

    def newest(self, scope: DagScope) -> MergeRecord:
        """The newest merge of a DAG."""
        return [record for each, record in self.records if each == scope][-1]

    def _add(self, scope: DagScope, record: MergeRecord) -> MergeRecord:
        merge_index.write_record(self.location, scope, record)
        self.records.append((scope, record))
        return record

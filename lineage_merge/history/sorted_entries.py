"""Entries of a moment whose rows are read by id: nodes and edges are sorted, edges in both directions."""

from collections.abc import Sequence
from functools import cached_property

from lineage_merge.history import layout
from lineage_merge.history.entry_files import has_files, missing_files, read_columns
from lineage_merge.history.layout import DagScope
from lineage_merge.history.pictures import (
    Picture,
    ScopedMerge,
    columns_of_files,
    moves_of,
    open_entry,
    precedence,
    stack_entries,
)
from lineage_merge.history.row_groups import RowGroups


class SortedEntry:
    """The files of a merge that has an entry. Raises the errors of `pictures.open_entry`.

    `nodes`: of nodes with the same id the last.
    """

    def __init__(self, location: str, merge: ScopedMerge) -> None:
        self.scope: DagScope = merge.scope
        self.files = open_entry(location, merge.scope, merge.record)
        self.nodes = [RowGroups(each) for each in (self.files.nodes, self.files.runs) if each]
        self.edges_to = RowGroups(self.files.edges)
        self._edges_from = _edges_from(location, merge)

    @cached_property
    def edges_from(self) -> RowGroups:
        """The ends and labels of edges, by start, opened when they are needed."""
        columns = read_columns(self._edges_from)
        if columns.num_rows != self.files.edges.num_rows:
            problem = f"{columns.num_rows:,} of {self.files.edges.num_rows:,} rows"
            raise missing_files(self._edges_from, problem)
        return RowGroups(columns)


def open_sorted_entries(location: str, merges: Sequence[ScopedMerge]) -> list[SortedEntry] | None:
    """Return the entries of these merges, one per DAG, by precedence: of nodes with the same id the last.

    None if they cannot be read by id: one has edges in one order only, or a later merge replaced ids. Raises
    the errors of `pictures.picture_of`.
    """
    present = sorted((merge for merge in merges if merge.record.entry), key=precedence)
    if any(merge.record.edges and not has_files(_edges_from(location, merge)) for merge in present):
        return None
    environments = {merge.scope.environment for merge in present}
    if any(moves_of(location, environment, merges) for environment in environments):
        return None
    return [SortedEntry(location, merge) for merge in present]


def picture_of_entries(entries: Sequence[SortedEntry]) -> Picture:
    """Return all of these entries as columns."""
    return stack_entries([(entry.scope, columns_of_files(entry.files)) for entry in entries])


def _edges_from(location: str, merge: ScopedMerge) -> str:
    entry = merge.record.entry or merge.record.name
    return layout.entry_folder(location, "edges_from", merge.scope, entry)

"""The part of a folder of Parquet files that is downstream of some datasets, without reading all rows."""

import io
from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import PurePosixPath
from typing import Any

from lineage_merge.graph_format.elements import dataset_id_of, edge_of_row, name_parts, vertex_of_row
from lineage_merge.infra.engine.local import collection_off
from lineage_merge.infra.storage import read_bytes
from lineage_merge.model.errors import IntermediateError
from lineage_merge.questions.backends.files import files_of
from lineage_merge.questions.backends.in_memory import InMemory
from lineage_merge.questions.impact import job_of

_FLOWS = frozenset({"feeds", "feeds_column", "influences"})


class ParquetFolder:
    """The node and edge files of a `build` to Parquet. Raises the errors of `files.read_folder`."""

    def __init__(self, folder: str) -> None:
        with collection_off():
            self._nodes = [*_tables(f"{folder.rstrip('/')}/nodes", ("id", "label", "environment"))]
            self._edges = [*_tables(f"{folder.rstrip('/')}/edges", ("id", "label", "from", "to"))]

    @staticmethod
    def is_at(folder: str) -> bool:
        """Return whether the files of a folder are Parquet, and can be read."""
        files = files_of(f"{folder.rstrip('/')}/nodes")
        is_parquet = all(PurePosixPath(file.location).suffix == ".parquet" for file in files)
        return is_parquet and find_spec("pyarrow") is not None

    def environments(self) -> list[str]:
        """Return the environments of the graph, sorted."""
        found = {value for table in self._nodes for value in table["environment"].unique().to_pylist()}
        return sorted(each for each in found if each)

    def below(self, datasets: Collection[str], others: Collection[str] = ()) -> InMemory:
        """Return everything downstream of datasets, with jobs, tests, and what those read directly.

        `others`: datasets to include. All are also found by their aliases.
        """
        with collection_off():
            return self._below(self._with_aliased(datasets), self._with_aliased(others))

    def _with_aliased(self, datasets: Collection[str]) -> set[str]:
        names = {"|".join(name_parts(dataset)[1:]) for dataset in datasets}
        aliased = (
            identifier
            for table in self._nodes
            if "aliases" in table.column_names
            for identifier, held in _pairs(table, "id", "aliases")
            for alias in held or ()
            if not names.isdisjoint(_names(alias))
        )
        return {*datasets, *aliased}

    def _below(self, starts: set[str], others: set[str]) -> InMemory:
        reached = _reached(starts, self._flows())
        edges = [
            edge_of_row(row)
            for table in self._edges
            for row in _rows(
                table,
                (
                    at
                    for at, (start, end) in enumerate(_pairs(table, "from", "to"))
                    if dataset_id_of(start) in reached or dataset_id_of(end) in reached
                ),
            )
        ]
        ids = {*starts, *others, *(end for edge in edges for end in (edge.from_id, edge.to_id))}
        ids |= {job for edge in edges if (job := job_of(edge))}
        vertices = (
            vertex_of_row(row)
            for table in self._nodes
            for row in _rows(table, (at for at, each in enumerate(table["id"].to_pylist()) if each in ids))
        )
        return InMemory(vertices, edges)

    def _flows(self) -> Mapping[str, set[str]]:
        """Return the datasets that a dataset feeds, also by columns."""
        flows: Mapping[str, set[str]] = defaultdict(set)
        for table in self._edges:
            labels = table["label"].to_pylist()
            for label, (start, end) in zip(labels, _pairs(table, "from", "to"), strict=True):
                if label in _FLOWS:
                    flows[dataset_id_of(start)].add(dataset_id_of(end))
        return flows


def _tables(path: str, required: tuple[str, ...]) -> Iterator[Any]:
    import pyarrow as pa
    from pyarrow import parquet

    for file in files_of(path):
        try:
            # Not `read_table`: it imports pandas.
            table = parquet.ParquetFile(io.BytesIO(read_bytes(file.location))).read()
        except (pa.ArrowException, OSError):
            raise IntermediateError(f"{file.location}: invalid or incomplete Parquet file") from None
        if any(name not in table.column_names or table[name].null_count for name in required):
            raise IntermediateError(f"{path}: invalid rows. Fix: run `validate` for details")
        yield table


def _names(alias: str) -> Iterator[str]:
    """Yield what may be the name in an alias, ``NAMESPACE|NAME (RULE)``: a name may contain a parenthesis."""
    parts = alias.split(" (")
    yield from (" (".join(parts[:end]) for end in range(1, len(parts)))


def _reached(starts: Iterable[str], following: Mapping[str, set[str]]) -> set[str]:
    found = set(starts)
    waiting = deque(found)
    while waiting:
        for each in following.get(waiting.popleft(), ()):
            if each not in found:
                found.add(each)
                waiting.append(each)
    return found


def _pairs(table: Any, first: str, second: str) -> Iterator[tuple[Any, Any]]:
    return zip(table[first].to_pylist(), table[second].to_pylist(), strict=True)


def _rows(table: Any, positions: Iterable[int]) -> Iterator[dict[str, Any]]:
    found = table.take([*positions])
    used = [name for name in found.column_names if found[name].null_count < len(found)]
    yield from found.select(used).to_pylist()

"""Opens a walk index. Its files are mapped into memory: of a column only what is used is read."""

import json
import mmap
import os
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from pathlib import Path
from typing import Any, Literal, Self

from lineage_merge.infra.arrow_tables import get_column, positions_of

VERTICES = "vertices.arrow"
EDGES = "edges.arrow"
ADJACENCY = "adjacency.arrow"
NAMES = "names.arrow"
# The properties whose texts `names.arrow` has.
NAME_KEYS = ("name", "qualified_name", "location", "namespace")

# Keys of metadata. Another format is not read.
FORMAT_KEY = "format"
FORMAT = "1"
FIELDS = "has_fields"
ALL_EDGES = "has_all_edges"
SPANS_KEY = "spans"

Direction = Literal["up", "down"]
# Otherwise a page in use makes Linux map up to 2 MB around it, which count as memory of the process.
_ADVICE = [getattr(mmap, name) for name in ("MADV_NOHUGEPAGE", "MADV_RANDOM") if hasattr(mmap, name)]
_NO_ENDS: tuple[Sequence[int], Sequence[int], Sequence[int]] = ((), (), ())


@dataclass(frozen=True)
class WalkIndex:
    """An open walk index. `vertices`, `edges`: record batches of Arrow.

    `has_all_edges`: no edge was omitted because one of its ends is missing.
    """

    vertices: Any
    edges: Any
    has_fields: bool
    has_all_edges: bool
    _adjacency: Any
    _spans: Mapping[str, Sequence[int]]
    _names: Any = field(repr=False)

    @classmethod
    def open(cls, folder: Path) -> Self | None:
        """Return the index of a folder; None if it has none of this format.

        Raises `ArrowException` or `OSError` for damaged files.
        """
        if not any((folder / name).exists() for name in (VERTICES, EDGES)):
            return None
        vertices, about = _map(folder / VERTICES)
        if about.get(FORMAT_KEY) != FORMAT:
            return None
        edges, about_ends = _map(folder / EDGES)
        adjacency, about_spans = _map(folder / ADJACENCY)
        names, _ = _map(folder / NAMES)
        spans = json.loads(about_spans[SPANS_KEY])
        has_fields, has_all_edges = about[FIELDS] == "True", about_ends.get(ALL_EDGES) == "True"
        return cls(vertices, edges, has_fields, has_all_edges, adjacency, spans, names)

    def contradiction(self) -> str:
        """Return what is wrong with the ids of vertices or the ends of edges; "" if nothing is."""
        import pyarrow.compute as pc

        ids = self.vertices.column("id")
        if len(ids) > 1 and not pc.all(pc.greater(ids[1:], ids[:-1])).as_py():
            return "an id is there twice, or not in order"
        for end in ("from", "to"):
            place = pc.max(self.edges.column(end)).as_py()
            if place is not None and place >= len(ids):
                return f"there is no vertex {place}"
        return ""

    def tables(self) -> tuple[Any, Any]:
        """Return vertices and edges as tables; these have the ids of their ends."""
        import pyarrow as pa

        edges, ids = pa.Table.from_batches([self.edges]), self.vertices.column("id")
        return pa.Table.from_batches([self.vertices]), with_ids_of_ends(edges, ids)

    def adjacency(
        self, label: str, direction: Direction
    ) -> tuple[Sequence[int], Sequence[int], Sequence[int]]:
        """Return the edges of a label sorted by the vertex here: vertices here, vertices there, edges."""
        span = self._spans.get(f"{label}/{direction}")
        if span is None:
            return _NO_ENDS
        here, there, edges = (positions_of(self._adjacency.column(number)) for number in range(3))
        cut = slice(*span)
        return here[cut], there[cut], edges[cut]

    def positions_of_ids(self, ids: Iterable[str]) -> list[int]:
        """Return the positions of vertices in the order of their ids; missing ones are omitted."""
        column = self.vertices.column("id")
        found = ((self._place(column, identifier), identifier) for identifier in ids)
        return [
            place
            for place, identifier in found
            if place < len(column) and column[place].as_py() == identifier
        ]

    @staticmethod
    def _place(texts: Any, text: str) -> int:
        return bisect_left(range(len(texts)), text, key=lambda place: str(texts[place].as_py()))

    def positions_named(self, text: str) -> Sequence[int]:
        """Return the positions of vertices that have this name."""
        texts = self._texts
        place = self._place(texts, text)
        if place == len(texts) or texts[place].as_py() != text:
            return ()
        return self._positions_of_code(place)

    def positions_containing(self, parts: Iterable[str]) -> list[int]:
        """Return the positions of vertices of whose names one contains one of the texts, ascending."""
        import pyarrow.compute as pc

        masks = [pc.match_substring(self._texts, part) for part in parts]
        codes = pc.indices_nonzero(reduce(pc.or_, masks)).to_pylist()
        return sorted({position for code in codes for position in self._positions_of_code(code)})

    def _positions_of_code(self, code: int) -> Sequence[int]:
        start = bisect_left(self._codes, code)
        return positions_of(self._names.column("vertex"))[start : bisect_right(self._codes, code, start)]

    @cached_property
    def _texts(self) -> Any:
        return self._names.column("text").dictionary

    @cached_property
    def _codes(self) -> "memoryview[int]":
        return positions_of(self._names.column("text").indices)


def with_ids_of_ends(edges: Any, ids: Any) -> Any:
    """Return a table of edges with the ids of their ends instead of positions of vertices."""
    import pyarrow as pa

    for end in ("from", "to"):
        encoded = pa.DictionaryArray.from_arrays(get_column(edges, end).cast(pa.int32()), ids)
        edges = edges.set_column(edges.column_names.index(end), end, encoded)
    return edges


def _map(file: Path) -> tuple[Any, dict[str, str]]:
    """Return the only record batch of a file, mapped, and its metadata."""
    import pyarrow as pa

    with file.open("rb") as opened:
        if not os.fstat(opened.fileno()).st_size:
            raise pa.ArrowInvalid(f"{file.name} is empty")
        mapped = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
    for advice in _ADVICE:
        mapped.madvise(advice)
    reader = pa.ipc.open_file(pa.py_buffer(mapped))
    metadata = reader.schema.metadata or {}
    about = {key.decode(): value.decode() for key, value in metadata.items()}
    if reader.num_record_batches:
        return reader.get_batch(0), about
    empty = reader.schema.empty_table().combine_chunks()
    return pa.RecordBatch.from_arrays(
        [pa.array([], each.type) for each in reader.schema], schema=empty.schema
    ), about

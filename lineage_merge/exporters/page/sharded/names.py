"""The index of names: those of datasets and columns by the beginnings of their words.

Rows that do not fit into memory are sorted in runs on the disk.
"""

import pickle
import re
import unicodedata
from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

# Of a name that a search shows, at most as many as `matching.js` returns.
MOST_DATASETS = 40
_IN_MEMORY = 200_000
_AT_ONCE = 1_000
# The beginning of a name, of a word, and of a capital letter within one.
_WORD = re.compile(r"(?<![^\W_])[^\W_]|(?<=[a-z])(?=[A-Z])")
_MOST_WORDS = 10
_LONGEST_KEY = 40
_DATASET, _COLUMN = 0, 1


class Place(NamedTuple):
    """What a search shows of a dataset. `kind`, `environment`: as text."""

    number: int
    title: str
    kind: str
    environment: str


class Named(NamedTuple):
    """A row of the index: `total` datasets have it, of which these are the first ones."""

    key: bytes
    what: int
    name: str
    datasets: tuple[Place, ...]
    total: int

    @property
    def is_column(self) -> bool:
        """Whether it is the name of a column."""
        return self.what == _COLUMN


def keys_of(name: str) -> set[bytes]:
    """Return the texts from each word of a name on, in lower case, in the order of JavaScript's texts."""
    starts = [0, *(found.start() for found in _WORD.finditer(name))][:_MOST_WORDS]
    return {_encode(name[start : start + _LONGEST_KEY]) for start in starts}


def key_text(key: bytes) -> str:
    """Return a key as text."""
    return key.decode("utf-16-be", "surrogatepass")


def _encode(text: str) -> bytes:
    # As `normal` in `matching.js`.
    return unicodedata.normalize("NFKC", text.lower()).encode("utf-16-be", "surrogatepass")


class NameIndex:
    """Names of datasets and columns, added in any order, returned sorted by key."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._rows: list[Named] = []
        self._columns: dict[str, tuple[list[Place], int]] = {}
        self._runs: list[Path] = []

    def add(self, place: Place, name: str, columns: Iterable[str]) -> None:
        """Add a dataset with the names of its columns."""
        keys = keys_of(place.title)
        if name.lower() not in place.title.lower():
            keys |= keys_of(name)
        self._rows += (Named(key, _DATASET, name, (place,), 1) for key in keys)
        for column in columns:
            known, count = self._columns.get(column, ([], 0))
            if len(known) < MOST_DATASETS:
                known.append(place)
            self._columns[column] = known, count + 1
        if len(self._rows) + len(self._columns) > _IN_MEMORY:
            self._end_run()

    def rows(self) -> Iterator[Named]:
        """Yield all rows by key; those of one column's name in several runs as one."""
        runs = [*map(_read_run, self._runs), iter(self._sort_rows())]
        for _, same in groupby(merge(*runs), key=itemgetter(0, 1, 2)):
            rows = list(same)
            if not rows[0].is_column or len(rows) == 1:
                yield from rows
                continue
            places = sorted(place for row in rows for place in row.datasets)[:MOST_DATASETS]
            yield rows[0]._replace(datasets=tuple(places), total=sum(row.total for row in rows))

    def _sort_rows(self) -> list[Named]:
        rows = [
            *self._rows,
            *(
                Named(key, _COLUMN, name, tuple(places), count)
                for name, (places, count) in self._columns.items()
                for key in keys_of(name)
            ),
        ]
        rows.sort()
        return rows

    def _end_run(self) -> None:
        file = self._folder / f"names-{len(self._runs)}"
        rows = self._sort_rows()
        with file.open("wb") as stream:
            for start in range(0, len(rows), _AT_ONCE):
                pickle.dump([tuple(row) for row in rows[start : start + _AT_ONCE]], stream)
        self._runs.append(file)
        self._rows, self._columns = [], {}


def _read_run(file: Path) -> Iterator[Named]:
    with file.open("rb") as stream:
        while True:
            try:
                rows: list[Any] = pickle.load(stream)  # noqa: S301 - written by this process
            except EOFError:
                return
            yield from map(Named._make, rows)

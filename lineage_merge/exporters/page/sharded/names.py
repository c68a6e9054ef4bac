"""The index of names, by the beginnings of their words, and of the words of descriptions and aliases.

Rows that do not fit into memory are sorted in runs on the disk.
"""

import pickle
import re
import unicodedata
from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import chain, groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

# The two indexes; these are also the kinds of their shards.
NAMES, WORDS = "search", "word"
# What has a name. Of one key, few rows come before many.
WHATS = ("tag", "owner", "job", "column", "dataset")
_JOB, _COLUMN, _DATASET = 2, 3, 4
# Of a name that a search shows, at most as many as `matching.js` returns.
MOST_DATASETS = 40
# Of a word, at most as many as `finding.js` says.
MOST_OF_WORD = 200
_IN_MEMORY = 200_000
_AT_ONCE = 1_000
# The beginning of a name, of a word, and of a capital letter within one.
_WORD = re.compile(r"(?<![^\W_])[^\W_]|(?<=[a-z])(?=[A-Z])")
_MOST_WORDS = 10
_MOST_ALIASES = 3
_LONGEST_KEY = 40
_LONGEST_ALIAS = 200
_OF_TEXT = re.compile(r"\w{3,}")
_COMMON = frozenset("and are each for from has not one per that the this was were which who with".split())
_RULE = re.compile(r" \([^()]*\)$")


class Place(NamedTuple):
    """What a search shows of a dataset. `kind`, `environment`: as text."""

    number: int
    title: str
    kind: str
    environment: str


class Named(NamedTuple):
    """A row of an index: `total` datasets have it, of which these are the first ones.

    `kind`: of the index. `what`: a place in `WHATS`. `more`: of a job its environment, of a word all words of
    the dataset. `first`: of the list of a tag or owner.
    """

    kind: str
    key: bytes
    what: int
    name: str
    more: str
    datasets: tuple[Place, ...]
    total: int
    first: int = 0


def keys_of(name: str) -> set[bytes]:
    """Return the texts from each word of a name on, in lower case, in the order of JavaScript's texts."""
    starts = [0, *(found.start() for found in _WORD.finditer(name))][:_MOST_WORDS]
    return {_encode(name[start : start + _LONGEST_KEY]) for start in starts}


def words_of(description: str) -> list[str]:
    """Return the first words of a description, without short and common ones."""
    found = (word[0][:_LONGEST_KEY] for word in _OF_TEXT.finditer(_normalize(description)))
    return list(islice(dict.fromkeys(word for word in found if word not in _COMMON), _MOST_WORDS))


def key_text(key: bytes) -> str:
    """Return a key as text."""
    return key.decode("utf-16-be", "surrogatepass")


def _normalize(text: str) -> str:
    # As `normal` in `matching.js`.
    return unicodedata.normalize("NFKC", text.lower())


def _encode(text: str) -> bytes:
    return _normalize(text).encode("utf-16-be", "surrogatepass")


class NameIndex:
    """Names of datasets, columns, jobs, tags and owners, and words, added in any order, returned sorted."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._rows: list[Named] = []
        self._shared: dict[tuple[int, str, str], tuple[list[Place], int]] = {}
        self._runs: list[Path] = []

    def add(self, place: Place, name: str, columns: Iterable[str], jobs: Iterable[str] = ()) -> None:
        """Add a dataset with the names of its columns and of the jobs that write it."""
        keys = keys_of(place.title)
        if name.lower() not in place.title.lower():
            keys |= keys_of(name)
        self._rows += (Named(NAMES, key, _DATASET, name, "", (place,), 1) for key in keys)
        of_columns = ((_COLUMN, column, "") for column in columns)
        for shared in chain(of_columns, ((_JOB, job, place.environment) for job in jobs)):
            known, count = self._shared.get(shared, ([], 0))
            if len(known) < MOST_DATASETS:
                known.append(place)
            self._shared[shared] = known, count + 1
        if len(self._rows) + len(self._shared) > _IN_MEMORY:
            self._end_run()

    def add_words(self, place: Place, name: str, description: str, aliases: Iterable[str]) -> None:
        """Add the words of the description and of the aliases of a dataset."""
        words = words_of(description)
        # An alias is `namespace|path (rule)`.
        names = [_RULE.sub("", alias).rpartition("|")[2][:_LONGEST_ALIAS] for alias in aliases]
        names = list(filter(None, names))[:_MOST_ALIASES]
        keys = {_encode(word) for word in words}.union(*map(keys_of, names))
        more = " ".join([*words, *names])
        self._rows += (Named(WORDS, key, _DATASET, name, more, (place,), 1) for key in keys)

    def add_list(self, what: str, name: str, first: int, count: int) -> None:
        """Add a tag or an owner that has a list of datasets."""
        self._rows += (
            Named(NAMES, key, WHATS.index(what), name, "", (), count, first) for key in keys_of(name)
        )

    def rows(self) -> Iterator[Named]:
        """Yield all rows by index and key; those of a column's or job's name in several runs as one."""
        runs = [*map(_read_run, self._runs), iter(self._sort_rows())]
        for (kind, _), same in groupby(merge(*runs), key=itemgetter(0, 1)):
            yield from _join(islice(same, MOST_OF_WORD if kind == WORDS else None))

    def _sort_rows(self) -> list[Named]:
        rows = [
            *self._rows,
            *(
                Named(NAMES, key, what, name, more, tuple(places), count)
                for (what, name, more), (places, count) in self._shared.items()
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
        self._rows, self._shared = [], {}


def _join(rows: Iterable[Named]) -> Iterator[Named]:
    """Yield rows of one key, of each column and job one."""
    for (what, *_), found in groupby(rows, key=itemgetter(2, 3, 4)):
        same = list(found)
        if what not in (_COLUMN, _JOB) or len(same) == 1:
            yield from same
            continue
        places = sorted(place for row in same for place in row.datasets)[:MOST_DATASETS]
        yield same[0]._replace(datasets=tuple(places), total=sum(row.total for row in same))


def _read_run(file: Path) -> Iterator[Named]:
    with file.open("rb") as stream:
        while True:
            try:
                rows: list[Any] = pickle.load(stream)  # noqa: S301 - written by this process
            except EOFError:
                return
            yield from map(Named._make, rows)

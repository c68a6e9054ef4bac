"""Rows of Parquet files by a text of a column: row groups whose statistics exclude it are not decoded."""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate, groupby
from typing import Any, NamedTuple

from lineage_merge.graph_format.columns import (
    ParquetColumns,
    concatenate,
    distinct_texts,
    list_known,
    report_damage,
)
from lineage_merge.infra.arrow_tables import positions_of, text_array

# Row groups of which the decoded columns are retained: the next step of a walk is often near.
_RETAINED = 64


class GroupColumns:
    """The columns of some row groups of a file, of which each is decoded when it is needed."""

    def __init__(self, location: str, file: Any, numbers: Sequence[int]) -> None:
        self._location = location
        self._file = file
        self._numbers = numbers
        self._columns: dict[str, Any] = {}

    @property
    def num_rows(self) -> int:
        """See `Columns`."""
        metadata = self._file.metadata
        return sum(int(metadata.row_group(number).num_rows) for number in self._numbers)

    @cached_property
    def names(self) -> Collection[str]:
        """See `Columns`."""
        return dict.fromkeys(list_known(self._file.metadata, self._numbers))

    def column(self, name: str) -> Any:
        """See `Columns`."""
        self.decode([name])
        return self._columns[name]

    def decode(self, names: Iterable[str]) -> None:
        """Decode columns at once, which takes less time than one after the other."""
        import pyarrow as pa

        if not (missing := [name for name in names if name not in self._columns]):
            return
        try:
            table = self._file.read_row_groups(self._numbers, columns=missing, use_threads=False)
        except (pa.ArrowException, OSError):
            raise report_damage(self._location) from None
        for name in missing:
            known = name in table.column_names
            self._columns[name] = concatenate(table[name].chunks, name) if known else None


class _Range(NamedTuple):
    """The least and the greatest value of a column in a row group; None: unknown."""

    low: str | None
    high: str | None


class RowGroups:
    """The row groups of files."""

    def __init__(self, columns: ParquetColumns) -> None:
        self._files = columns.files
        self._groups = [
            (file, number)
            for file, (_, opened) in enumerate(self._files)
            for number in range(opened.num_row_groups)
        ]
        self._ranges: dict[str, list[_Range]] = {}
        self._retained = lru_cache(_RETAINED)(self._open)

    def __len__(self) -> int:
        return len(self._groups)

    def __iter__(self) -> Iterator[GroupColumns]:
        """Yield each row group; none is retained."""
        return map(self._open, range(len(self)))

    def find(self, column: str, texts: Iterable[str]) -> Iterator[tuple[GroupColumns, list[str]]]:
        """Yield the row groups that may have one of these texts in a column, and the texts in question."""
        wanted = sorted(set(texts))
        for position, (low, high) in enumerate(self._ranges_of(column) if wanted else ()):
            start = 0 if low is None else bisect_left(wanted, low)
            stop = len(wanted) if high is None else bisect_right(wanted, high, start)
            if start < stop:
                yield self._retained(position), wanted[start:stop]

    def scan(self, column: str, text: str) -> Iterator[GroupColumns]:
        """Yield the row groups that have a text in a column by which they are not sorted."""
        import pyarrow.compute as pc

        likely = [
            group
            for group, (low, high) in zip(self._groups, self._ranges_of(column), strict=True)
            if (low is None or low <= text) and (high is None or text <= high)
        ]
        for file, groups in groupby(likely, key=lambda group: group[0]):
            location, opened = self._files[file]
            numbers = [number for _, number in groups]
            # All row groups of a file at once: for each one, Arrow interprets the schema again.
            values = GroupColumns(location, opened, numbers).column(column)
            if values is None:
                continue
            texts = distinct_texts(values)
            mask = pc.is_in(texts, value_set=text_array([text]))
            rows = positions_of(pc.indices_nonzero(mask if texts is values else mask.take(values.indices)))
            ends = [*accumulate(opened.metadata.row_group(number).num_rows for number in numbers)]
            for index in dict.fromkeys(bisect_right(ends, row) for row in rows):
                yield GroupColumns(location, opened, [numbers[index]])

    def _ranges_of(self, column: str) -> list[_Range]:
        if column not in self._ranges:
            self._ranges[column] = [
                each for _, file in self._files for each in _list_ranges(column, file.metadata)
            ]
        return self._ranges[column]

    def _open(self, position: int) -> GroupColumns:
        file, number = self._groups[position]
        return GroupColumns(*self._files[file], [number])


def _list_ranges(column: str, metadata: Any) -> Iterator[_Range]:
    paths = [metadata.schema.column(index).path for index in range(metadata.num_columns)]
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        statistics = group.column(paths.index(column)).statistics if column in paths else None
        if statistics is not None and statistics.has_min_max:
            yield _Range(statistics.min, statistics.max)
        else:
            yield _Range(None, None)

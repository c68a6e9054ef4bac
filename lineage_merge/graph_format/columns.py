"""Rows of nodes or edges as columns of Arrow, each read when it is needed.

Texts are encoded by dictionary, except ids, of which each occurs once. Nothing converts Python objects to
Arrow by `pyarrow.array` or `pyarrow.scalar`, because these import pandas.
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from lineage_merge.graph_format.arrow import arrow_schema, table_of_lines
from lineage_merge.graph_format.schema import Row
from lineage_merge.infra.arrow_tables import position_array, text_array
from lineage_merge.infra.batches import batched
from lineage_merge.infra.storage import (
    Slice,
    StoredFile,
    is_s3,
    map_locations,
    open_ranges,
    read_lines,
    redact_location,
    size_of,
)
from lineage_merge.model.errors import IntermediateError

NEEDS_PYARROW = "Parquet and JSON lines need pyarrow. Fix: install lineage-merge[parquet]"
# Columns of which nearly every value is another one.
_UNIQUE = frozenset({"id"})
# JSON lines that are decoded at once: as Arrow's columns they take about 20 MB.
_LINES = 50_000
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


class Columns(Protocol):
    """Columns of equal length."""

    @property
    def num_rows(self) -> int:
        """The number of rows."""

    @property
    def names(self) -> Collection[str]:
        """The names of the columns; of other columns all values are unknown."""

    def column(self, name: str) -> Any:
        """Return a column as one array of Arrow; None if all values are unknown.

        Raises `IntermediateError` for a damaged file.
        """


@dataclass
class ParquetColumns:
    """The columns of Parquet files, one file after the other; read columns are retained."""

    files: Sequence[tuple[str, Any]]
    num_rows: int = 0
    _columns: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.num_rows = sum(file.metadata.num_rows for _, file in self.files)

    @cached_property
    def names(self) -> Collection[str]:
        """See `Columns`."""
        return dict.fromkeys(
            name
            for _, file in self.files
            for name in list_known(file.metadata, range(file.metadata.num_row_groups))
        )

    def column(self, name: str) -> Any:
        """See `Columns`."""
        if name not in self._columns:
            self._columns[name] = self._read(name) if name in self.names else None
        return self._columns[name]

    def _read(self, name: str) -> Any:
        import pyarrow as pa

        parts: list[Any] = []
        for location, file in self.files:
            if name not in file.schema_arrow.names:
                parts.append(file.metadata.num_rows)
                continue
            try:
                parts += file.read(columns=[name]).column(0).chunks
            except (pa.ArrowException, OSError):
                raise report_damage(location) from None
        try:
            return concatenate(parts, name)
        except pa.ArrowException:  # texts in one file, numbers in another
            raise report_damage(self.files[0][0]) from None


def open_parquet(files: Iterable[str]) -> ParquetColumns:
    """Return the columns of Parquet files, of which only what is used is read.

    Raises `IntermediateError` without pyarrow, and for a damaged file; `SourceError`.
    """
    listed = list(files)
    return ParquetColumns([*zip(listed, map_locations(open_parquet_file, listed), strict=True)])


def open_parquet_file(file: str) -> Any:
    """Return a `ParquetFile` whose texts are read by dictionary. Raises the errors of `open_parquet`."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ModuleNotFoundError:
        raise IntermediateError(f"{redact_location(file)}: {NEEDS_PYARROW}") from None
    try:
        if not is_s3(file):
            size_of(file)  # no pipe, for which the reader would wait
        source: Any = open_ranges(file) if is_s3(file) else file.removeprefix("file://")
        opened = parquet.ParquetFile(source)
        texts = [field.name for field in opened.schema_arrow if field.type == pa.string()]
        encoded = [name for name in texts if name not in _UNIQUE]
        return parquet.ParquetFile(source, metadata=opened.metadata, read_dictionary=encoded)
    except (pa.ArrowException, OSError):
        raise report_damage(file) from None


def report_damage(file: str) -> IntermediateError:
    """Return the error of a file that Arrow cannot read."""
    return IntermediateError(f"{redact_location(file)}: invalid or incomplete Parquet file")


def list_known(metadata: Any, groups: Iterable[int]) -> Iterator[str]:
    """Yield the columns that have values in row groups: most properties belong to a few labels only."""
    chosen = [metadata.row_group(group) for group in groups]
    for number in range(metadata.num_columns):
        statistics = [group.column(number).statistics for group in chosen]
        if any(group is None or not group.has_null_count or group.num_values for group in statistics):
            yield metadata.schema.column(number).path.partition(".")[0]


@dataclass
class JsonColumns:
    """The columns of files of JSON lines, read at once when the first one is needed.

    `kind`: ``nodes`` or ``edges``, for messages. Properties that the schema does not have are omitted.
    """

    path: str
    kind: str
    files: Sequence[StoredFile]
    ddl: str
    _loaded: "ColumnTable | None" = None

    @property
    def num_rows(self) -> int:
        """See `Columns`."""
        return self._table().num_rows

    @property
    def names(self) -> Collection[str]:
        """See `Columns`."""
        return self._table().names

    def column(self, name: str) -> Any:
        """See `Columns`."""
        return self._table().column(name)

    def _table(self) -> "ColumnTable":
        if self._loaded is None:
            parts: dict[str, list[Any]] = {}
            rows = 0
            for block in self._blocks():
                for name, column in zip(block.column_names, block.columns, strict=True):
                    if column.null_count < len(column):
                        earlier = parts.setdefault(name, [rows] if rows else [])
                        earlier += (_encode(chunk, name) for chunk in column.chunks)
                rows += block.num_rows
                for name, earlier in parts.items():
                    if block.column(name).null_count == block.num_rows:
                        earlier.append(block.num_rows)
            self._loaded = ColumnTable({name: concatenate(part, name) for name, part in parts.items()}, rows)
        return self._loaded

    def _blocks(self) -> Iterator[Any]:
        try:
            import pyarrow as pa
        except ModuleNotFoundError:
            raise IntermediateError(f"{self.files[0].location}: {NEEDS_PYARROW}") from None
        schema = None
        for file in self.files:
            lines = (line for _, line in read_lines(Slice(file.location, 0, file.size)) if line.strip())
            for batch in batched(lines, _LINES):
                schema = schema or self._schema(batch[0])
                text = b"".join(batch)
                if _SURROGATE.search(text):
                    text = b"".join(map(_replace_surrogates, batch))
                try:
                    block = table_of_lines(text, schema)
                except (pa.ArrowException, ValueError):
                    raise self._invalid(file, batch) from None
                yield block

    def _schema(self, line: bytes) -> Any:
        """Return the schema of the files. `dag_name` may be a list, as it is in the graph."""
        import pyarrow as pa

        schema = arrow_schema(self.ddl)
        try:
            is_list = isinstance(json.loads(line).get("dag_name"), list)
        except (ValueError, AttributeError, RecursionError):
            return schema
        number = schema.get_field_index("dag_name")
        return (
            schema.set(number, schema.field(number).with_type(pa.list_(pa.string()))) if is_list else schema
        )

    def _invalid(self, file: StoredFile, lines: Iterable[bytes]) -> IntermediateError:
        for line in lines:
            try:
                json.loads(line)
            except (ValueError, RecursionError):
                return IntermediateError(f"{file.location}: invalid JSON line")
        return invalid_rows(self.path, self.kind)


def _replace_surrogates(line: bytes) -> bytes:
    """Return a line with a question mark for an unpaired surrogate, which Arrow rejects."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return line  # to be reported
    return json.dumps(row, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def invalid_rows(path: str, kind: str) -> IntermediateError:
    """Return the error of rows that are no nodes or edges."""
    return IntermediateError(f"{path}: invalid row of {kind}. Fix: run `validate` for details")


@dataclass
class ColumnTable:
    """Columns by name."""

    columns: Mapping[str, Any]
    num_rows: int

    @property
    def names(self) -> Collection[str]:
        return self.columns

    def column(self, name: str) -> Any:
        return self.columns.get(name)


def columns_of_rows(rows: Sequence[Mapping[str, Any]], ddl: str) -> Columns:
    """Return a few rows of Python as columns, such as those that were changed."""
    lines = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    table = table_of_lines(lines, arrow_schema(ddl))
    known = {
        name: concatenate(column.chunks, name)
        for name, column in zip(table.column_names, table.columns, strict=True)
        if column.null_count < len(column)
    }
    return ColumnTable(known, table.num_rows)


@dataclass
class StackedColumns:
    """Rows of several parts, of which some are selected, in the order of `selected` (None: all).

    `constants`: values of columns that are the same in all rows of a part; `replaced`: columns of the result,
    as arrays.
    """

    parts: Sequence[Columns]
    selected: Any = None
    constants: Sequence[Mapping[str, str]] = ()
    replaced: Mapping[str, Any] = field(default_factory=dict)
    _columns: dict[str, Any] = field(default_factory=dict)

    @property
    def num_rows(self) -> int:
        """See `Columns`."""
        return sum(part.num_rows for part in self.parts) if self.selected is None else len(self.selected)

    @property
    def names(self) -> Collection[str]:
        """See `Columns`."""
        constants = [name for part in self.constants for name in part]
        return dict.fromkeys(
            [*self.replaced, *constants, *(name for part in self.parts for name in part.names)]
        )

    def column(self, name: str) -> Any:
        """See `Columns`."""
        if name in self.replaced:
            return self.replaced[name]
        if name not in self._columns:
            self._columns[name] = self._join(name)
        return self._columns[name]

    def _join(self, name: str) -> Any:
        arrays: list[Any] = []
        for number, part in enumerate(self.parts):
            constant = self.constants[number].get(name) if self.constants else None
            column = part.column(name) if constant is None else repeat_text(constant, part.num_rows)
            arrays.append(part.num_rows if column is None else column)
        column = concatenate(arrays, name)
        return column if column is None or self.selected is None else column.take(self.selected)


@dataclass
class LateColumns:
    """Columns that are opened when something of them is needed."""

    open: Callable[[], Columns]

    @property
    def num_rows(self) -> int:
        """See `Columns`."""
        return self._columns.num_rows

    @property
    def names(self) -> Collection[str]:
        """See `Columns`."""
        return self._columns.names

    def column(self, name: str) -> Any:
        """See `Columns`."""
        return self._columns.column(name)

    @cached_property
    def _columns(self) -> Columns:
        return self.open()


def concatenate(parts: Iterable[Any], name: str) -> Any:
    """Return arrays of a column as one; a number is that of unknown values. None without any array."""
    import pyarrow as pa

    given = list(parts)
    arrays = [_encode(array, name) for array in given if not isinstance(array, int)]
    if not arrays:
        return None
    kind = arrays[0].type
    encoded = iter(arrays)
    filled = [pa.nulls(array, kind) if isinstance(array, int) else next(encoded) for array in given]
    if len(filled) == 1:
        return filled[0]
    chunks = pa.chunked_array(filled, kind)
    return (chunks.unify_dictionaries() if pa.types.is_dictionary(kind) else chunks).combine_chunks()


def _encode(column: Any, name: str) -> Any:
    """Return a column of texts by dictionary, that of ids without."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind) and name in _UNIQUE:
        return column.dictionary_decode()
    if pa.types.is_large_string(kind):
        column = column.cast(pa.string())
    if pa.types.is_integer(kind):
        return column.cast(pa.int64())
    return column.dictionary_encode() if column.type == pa.string() and name not in _UNIQUE else column


def rows_at(columns: Columns, positions: Sequence[int]) -> list[Row]:
    """Return rows as Python objects, without unknown values; all columns are read."""
    rows: list[Row] = [{} for _ in positions]
    for name in columns.names if rows else ():
        for row, value in zip(rows, values_at(columns, name, positions), strict=True):
            if value is not None:
                row[name] = value
    return rows


def values_at(columns: Columns, name: str, positions: Sequence[int]) -> list[Any]:
    """Return the values of a column as Python objects; None: unknown."""
    import pyarrow as pa

    column = columns.column(name) if len(positions) else None
    if column is None:
        return [None] * len(positions)
    rows = column.take(position_array(positions))
    values: list[Any] = (rows.dictionary_decode() if pa.types.is_dictionary(rows.type) else rows).to_pylist()
    return values


def repeat_text(value: str, number: int) -> Any:
    """Return a text as a column of so many rows."""
    import pyarrow as pa

    indices = pa.Array.from_buffers(pa.int32(), number, [None, pa.py_buffer(bytes(4 * number))])
    return pa.DictionaryArray.from_arrays(indices, text_array([value]))


def distinct_texts(column: Any) -> Any:
    """Return the texts of a column: those of its dictionary, or all of one without."""
    import pyarrow as pa

    return column.dictionary if pa.types.is_dictionary(column.type) else column


def is_text(column: Any) -> bool:
    """Return whether a column has texts."""
    import pyarrow as pa

    kind = column.type
    return bool(pa.types.is_string(kind.value_type if pa.types.is_dictionary(kind) else kind))

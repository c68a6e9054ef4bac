"""Exported tables as rows: CSV with a header, Parquet, JSON lines; local or in S3."""

import csv
import io
import json
import sys
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Any

from lineage_merge.infra.storage import Slice, StoredFile, read_beginning, read_bytes, size_of
from lineage_merge.model.errors import DocumentError, SourceError
from lineage_merge.sources import line_files

Row = Mapping[str, Any]
_SNIFFED = 4
_MAGIC_OF_PARQUET = b"PAR1"
_END_OF_FILE = 1 << 62


def rows_of(file: StoredFile) -> Iterator[tuple[int, Row]]:
    """Yield the rows of a file with their numbers, from 1; names of columns are in lower case.

    Raises `DocumentError` for a file that is damaged, `SourceError` if it cannot be read.
    """
    location = file.location
    plain = location.lower().removesuffix(".gz")
    if not file.size:
        size_of(location)  # a pipe has none, either, and is reported
        return
    is_packed = plain != location.lower()
    if plain.endswith(".parquet") or (
        not is_packed and read_beginning(location, _SNIFFED) == _MAGIC_OF_PARQUET
    ):
        rows = _parquet(location)
    elif plain.endswith((".json", ".jsonl", ".ndjson")):
        rows = _json_lines(location)
    else:
        rows = _csv(location)
    yield from enumerate(rows, 1)


def _lines(location: str) -> Iterator[str]:
    for block in line_files.blocks(Slice(location, 0, _END_OF_FILE)):
        for line in block.lines:
            yield line.decode("utf-8", "replace")


def _csv(location: str) -> Iterator[Row]:
    csv.field_size_limit(min(sys.maxsize, 1 << 31))
    # A statement has line breaks: the reader continues with the next lines.
    rows = csv.reader(_lines(location))
    try:
        names = [name.lower() for name in next(rows, ())]
        for values in rows:
            if len(values) == len(names):
                yield dict(zip(names, values, strict=True))
            elif values:
                yield dict(zip_longest(names, values[: len(names)]))
    except csv.Error as error:
        raise DocumentError(location, "", f"invalid CSV: {error}") from None


def _json_lines(location: str) -> Iterator[Row]:
    for number, line in enumerate(_lines(location), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError:
            raise DocumentError(location, f"line {number}", "invalid JSON") from None
        if not isinstance(row, dict):
            raise DocumentError(location, f"line {number}", "expected an object")
        yield {str(name).lower(): value for name, value in row.items()}


def _parquet(location: str) -> Iterator[Row]:
    try:
        import pyarrow.parquet as parquet
    except ModuleNotFoundError:
        raise SourceError(
            "cannot read Parquet: pyarrow is not installed (install lineage-merge[parquet])"
        ) from None
    content = read_bytes(location)
    try:
        for batch in parquet.ParquetFile(io.BytesIO(content)).iter_batches(batch_size=4096):
            yield from batch.rename_columns([name.lower() for name in batch.schema.names]).to_pylist()
    except (OSError, ValueError) as error:
        raise DocumentError(location, "", f"invalid Parquet: {type(error).__name__}") from None

"""Files that are read by ranges: the content is that of the file, and how much of it is requested."""

import os
import random
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from lineage_merge.graph_format.columns import open_parquet, open_parquet_file
from lineage_merge.infra import input_budget
from lineage_merge.infra.storage import ranged_file
from lineage_merge.infra.storage.ranged_file import RangedFile
from lineage_merge.model.errors import IntermediateError, SourceError, SourceMissing
from tests.s3_fixtures import S3

BLOCK = 10
CONTENT = bytes(range(256)) * 4

Opened = tuple[RangedFile, list[int]]


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranged_file, "BLOCK", BLOCK)


def opened(content: bytes) -> Opened:
    """Return the file of a content, and a list of the bytes of each request."""
    requests: list[int] = []

    def fetch(part: str) -> tuple[bytes, int]:
        first, last = part.removeprefix("bytes=").split("-")
        found = content[int(first) : int(last) + 1] if first else content[-int(last) :]
        requests.append(len(found))
        return found, len(content)

    return RangedFile(fetch), requests


@pytest.mark.parametrize("size", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK, 103])
def test_the_content_is_that_of_the_file(size: int) -> None:
    content = CONTENT[:size]
    assert opened(content)[0].read() == content
    chosen = random.Random(size)
    file, _ = opened(content)
    for _ in range(50):
        start, count = chosen.randrange(size + 5), chosen.randrange(30)
        file.seek(start)
        assert file.read(count) == content[start : start + count]


def test_the_end_and_what_is_near_a_part_are_requested_once() -> None:
    file, requests = opened(CONTENT)
    file.seek(-3, os.SEEK_END)
    file.read()
    assert requests == [BLOCK]
    for start in (105, 101, 302):
        file.seek(start)
        file.read(4)
    assert requests == [BLOCK, BLOCK, BLOCK]


def test_parts_that_follow_each_other_are_one_request() -> None:
    file, requests = opened(CONTENT)
    file.seek(42)
    assert file.read(30) == CONTENT[42:72]
    assert requests[1:] == [40]


def test_reading_in_sequence_takes_few_requests() -> None:
    file, requests = opened(CONTENT)
    file.seek(200)
    assert b"".join(file.read(7) for _ in range(25)) == CONTENT[200:375]
    assert len(requests) < 7


def test_a_file_of_which_much_is_read_is_read_as_a_whole() -> None:
    file, requests = opened(CONTENT)
    for start in range(0, len(CONTENT), 3 * BLOCK):
        file.seek(start)
        file.read(1)
    assert max(requests) > len(CONTENT) / 2
    assert sum(requests) < 1.3 * len(CONTENT)


def test_of_a_parquet_file_in_s3_only_the_row_groups_in_use_are_requested(
    s3: S3, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, per_group = 20_000, 100
    table = pa.table({"id": [f"{number:08}" for number in range(rows)], "label": ["table"] * rows})
    parquet.write_table(table, tmp_path / "nodes.parquet", row_group_size=per_group, compression="none")
    location = s3.put("lake", "nodes.parquet", tmp_path / "nodes.parquet")
    monkeypatch.setattr(ranged_file, "BLOCK", 10_000)
    received: list[int] = []
    monkeypatch.setattr(input_budget, "count", received.append)
    file = open_parquet_file(location)
    assert file.read_row_group(3, columns=["id"]).column(0)[0].as_py() == f"{3 * per_group:08}"
    assert sum(received) < 0.4 * (tmp_path / "nodes.parquet").stat().st_size
    assert open_parquet([location]).column("id").to_pylist() == table["id"].to_pylist()


@pytest.mark.parametrize("rows", [20_000, 100])
def test_parts_of_an_object_and_of_the_one_that_replaces_it_are_not_one_file(
    s3: S3, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    monkeypatch.setattr(ranged_file, "BLOCK", 10_000)

    def put(first: str, number: int) -> str:
        ids = [f"{first}{row:08}" for row in range(number)]
        file = tmp_path / "nodes.parquet"
        parquet.write_table(pa.table({"id": ids}), file, row_group_size=1_000, compression="none")
        return s3.put("lake", "nodes.parquet", file)

    columns = open_parquet([put("a", 20_000)])
    put("b", rows)
    with pytest.raises(SourceError, match=r"nodes\.parquet: was replaced while it was read"):
        columns.column("id")


def test_a_damaged_empty_or_missing_object_is_named(s3: S3) -> None:
    for content in (b"", b"PAR1" + b"x" * 50):
        location = s3.put("lake", "damaged.parquet", content)
        with pytest.raises(IntermediateError, match=r"s3://lake/damaged\.parquet: invalid or incomplete"):
            open_parquet([location])
    with pytest.raises(SourceMissing, match=r"s3://lake/missing\.parquet: no such object"):
        open_parquet(["s3://lake/missing.parquet"])

"""Decompression bombs in every file source: an error, within little memory."""

import gzip
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from lineage_merge.infra import storage
from lineage_merge.infra.storage import Slice, packed, reading
from lineage_merge.infra.storage import lines as line_reading
from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import DocumentError
from lineage_merge.sources.dbt import reader as dbt
from lineage_merge.sources.dbt.settings import DbtProject
from lineage_merge.sources.hive import reader as hive
from lineage_merge.sources.openlineage import files as openlineage
from lineage_merge.sources.spline import export
from lineage_merge.sources.spline.agent import reader as agent
from lineage_merge.sources.sql import files as sql
from tests.s3_fixtures import S3

MEGABYTE = 1 << 20
UNPACKED = 768 * MEGABYTE
MOST_MEMORY = 160 * MEGABYTE

RATIO = "unpacks to more than 300 times its size"
LINE = "a line of more than 8,388,608 bytes; the rest is not read"


def bomb(opening: bytes, filling: bytes) -> bytes:
    """Return a gzip stream of many members that decompresses from a thousandth to `UNPACKED` bytes."""
    member = gzip.compress(filling * (16 * MEGABYTE // len(filling)))
    return gzip.compress(opening) + member * (UNPACKED // (16 * MEGABYTE))


def part(location: str) -> Slice:
    return Slice(location, 0, 1 << 20)


def exported(location: str, *, is_json: bool) -> Iterator[object]:
    return export.texts(export.Part("", "executionPlan", part(location), is_json))


def dbt_catalog(location: str) -> Iterable[object]:
    manifest = str(Path(__file__).parents[1] / "data/dbt/duckdb_v12/manifest.json")
    return dbt.elements(DbtProject(manifest=manifest, namespace="duckdb://x", catalog=location))


READERS: dict[str, tuple[str, Callable[[str], Iterable[object]], str]] = {
    "openlineage lines": ("events.jsonl.gz", lambda at: openlineage.events(part(at)), LINE),
    "openlineage array": ("events.json.gz", lambda at: openlineage.events(part(at)), RATIO),
    "hive": ("hive.log.gz", lambda at: hive._read_part(part(at)), LINE),
    "agent": ("agent.log.gz", lambda at: agent.read_slice((0, part(at)), []), LINE),
    "export lines": ("executionPlan.jsonl.gz", lambda at: exported(at, is_json=False), LINE),
    "export array": ("executionPlan.json.gz", lambda at: exported(at, is_json=True), RATIO),
    "dbt manifest": (
        "manifest.json.gz",
        lambda at: dbt.elements(DbtProject(manifest=at, namespace="x://y")),
        RATIO,
    ),
    "dbt catalog": ("catalog.json.gz", dbt_catalog, RATIO),
    "sql": ("load.sql.gz", lambda at: sql.read([("load.sql.gz", at)]), RATIO),
}


@pytest.fixture(params=["local", "s3"])
def put(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str, bytes], str]:
    """Store a file locally or in S3; return its location."""
    if request.param == "s3":
        s3: S3 = request.getfixturevalue("s3")
        return lambda name, content: s3.put("bucket", name, content)

    def local(name: str, content: bytes) -> str:
        tmp_path.joinpath(name).write_bytes(content)
        return str(tmp_path / name)

    return local


@pytest.fixture
def memory() -> Iterator[Callable[[], int]]:
    """Return the peak memory of Python since the test began to read."""
    tracemalloc.start()
    yield lambda: tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()


def outcome(read: Callable[[str], Iterable[object]], location: str) -> str:
    """Return a source's error for a file, or its only problem."""
    try:
        found = list(read(location))
    except DocumentError as error:
        return error.message
    # Hive's and the agent's workers hand on a problem as JSON in a row.
    (problem,) = [str(each) for each in found if isinstance(each, Problem) or "rejected" in str(each)]
    return problem


@pytest.mark.parametrize("source", READERS)
def test_a_packed_bomb_ends_in_an_error_that_names_it_within_little_memory(
    monkeypatch: pytest.MonkeyPatch,
    put: Callable[[str, bytes], str],
    memory: Callable[[], int],
    source: str,
) -> None:
    monkeypatch.setattr(line_reading, "MAX_LINE_BYTES", 8 * MEGABYTE)
    name, read, problem = READERS[source]
    location = put(name, bomb(b'{"metadata": "', b"a"))
    tracemalloc.reset_peak()

    said = outcome(read, location)

    assert problem in said
    assert location in said
    assert memory() < MOST_MEMORY


def test_a_packed_bomb_of_a_low_ratio_ends_at_the_limit_of_size(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, memory: Callable[[], int]
) -> None:
    monkeypatch.setattr(reading, "MAX_UNPACKED_BYTES", 32 * MEGABYTE)
    monkeypatch.setattr(packed, "MAX_RATIO", 2000)
    file = tmp_path / "manifest.json.gz"
    file.write_bytes(bomb(b"", b"a"))

    with pytest.raises(DocumentError, match=r"manifest.json.gz: unpacks to more than 33,554,432 bytes"):
        storage.read_bytes(str(file))

    assert memory() < MOST_MEMORY


def test_a_packed_bomb_of_short_lines_ends_at_the_limit_of_ratio(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(line_reading, "MIN_LINE_BYTES_FOR_RATIO", 2 * MEGABYTE)
    file = tmp_path / "events.jsonl.gz"
    file.write_bytes(gzip.compress(b"x" * 9_999 + b"\n") + bomb(b"", b"a" * 9_999 + b"\n"))

    read: list[int] = []

    def read_all() -> None:
        read.extend(len(line) for _, line in storage.read_lines(part(str(file))))

    with pytest.raises(DocumentError, match=RATIO):
        read_all()

    assert 10 * sum(read) < UNPACKED


def test_a_packed_bomb_of_empty_lines_ends_like_one_of_long_lines(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl.gz"
    file.write_bytes(gzip.compress(b"{}\n") + gzip.compress(b"\n" * (16 * MEGABYTE)) * 8)
    counts: list[int] = []

    def count_all() -> None:
        counts.extend(len(lines) for _, lines in storage.read_line_blocks(part(str(file))))

    with pytest.raises(DocumentError, match=RATIO):
        count_all()

    assert sum(counts) < 4 * MEGABYTE


def test_a_document_of_hive_over_endless_lines_is_cut_off(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, memory: Callable[[], int]
) -> None:
    monkeypatch.setattr("lineage_merge.sources.hive.log.MAX_LINE_BYTES", 64 << 10)
    file = tmp_path / "hive.log.gz"
    opening = b"2026-11-01 hooks.LineageLogger: {\n"
    file.write_bytes(gzip.compress(opening + b'  "edges": [\n' * 200_000))
    tracemalloc.reset_peak()

    found = list(hive._read_part(part(str(file))))

    assert len(found) >= 1
    assert "damaged lineage line" in str(found[0])
    assert memory() < 5 * MEGABYTE


def test_a_long_line_of_a_file_in_slices_is_read_once_at_most(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(line_reading, "MAX_LINE_BYTES", 1000)
    file = tmp_path / "events.jsonl"
    file.write_bytes(b"first\n" + b"x" * 5000 + b"\nlast\n")

    assert list(storage.read_lines(Slice(str(file), 3000, 4000))) == []
    assert list(storage.read_lines(Slice(str(file), 4000, 5012))) == [(5007, b"last\n")]
    with pytest.raises(DocumentError, match="byte 6: a line of more than 1,000 bytes"):
        list(storage.read_lines(Slice(str(file), 0, 3000)))

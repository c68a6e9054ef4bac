import gzip
import json
import random
from pathlib import Path

import pytest

from lineage_merge.sources.dbt.settings import CATALOG, MANIFEST
from lineage_merge.sources.document_kind import recognize_bytes
from lineage_merge.sources.hive.settings import LINEAGE
from lineage_merge.sources.kinds import Kind
from lineage_merge.sources.openlineage.settings import EVENTS
from lineage_merge.sources.spline.settings import AGENT, EXPORT
from tests.fuzz.mutation import damaged

# The number of bytes by which files are recognized, and less than the first line of most captures.
LIMITS = (1 << 16, 3000)


def beginning(file: Path, limit: int) -> bytes:
    """Return the first bytes of a file, unpacked."""
    if file.suffix == ".gz":
        with gzip.open(file) as stream:
            return stream.read(limit)
    return file.read_bytes()[:limit]


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize(
    ("pattern", "kind"),
    [
        ("dbt/*/manifest.json", MANIFEST),
        ("dbt/*/catalog.json", CATALOG),
        ("openlineage/events/*.gz", EVENTS),
        ("agent/t*.gz", AGENT),
        ("agent/s*.gz", AGENT),
        ("spline/*/executionPlan.jsonl", EXPORT),
        ("spline/*/operation.jsonl", EXPORT),
        ("spline_0_7/*/progress.jsonl", EXPORT),
    ],
)
def test_the_beginning_of_each_capture_is_recognized(
    data: Path, pattern: str, kind: Kind, limit: int
) -> None:
    files = sorted(data.glob(pattern))

    assert files
    assert {str(file): recognize_bytes(beginning(file, limit)) for file in files} == dict.fromkeys(
        map(str, files), kind
    )


def test_hives_logs_are_recognized(data: Path) -> None:
    files = sorted(data.glob("hive/*.log"))

    assert [recognize_bytes(beginning(file, LIMITS[0])) for file in files] == [LINEAGE] * 2


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b"", "an empty file"),
        (b" \n\n", "an empty file"),
        (b"\x1f\x8b\x08\x00", "compressed with gzip"),
        (b"PK\x03\x04", "a ZIP archive or an Excel file"),
        (b"PAR1\x15\x04", "a Parquet file"),
        ("{}".encode("utf-16"), "UTF-16 text"),
        (b"<!DOCTYPE html><html>", "an HTML page, perhaps of a login"),
        (b"<?xml version='1.0'?><Error/>", "an XML file"),
        (b"a;b\n1;2\n", "a CSV file"),
        (b"-- load\nINSERT INTO t SELECT 1", "a SQL file"),
        (b'["plan", {"id": "a", "operations": {"write": {', "messages of a Spline agent"),
        (b'{"planId": "a", "timestamp": 1}', "messages of a Spline agent"),
    ],
)
def test_other_files_are_recognized(content: bytes, name: str) -> None:
    kind = recognize_bytes(content)

    assert kind is not None
    assert kind.name == name


@pytest.mark.parametrize(
    "content",
    [
        b"{}",
        b"[]",
        b"[[]]",
        b"null",
        b'{"metadata": {"dbt_schema_version": 7}}',
        b'{"metadata": {"dbt_schema_version": "https://schemas.getdbt.com/dbt/other/v1.json"}}',
        b"2026-11-01 INFO started, with 3 tasks\n2026-11-01 INFO done\n",
        b"one line, without a table",
        b"[" * 100_000,
        b'{"a": ' * 100_000,
        b"9" * 10_000,
        b"{" + b"9" * 10_000,
    ],
)
def test_other_texts_have_no_kind(content: bytes) -> None:
    assert recognize_bytes(content) is None


def test_damaged_documents_raise_no_error(data: Path) -> None:
    rng = random.Random(7)
    contents = [
        beginning(data / "dbt/duckdb_v12/manifest.json", 2000),
        beginning(data / "agent/tickit_sales_load.jsonl.gz", 2000),
        json.dumps({"eventTime": "t", "producer": "p", "run": {}, "job": {}}).encode(),
    ]

    for number in range(3000):
        kind = recognize_bytes(damaged(rng, contents[number % len(contents)]))
        assert kind is None or isinstance(kind, Kind)

"""Files that no reader can read: a rejected document with their name, and the others are read."""

import gzip
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from lineage_merge.infra import storage
from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.infra.storage import Slice
from lineage_merge.merge import dataset_resolver
from lineage_merge.model.errors import DocumentError, SourceMissing
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources import line_files
from tests.record_reading import jobs_of, problems_of, rows_of
from tests.sources.test_future_times import (
    READERS,
    Input,
    agent,
    hive,
    listener,
    openlineage,
    redshift,
    statements,
)

NAMES: Mapping[Callable[[Path], Input], str] = {
    agent: "other.jsonl",
    listener: "other.jsonl",
    hive: "other.log",
    openlineage: "other.jsonl",
    statements: "other.jsonl",
    redshift: "sys_query_history/other.csv",
}
TEXT = '{"eventType": "COMPLETE", "planId": "7", "queryText": "insert"}\n'
CONTENTS = {
    "UTF-16 text": TEXT.encode("utf-16"),
    "UTF-16 text: save": TEXT.encode("utf-16-be"),
    "a ZIP archive": b"PK\x03\x04" + bytes(range(256)),
    "compressed with gzip": gzip.compress(TEXT.encode()),
    "not UTF-8 text": bytes(range(128, 256)) * 3,
}


def problems(made: Callable[[Path], Input], folder: Path, content: bytes | None) -> tuple[int, set[str]]:
    """Return the number of jobs, and the messages of rejected documents of a file (None: a pipe)."""
    settings = made(folder)
    file = folder / NAMES[made]
    if content is None:
        os.mkfifo(file)
    else:
        file.write_bytes(content)
    config = CONFIGURATION.parse({"dag_name": "daily", "environment": "dev", **settings})
    (read,) = (READERS[name] for name in config.sources if name in READERS)
    records = rows_of(read(LocalEngine(), config, dataset_resolver.from_config(config)))
    rejected = {each[3] for each in problems_of(records) if each[0] == "rejected" and file.name in each[1]}
    return len(jobs_of(records)), rejected


@pytest.fixture(autouse=True)
def _salt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_MERGE_USER_SALT", "s")


@pytest.mark.parametrize("kind", CONTENTS)
@pytest.mark.parametrize("made", NAMES)
def test_a_file_that_is_no_utf_8_text_is_rejected_and_the_others_are_read(
    made: Callable[[Path], Input], kind: str, tmp_path: Path
) -> None:
    number, (problem,) = problems(made, tmp_path, CONTENTS[kind])

    assert number == 3
    assert problem.startswith(kind)


@pytest.mark.parametrize("made", NAMES)
def test_a_pipe_is_rejected_and_the_files_beside_it_are_read(
    made: Callable[[Path], Input], tmp_path: Path
) -> None:
    number, found = problems(made, tmp_path, None)

    assert (number, found) == (3, {"a named pipe, not a file"})


def test_pipes_and_devices_are_no_inputs(tmp_path: Path) -> None:
    pipe = tmp_path / "manifest.json"
    os.mkfifo(pipe)

    for location in (str(pipe), "/dev/zero"):
        with pytest.raises(DocumentError, match=r"(a named pipe|a device), not a file"):
            storage.read_text(location)
        with pytest.raises(SourceMissing, match="a pipe or a device, neither a file nor a folder"):
            storage.find_files(location)


def test_a_log_with_some_invalid_bytes_is_text(tmp_path: Path) -> None:
    file = tmp_path / "spark.log"
    file.write_bytes(b"\0" * 900 + b"INFO Gr\xfc\xdfe\n" + b"INFO started\n" * 3)

    assert len([*line_files.number_lines(Slice(str(file), 0, 1000))]) == 4

import gzip
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import boto3
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage_merge.infra.storage import (
    Slice,
    delete_folder,
    list_files,
    read_bytes,
    read_lines,
    read_text,
    write_text,
)
from lineage_merge.model.errors import SourceDenied, SourceError, SourceMissing, SourceUnreachable
from tests.s3_fixtures import S3

Put = Callable[[str, bytes], str]


@pytest.fixture(params=["local", "s3"])
def put(request: pytest.FixtureRequest, tmp_path: Path) -> Put:
    """Stores a file under a folder, locally or in S3; gives the file's location."""
    if request.param == "s3":
        s3: S3 = request.getfixturevalue("s3")
        return lambda name, content: s3.put("bucket", f"folder/{name}", content)

    def local(name: str, content: bytes) -> str:
        path = tmp_path / "folder" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return str(path)

    return local


def folder_of(location: str, name: str) -> str:
    return location.removesuffix(f"/{name}")


def test_files_are_listed_at_any_depth_in_order_with_their_sizes(put: Put) -> None:
    second = put("b/deep/two.jsonl", b"22")
    first = put("a.jsonl", b"1")

    assert list_files(folder_of(first, "a.jsonl")) == [(first, 1), (second, 2)]


def test_a_trailing_slash_makes_no_difference(put: Put) -> None:
    file = put("a.jsonl", b"1")
    folder = folder_of(file, "a.jsonl")

    assert list_files(f"{folder}/") == list_files(folder) == [(file, 1)]


def test_a_folder_whose_name_begins_alike_is_another_folder(put: Put) -> None:
    file = put("spline/a.jsonl", b"1")
    put("spline-old/b.jsonl", b"2")

    assert [found.location for found in list_files(folder_of(file, "a.jsonl"))] == [file]


def test_text_loses_its_byte_order_mark_and_keeps_its_letters(put: Put) -> None:
    file = put("ñ #1?.json", b'\xef\xbb\xbf{"name": "caf\xc3\xa9"}')

    assert read_text(file) == '{"name": "café"}'


def test_a_packed_file_is_unpacked(put: Put) -> None:
    file = put("a.json.gz", gzip.compress(b"one\ntwo\n"))

    assert read_bytes(file) == b"one\ntwo\n"
    assert list(read_lines(Slice(file, 0, 1))) == [(0, b"one\n"), (4, b"two\n")]


@pytest.mark.parametrize(
    "content",
    [b"no gzip", gzip.compress(b"x" * 1000)[:-12], gzip.compress(b"x" * 1000)[:12] + b"\xff" * 20],
    ids=["not packed", "cut short", "damaged"],
)
def test_a_broken_packed_file_is_named(put: Put, content: bytes) -> None:
    file = put("a.json.gz", content)

    with pytest.raises(SourceError, match=r"a\.json\.gz: not a valid gzip file$"):
        read_bytes(file)


def test_text_in_another_encoding_is_named_with_the_place(put: Put) -> None:
    file = put("a.json", "Zürich".encode("latin-1"))

    with pytest.raises(SourceError, match=r"a\.json: not UTF-8 text \(byte 1\)$"):
        read_text(file)


def test_a_missing_file_is_named(put: Put) -> None:
    missing = put("a.json", b"1").replace("a.json", "b.json")

    with pytest.raises(SourceMissing, match=r"b\.json: no such (file|object)$"):
        read_text(missing)
    with pytest.raises(SourceMissing, match=r"b\.json: no such (file|object)$"):
        list(read_lines(Slice(missing, 0, 10)))


def test_a_missing_folder_is_named(put: Put) -> None:
    missing = folder_of(put("a.json", b"1"), "a.json") + "/nothing"

    with pytest.raises(SourceMissing, match=r"nothing: no (such folder|files found)$"):
        list_files(missing)


def test_what_was_written_is_read_back(put: Put) -> None:
    file = put("report.json", b"old")

    write_text(file, '{"job": "naïve"}\n')

    assert read_text(file) == '{"job": "naïve"}\n'


# Calls `write_text` in one child after the other, of which each is killed one event of the interpreter later.
KILLED_WRITES = """
import os, signal, sys
from lineage_merge.infra.storage import write_text

file, after = sys.argv[1:]
write_text(file + ".first", after)  # imports everything
for last in range(1, 1000):
    if child := os.fork():
        _, status = os.waitpid(child, 0)
        print(open(file).read() or "empty", flush=True)
        if status == 0:
            break
        continue
    left = last
    def count(*_):
        global left
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
    sys.setprofile(count)
    write_text(file, after)
    sys.setprofile(None)
    os._exit(0)
"""


def test_a_killed_process_leaves_a_written_file_old_or_new(tmp_path: Path) -> None:
    file = tmp_path / "lineage_merge.yml"
    file.write_text("old")

    done = subprocess.run(
        [sys.executable, "-c", KILLED_WRITES, file, "new"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    found = done.stdout.split()
    assert len(found) > 20
    assert found == sorted(found, reverse=True)
    assert set(found) == {"old", "new"}


def test_a_written_file_stays_the_one_it_was(tmp_path: Path) -> None:
    file, link = tmp_path / "secret.yml", tmp_path / "link.yml"
    file.write_text("old")
    file.chmod(0o600)
    link.symlink_to(file.name)

    write_text(str(link), "new")

    assert (link.is_symlink(), file.read_text(), file.stat().st_mode & 0o777) == (True, "new", 0o600)
    assert sorted(tmp_path.iterdir()) == [link, file]


def test_what_is_no_regular_file_is_written_in_place(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(pipe.read_text)
        write_text(str(pipe), "new")
        assert reading.result(10) == "new"
    assert pipe.is_fifo()


def test_a_deleted_folder_takes_nothing_along_that_begins_alike(put: Put) -> None:
    file = put("bulk/a.csv.gz", b"1")
    put("bulk/deep/b.csv.gz", b"2")
    beside = put("bulk-old/c.csv.gz", b"3")
    folder = folder_of(file, "a.csv.gz")

    delete_folder(folder)
    delete_folder(folder)  # already deleted

    assert [found.location for found in list_files(folder_of(folder, "bulk"))] == [beside]


LINES = st.lists(st.text(st.sampled_from("ab\né☃"), max_size=6).map(str.encode), max_size=12)


def slices(size: int, cuts: list[int]) -> Iterator[tuple[int, int]]:
    edges = sorted({0, size, *(cut for cut in cuts if cut < size)})
    return pairwise(edges)


@given(content=LINES.map(b"\n".join), cuts=st.lists(st.integers(0, 60), max_size=8))
def test_slices_give_every_line_once_wherever_they_are_cut(content: bytes, cuts: list[int]) -> None:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "lines.jsonl"
        file.write_bytes(content)

        found = [
            each
            for start, end in slices(len(content), cuts)
            for each in read_lines(Slice(str(file), start, end))
        ]

    assert b"".join(line for _, line in found) == content
    assert [content[start : start + len(line)] for start, line in found] == [line for _, line in found]
    assert all(b"\n" not in line[:-1] for _, line in found)


def test_slices_of_an_object_give_every_line_once(s3: S3) -> None:
    content = "".join(f"{'é' * (number % 5)}{number}\n" for number in range(40)).encode()
    file = s3.put("bucket", "lines.jsonl", content)

    found = [
        line
        for start, end in slices(len(content), list(range(7, len(content), 7)))
        for _, line in read_lines(Slice(file, start, end))
    ]

    assert b"".join(found) == content


def test_lines_longer_than_the_buffer_stay_whole(put: Put) -> None:
    long = b"x" * (3 << 20)
    file = put("lines.jsonl", long + b"\nshort\n")
    cut = 2 << 20

    first, second = (list(read_lines(Slice(file, *ends))) for ends in ((0, cut), (cut, len(long) + 7)))

    assert [line for _, line in first] == [long + b"\n"]
    assert second == [(len(long) + 1, b"short\n")]


@pytest.mark.parametrize("scheme", ["s3", "s3a", "s3n", "S3"])
def test_hadoops_names_for_s3_are_s3(s3: S3, scheme: str) -> None:
    s3.put("bucket", "a.txt", "text")

    assert read_text(f"{scheme}://bucket/a.txt") == "text"


def test_markers_of_empty_folders_are_no_files(s3: S3) -> None:
    s3.put("bucket", "folder/", b"")
    file = s3.put("bucket", "folder/a.json", b"1")

    assert list_files("s3://bucket/folder") == [(file, 1)]


def test_a_folder_of_more_than_one_page_is_listed_whole(s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOTO_S3_DEFAULT_MAX_KEYS", "3")
    files = [s3.put("bucket", f"folder/{number}.json", b"1") for number in range(8)]

    assert list_files("s3://bucket/folder") == [(file, 1) for file in files]


@pytest.mark.usefixtures("s3")
@pytest.mark.parametrize(
    "location", ["s3://no-such-bucket/folder", "s3://No_Bucket!/folder", "s3:///folder", "s3://"]
)
def test_a_missing_bucket_is_named(location: str) -> None:
    with pytest.raises(SourceMissing) as listing:
        list_files(location)
    with pytest.raises(SourceMissing) as reading:
        read_text(f"{location}/a.json")

    for raised in (listing, reading):
        message = raised.value.message
        assert message.startswith(location)
        assert "\n" not in message


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port without a listener for the duration of the test."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


def test_an_unreachable_s3_is_known_soon(monkeypatch: pytest.MonkeyPatch, closed_port: int) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", f"http://127.0.0.1:{closed_port}")
    started = time.monotonic()

    with pytest.raises(SourceUnreachable, match=r"^s3://bucket/a\.json: no connection to S3$"):
        read_text("s3://bucket/a.json")

    assert time.monotonic() - started < 15


def test_an_endpoint_that_is_no_url_is_named_by_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "localhost-9000")

    with pytest.raises(SourceUnreachable, match=r"^s3://bucket/a: AWS_ENDPOINT_URL_S3 .* is not a URL$"):
        read_text("s3://bucket/a")


@pytest.fixture
def _no_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """boto3 remembers the credentials that it found first."""
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)


@pytest.mark.usefixtures("s3", "_no_session")
def test_missing_credentials_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")

    with pytest.raises(SourceDenied, match=r"^s3://bucket/folder: no AWS credentials found: attach a role"):
        list_files("s3://bucket/folder")


@pytest.mark.usefixtures("_no_session")
def test_an_unknown_profile_is_reported_by_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "unknown")

    with pytest.raises(SourceDenied, match=r"^s3://bucket/a: no such AWS profile: correct AWS_PROFILE$"):
        read_text("s3://bucket/a")


@pytest.mark.usefixtures("_no_session")
def test_refused_credentials_are_not_repeated(s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    file = s3.put("bucket", "a.json", b"1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
    s3.refuse_strangers()

    with pytest.raises(SourceDenied, match=r"^s3://bucket/a\.json: S3 rejects these credentials") as raised:
        read_text(file)

    assert "AKIA" not in raised.value.message
    assert "hunter2" not in raised.value.message


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_local_file_without_permission_is_denied(tmp_path: Path) -> None:
    file = tmp_path / "secret.json"
    file.write_text("{}")
    file.chmod(0)

    with pytest.raises(SourceDenied, match="no permission to read it"):
        read_text(str(file))


def test_a_folder_in_place_of_a_file_and_vice_versa(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")

    with pytest.raises(SourceMissing, match=r"a folder, not a file$"):
        read_text(str(tmp_path))
    with pytest.raises(SourceMissing, match=r"a\.json: a file, not a folder$"):
        list_files(str(tmp_path / "a.json"))
    with pytest.raises(SourceMissing, match=r"no such file$"):
        read_text(str(tmp_path / "a.json" / "b.json"))


def test_a_file_in_a_missing_folder_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(
        SourceMissing, match=rf"no folder {re.escape(str(tmp_path / 'absent'))}\. Fix: create it"
    ):
        write_text(str(tmp_path / "absent" / "page.html"), "")


def test_a_file_url_is_a_local_path(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")

    assert list_files(f"file://{tmp_path}") == [(str(tmp_path / "a.json"), 2)]
    assert read_text(f"file://{tmp_path}/a.json") == "{}"


def test_folders_that_link_back_to_themselves_are_listed_once(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")
    (tmp_path / "again").symlink_to(tmp_path, target_is_directory=True)

    assert list_files(str(tmp_path)) == [(str(tmp_path / "a.json"), 2)]


def test_a_link_to_nothing_is_named(tmp_path: Path) -> None:
    (tmp_path / "operation.json").symlink_to(tmp_path / "missing.json")

    with pytest.raises(SourceMissing, match=r"operation\.json"):
        list_files(str(tmp_path))


def test_a_place_that_is_neither_local_nor_s3_is_named_without_its_secrets() -> None:
    address = "https://u:hunter2@host/manifest.json?X-Amz-Signature=hunter3"

    with pytest.raises(SourceError, match=r"neither a local path nor s3://bucket/key$") as raised:
        read_text(address)

    assert "host/manifest.json" in raised.value.message
    assert "hunter" not in raised.value.message

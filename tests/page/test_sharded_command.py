"""The command `html` with a folder: what it writes on a disk and in S3, and which options it rejects."""

import json
from pathlib import Path

import pytest

from benchmarks import made_company
from lineage_merge.exporters.page import selection
from tests.command_line import in_process
from tests.page.sharded_page import about, files
from tests.s3_fixtures import S3


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a build: 60 tables with 12 columns."""
    folder = tmp_path_factory.mktemp("build") / "lineage"
    made_company.write_folder(folder, made_company.company(60))
    return folder


def test_a_name_that_ends_in_a_slash_is_a_folder(build: Path, tmp_path: Path) -> None:
    done = in_process("html", "--out", f"{tmp_path}/new/page/", "--folder", build, "--json")
    assert done.code == 0, done.err
    written = json.loads(done.out)
    folder = tmp_path / "new" / "page"
    assert (written["datasets"], written["columns"]) == (60, 720)
    assert written["shards"] == len(files(folder))
    assert written["bytes"] == sum(file.stat().st_size for file in [*files(folder), folder / "index.html"])
    assert "writing shards (60 of 60 datasets)" in done.err


def test_a_folder_that_exists_needs_no_slash(build: Path, tmp_path: Path) -> None:
    done = in_process("html", "--out", tmp_path, "--folder", build, "--title", "Mine")
    assert done.code == 0, done.err
    assert about(tmp_path)["datasets"] == 60
    assert "<title>Mine</title>" in (tmp_path / "index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("option", [("--focus", "dev.schema_1.table_00001"), ("--moment", "7d")])
def test_options_of_one_file_are_rejected(build: Path, tmp_path: Path, option: tuple[str, str]) -> None:
    graph = ("--folder", str(build)) if option[0] == "--focus" else ("--graph-file", str(tmp_path / "none"))
    done = in_process("html", "--out", f"{tmp_path}/page/", *graph, *option)
    assert done.code != 0
    assert f"{option[0]}: only for a page of one file. Fix: --out lineage.html, or omit it" in done.err
    assert not (tmp_path / "page").exists()


def test_one_file_above_the_limit_names_the_folder(
    build: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selection, "MAX_DATASETS", 59)
    done = in_process("html", "--out", tmp_path / "page.html", "--folder", build)
    assert done.code != 0
    assert "more than 59 datasets for one page: write a folder (--out lineage/), or select with" in done.err
    assert in_process("html", "--out", f"{tmp_path}/page/", "--folder", build).code == 0


def test_a_page_in_s3_is_served_as_one_and_replaced(build: Path, s3: S3) -> None:
    s3.put("docs", "page/notes.txt", "mine")
    for _ in range(2):
        done = in_process("html", "--out", "s3://docs/page/", "--folder", build)
        assert done.code == 0, done.err
    keys = [each["Key"] for each in s3.client.list_objects_v2(Bucket="docs")["Contents"]]
    assert {"page/index.html", "page/notes.txt"} < set(keys)
    # Those of the first page are gone.
    assert len({key.split("/")[1] for key in keys if "/shards-" in key}) == 1
    stored = [key for key in keys if "notes" not in key]
    types = {s3.client.head_object(Bucket="docs", Key=key)["ContentType"] for key in stored}
    assert types == {"text/html; charset=utf-8", "text/javascript; charset=utf-8"}

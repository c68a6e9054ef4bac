"""A new source is one folder and one line in the registry."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# What a new line in `sources/registry.py` does, and then the program.
PROGRAM = (
    "from lineage_merge.sources import registry\n"
    "from tests.sources.letters.source import LETTERS\n"
    "registry.SOURCES = (*registry.SOURCES, LETTERS)\n"
    "from lineage_merge.cli import main\n"
    "main()\n"
)


def started(*words: object) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", PROGRAM, *map(str, words)]
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "400"}
    return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    (tmp_path / "letters.txt").write_text("copier: a -> b\nno line\ncopier: b -> c\n")
    file = tmp_path / "merge.yml"
    file.write_text("dag_name: d\nenvironment: dev\nletters: {file: letters.txt}\n")
    return file


@pytest.mark.jvm
def test_its_lineage_is_built_and_its_broken_line_named(settings: Path, tmp_path: Path) -> None:
    done = started("build", "-c", settings, "--out", tmp_path / "out", "--format", "jsonl", "--json")

    assert done.returncode == 7, done.stderr
    (broken,) = [each for each in json.loads(done.stdout)["report"]["problems"] if each["kind"] == "rejected"]
    assert broken["document"] == f"{tmp_path / 'letters.txt'}, line 2"
    written = [
        json.loads(line)
        for file in (tmp_path / "out/edges").glob("*.json")
        for line in file.read_text().splitlines()
    ]
    assert {(each["label"], each["from"], each["to"]) for each in written} == {
        ("feeds", "dev|letters://post|a", "dev|letters://post|b"),
        ("feeds", "dev|letters://post|b", "dev|letters://post|c"),
        ("writes", "dev|d|letters|copier", "dev|letters://post|b"),
        ("writes", "dev|d|letters|copier", "dev|letters://post|c"),
    }


def test_its_settings_are_flags_and_checked(settings: Path, tmp_path: Path) -> None:
    helped = started("build", "--help")
    assert "--letters-file" in helped.stdout
    missing = started(
        "build", "-c", settings, "--out", tmp_path / "out", "--letters-file", tmp_path / "missing"
    )
    assert missing.returncode == 3
    assert f"{tmp_path / 'missing'}" in missing.stderr
    settings.write_text("dag_name: d\nenvironment: dev\nletters: {fill: letters.txt}\n")
    wrong = started("build", "-c", settings, "--out", tmp_path / "out")
    assert wrong.returncode == 2
    assert "letters" in wrong.stderr


@pytest.mark.jvm
def test_doctor_examines_it(settings: Path) -> None:
    found = json.loads(started("doctor", "-c", settings, "--gremlin-endpoint", "embedded", "--json").stdout)
    states = {each["check"]: (each["state"], each["message"]) for each in found["findings"]}
    state, words = states["Letters"]
    assert state == "ok"
    assert words.endswith("letters.txt: 1 files, with lineage")

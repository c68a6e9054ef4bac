"""A source, a question and an exporter are added to a copy of the tree by CONTRIBUTING's lists, and run."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.command_line import Outcome

ROOT = Path(__file__).parents[1]
EXTENSIONS = ROOT / "tests" / "extending"
# Files of a list that are not part of the program: tests and documents.
BESIDE = ("tests/", "docs/")
IMPORT_POPULAR = "from lineage_merge.questions.popular import PopularQuestion"
POPULAR = "questions.popular:PopularQuestion"
IMPORT_LETTERS = "from lineage_merge.sources.letters.source import LETTERS"

_RUN_ALL = """
import json, sys
sys.path.append(sys.argv[2])
from tests.command_line import in_process
print(json.dumps([in_process(*words) for words in json.loads(sys.argv[1])]))
"""


class Tree:
    """A copy of the package that is extended."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(
            ROOT / "lineage_merge",
            folder / "lineage_merge",
            ignore=shutil.ignore_patterns("__pycache__", "vendor"),
        )

    def add(self, extension: str) -> set[str]:
        """Copy the files of an extension; return their names."""
        files = [each for each in (EXTENSIONS / extension / "lineage_merge").rglob("*") if each.is_file()]
        names = {each.relative_to(EXTENSIONS / extension).as_posix() for each in files}
        for name in names:
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(EXTENSIONS / extension / name, self.folder / name)
        return {name for name in names if "__pycache__" not in name}

    def edit(self, name: str, *changes: tuple[str, str]) -> str:
        """Replace texts of a file, each of which occurs once; return its name."""
        file = self.folder / name
        text = file.read_text()
        for old, new in changes:
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        file.write_text(text)
        return name

    def run(self, *words: object) -> "subprocess.CompletedProcess[str]":
        """Run the extended command line."""
        return self._start("-m", "lineage_merge", *words)

    def run_all(self, *commands: Sequence[object]) -> list[Outcome]:
        """Run several commands of the extended command line in one process."""
        done = self.python(_RUN_ALL, json.dumps([[*map(str, words)] for words in commands]), ROOT)
        assert done.returncode == 0, done.stderr
        return [Outcome(*outcome) for outcome in json.loads(done.stdout.splitlines()[-1])]

    def python(self, code: str, *words: object) -> "subprocess.CompletedProcess[str]":
        """Run a program on the extended tree."""
        return self._start("-c", code, *words)

    def _start(self, *words: object) -> "subprocess.CompletedProcess[str]":
        environ = {**os.environ, "PYTHONPATH": str(self.folder), "COLUMNS": "400"}
        return subprocess.run(
            [sys.executable, *map(str, words)],
            env=environ,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "tree")


def listed(chapter: str, name: str) -> set[str]:
    """The files of the program in a list of CONTRIBUTING.md."""
    text = (ROOT / "CONTRIBUTING.md").read_text().partition(f"## {chapter}\n")[2].partition("\n## ")[0]
    files = re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE)
    return {each.replace("<name>", name) for each in files if not each.startswith(BESIDE)}


def with_letters(tree: Tree) -> set[str]:
    """Add the source."""
    registry = tree.edit(
        "lineage_merge/sources/registry.py",
        (
            "from lineage_merge.sources.openlineage",
            f"{IMPORT_LETTERS}\nfrom lineage_merge.sources.openlineage",
        ),
        ("    GLUE,\n)", "    GLUE,\n    LETTERS,\n)"),
    )
    return tree.add("source") | {registry}


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    (tmp_path / "letters.txt").write_text("copier: a -> b\nno line\ncopier: b -> c\n")
    file = tmp_path / "merge.yml"
    file.write_text("dag_name: d\nenvironment: dev\nletters: {file: letters.txt}\n")
    return file


def test_a_source_is_one_folder_and_one_line(tree: Tree) -> None:
    registry = "lineage_merge/sources/registry.py"
    before = (tree.folder / registry).read_text().splitlines()
    files = with_letters(tree) - {registry}
    after = (tree.folder / registry).read_text().splitlines()

    assert {each.rpartition("/")[0] for each in files} == {"lineage_merge/sources/letters"}
    # Its import, and its entry among all sources.
    assert [len({*after} - {*before}), len({*before} - {*after})] == [2, 0]


@pytest.mark.jvm
def test_a_source_is_built_with_the_listed_files(tree: Tree, settings: Path, tmp_path: Path) -> None:
    assert with_letters(tree) == listed("Add a source", "letters")

    done = tree.run("build", "-c", settings, "--out", tmp_path / "out", "--format", "jsonl", "--json")

    assert done.returncode == 7, done.stderr
    (broken,) = [each for each in json.loads(done.stdout)["report"]["problems"] if each["kind"] == "rejected"]
    assert broken["document"] == f"{tmp_path / 'letters.txt'}, line 2"
    edges = [
        json.loads(line)
        for file in (tmp_path / "out/edges").glob("*.json")
        for line in file.read_text().splitlines()
    ]
    assert {(each["label"], each["from"], each["to"]) for each in edges} == {
        ("feeds", "dev|letters://post|a", "dev|letters://post|b"),
        ("feeds", "dev|letters://post|b", "dev|letters://post|c"),
        ("writes", "dev|d|letters|copier", "dev|letters://post|b"),
        ("writes", "dev|d|letters|copier", "dev|letters://post|c"),
    }


def test_settings_of_a_source_are_flags_and_validated(tree: Tree, settings: Path, tmp_path: Path) -> None:
    with_letters(tree)
    misspelt = tmp_path / "misspelt.yml"
    misspelt.write_text("dag_name: d\nenvironment: dev\nletters: {fill: letters.txt}\n")
    absent = tmp_path / "absent"
    helped, missing, wrong = tree.run_all(
        ("build", "--help-all"),
        ("build", "-c", settings, "--out", tmp_path / "out", "--letters-file", absent),
        ("build", "-c", misspelt, "--out", tmp_path / "out"),
    )
    assert "--letters-file" in helped.out
    assert missing.code == 3
    assert str(absent) in missing.err
    assert wrong.code == 2
    assert "letters" in wrong.err


@pytest.mark.jvm
def test_doctor_and_init_have_the_surface_of_a_source(tree: Tree, settings: Path, tmp_path: Path) -> None:
    with_letters(tree)
    (tmp_path / "good.txt").write_text("copier: a -> b\n")
    doctor = ("doctor", "-c", settings, "--gremlin-endpoint", "embedded", "--json")
    of_file = [(*doctor, "--letters-file", tmp_path / name) for name in ("letters.txt", "good.txt", "absent")]

    done = tree.run_all(*of_file)

    states = [
        finding["state"]
        for outcome in done
        for finding in json.loads(outcome.out)["findings"]
        if finding["check"] == "Letters"
    ]
    assert states == ["warning", "ok", "failed"]
    assert done[-1].code == 3


def test_init_finds_the_files_of_a_source(tree: Tree, tmp_path: Path) -> None:
    with_letters(tree)
    folder = tmp_path / "letters"
    folder.mkdir()
    (folder / "letters.log").write_text("copier: a -> b\n")

    done, helped, wrong, missing = tree.run_all(
        ("init", folder, "--out", tmp_path / "first.yml", "--yes", "--json"),
        ("init", "--help-all"),
        ("init", "--hive", folder / "letters.log", "--out", tmp_path / "no.yml", "--yes"),
        ("init", "--letters", folder / "absent", "--out", tmp_path / "no.yml", "--yes"),
    )

    assert done.code == 0, done.err
    outcome = json.loads(done.out)
    assert outcome["settings"]["letters"] == {"file": str(folder)}
    assert [each["name"] for each in outcome["jobs"]] == ["copier"]
    assert "# 1 job found: copier" in (tmp_path / "first.yml").read_text()
    assert "--letters" in helped.out
    # Its documents are recognized where another source's are expected, and its errors name its option.
    assert f"no lineage found, but letters. Fix: --letters {folder / 'letters.log'}" in wrong.err
    assert missing.code == 3
    assert "Fix: correct --letters" in missing.err


def test_a_connection_of_airflow_gives_settings_of_a_source(tree: Tree) -> None:
    with_letters(tree)
    code = (
        "import sys, json; from types import SimpleNamespace;"
        "from lineage_merge.airflow.connections import connect_sources;"
        "find = lambda name, optional: SimpleNamespace(host=f'/{name}');"
        "found = connect_sources({'letters_default': 'letters_own'}, json.loads(sys.argv[1]), here=False,"
        " has_upstream_jobs=bool, find=find);"
        "print(json.dumps(found.settings))"
    )

    done = tree.python(code, json.dumps({"sql": [{}]}))

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"letters.file": "/letters_own"}


def graph_folder(folder: Path) -> Path:
    """A graph as files: a feeds b and c."""
    nodes = [
        {
            "id": f"dev|letters://post|{name}",
            "label": "file",
            "environment": "dev",
            "dag_name": "d",
            "name": name,
            "namespace": "letters://post",
            "qualified_name": name,
        }
        for name in "abc"
    ]
    edges = [
        {
            "id": f"e{name}",
            "label": "feeds",
            "from": "dev|letters://post|a",
            "to": f"dev|letters://post|{name}",
            "environment": "dev",
            "dag_name": "d",
            "job_type": "letters",
            "job_name": "copier",
        }
        for name in "bc"
    ]
    for kind, rows in (("nodes", nodes), ("edges", edges)):
        (folder / kind).mkdir(parents=True)
        (folder / kind / "part.json").write_text("".join(json.dumps(each) + "\n" for each in rows))
    return folder


def test_a_question_is_answered_with_the_listed_files(tree: Tree, tmp_path: Path) -> None:
    question = "from lineage_merge.questions.question import"
    interface = tree.edit(
        "lineage_merge/query/lineage.py",
        ("    why = method(", "    popular = method(PopularQuestion)\n    why = method("),
        (question, f"{IMPORT_POPULAR}\n{question}"),
    )
    commands = tree.edit(
        "lineage_merge/cli/command_list.py",
        (
            '        "why": ',
            f'        "popular": Listed("{POPULAR}", "List datasets."),\n        "why": ',
        ),
    )
    assert tree.add("question") | {interface, commands} == listed("Add a question", "popular")

    folder = graph_folder(tmp_path / "graph")
    row = {"dataset": "dev|letters://post|a", "consumers": 2}
    answered, limited, table, helped = tree.run_all(
        ("popular", "--folder", folder, "--json"),
        ("popular", "--at-least", "3", "--folder", folder),
        ("popular", "--folder", folder, "--format", "csv"),
        ("popular", "--help"),
    )
    assert answered.code == 0, answered.err
    assert json.loads(answered.out)["datasets"] == [row]
    assert "letters://post|a" not in limited.out
    assert table.out == "dataset,consumers\na,2\n"
    assert "number of consumers" in helped.out
    code = (
        "import sys, json; from lineage_merge.query import Lineage;"
        "from lineage_merge.mcp.tools import TOOLS;"
        "found = Lineage.open(sys.argv[1]).popular(at_least=2);"
        "schema = TOOLS['popular'].answer.model_json_schema();"
        "print(json.dumps([[*found.records()], schema['required']]))"
    )
    assert json.loads(tree.python(code, folder).stdout) == [[row], ["total", "rows"]]


def test_an_exporter_writes_with_the_listed_files(tree: Tree, tmp_path: Path) -> None:
    registry = tree.edit(
        "lineage_merge/exporters/registry.py",
        ("import datahub, datazone, neptune", "import datahub, datazone, names, neptune"),
        ("        DOT,\n", "        DOT,\n        names.EXPORTER,\n"),
    )
    assert tree.add("exporter") | {registry} == listed("Add an exporter", "names")

    out = tmp_path / "names.txt"
    done = tree.run("export", "--to", "names", "--out", out, "--folder", graph_folder(tmp_path / "graph"))

    assert done.returncode == 0, done.stderr
    assert out.read_text().splitlines() == [f"dev|letters://post|{name}" for name in "abc"]

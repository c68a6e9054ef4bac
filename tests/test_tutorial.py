"""Transcripts in the documents: commands of the tutorial, run in an empty folder, and of the README."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.command_line import PROGRAM, clean_environment, in_process

README = Path(__file__).parents[1] / "README.md"
PAGE = Path(__file__).parents[1] / "docs" / "tutorial.md"
OMITTED = "..."
_PROMPT = "$ "
# Values that differ between runs and machines, and the frame of tables, whose width depends on them.
_VARYING = (
    (re.compile(r"[│┌┐└┘─┬┴├┤]+(?=\s|$)|[│]"), " "),
    (re.compile(r"\d+(\.\d+)? s\b"), "N s"),
    (re.compile(r"\d+ (requests|elements read)"), r"N \1"),
)


class Step(NamedTuple):
    """A command and the lines that the page shows below it."""

    command: str
    expected: tuple[str, ...]


def steps(text: str) -> Iterator[Step]:
    """Yield the commands of the page's blocks in the language `console`."""
    for block in re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *expected = part.splitlines()
            yield Step(command, tuple(expected))


def normalized(line: str) -> str:
    """Return a line without what varies."""
    for pattern, instead in _VARYING:
        line = pattern.sub(instead, line)
    return " ".join(line.split())


def differs(expected: tuple[str, ...], printed: str) -> str:
    """Return the first line of the page that is not printed, in order; "" if all are.

    A line `...` stands for any lines, `...` at the end of a line for the rest of it.
    """
    lines = [text for line in printed.splitlines() if (text := normalized(line))]
    may_skip = False
    for wanted in (text for line in expected if (text := normalized(line))):
        if wanted == OMITTED:
            may_skip = True
            continue
        whole, prefix = wanted, wanted.removesuffix(OMITTED).rstrip()
        while may_skip and lines and not _equal(lines[0], whole, prefix):
            lines.pop(0)
        if not lines or not _equal(lines.pop(0), whole, prefix):
            return wanted
        may_skip = False
    return "" if may_skip or not lines else f"also printed: {lines[0]}"


def _equal(line: str, whole: str, prefix: str) -> bool:
    return line.startswith(prefix) if whole != prefix else line == whole


STEPS = list(steps(PAGE.read_text(encoding="utf-8")))


def test_the_page_runs_the_main_commands() -> None:
    run = {each.command.split()[1] for each in STEPS if each.command.startswith("lineage-merge ")}
    assert {"init", "run", "doctor", "upstream", "impact", "html"} <= run


@pytest.mark.parametrize(
    ("expected", "printed", "difference"),
    [
        (("a", "..."), "a\nb\nc", ""),
        (("...", "c"), "a\nb\nc", ""),
        (("a", "...", "c"), "a\nc", ""),
        (("a", "c"), "a\nb\nc", "c"),
        (("a",), "a\nb", "also printed: b"),
        (("took ...",), "took 3 days", ""),
        (("│written │ 1 vertex (2 requests, 0.3 s)",), "│written    │ 1 vertex (9 requests, 12 s)     │", ""),
        (("3 datasets",), "2 datasets", "3 datasets"),
        (("└── b",), "└── c", "└── b"),
    ],
)
def test_output_is_compared_with_the_page(expected: tuple[str, ...], printed: str, difference: str) -> None:
    found = differs(expected, printed)
    assert found == difference or normalized(difference) == found


@pytest.mark.jvm
def test_the_commands_print_what_the_page_says(tmp_path: Path) -> None:
    folders = (str(Path(sys.executable).parent), str(PROGRAM.parent), os.environ["PATH"])
    environment = clean_environment(
        PATH=os.pathsep.join(folders),
        LINEAGE_MERGE_HOME=str(tmp_path / "graphs"),
        PYTHONPATH=str(PAGE.parents[1]),
        COLUMNS="200",
    )
    folder = tmp_path / "work"
    folder.mkdir()
    code = 0
    for command, expected in STEPS:
        if command == "echo $?":
            assert expected == (str(code),), command
            continue
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        code = done.returncode
        printed = done.stderr if code else done.stdout
        difference = differs(expected, printed)
        assert difference == "", f"$ {command}\n{printed}"
        assert (code != 0) == any(line.startswith("error:") for line in expected), f"$ {command}: {code}"
    assert (folder / "lineage.html").stat().st_size > 20_000


def test_the_readme_has_three_questions_and_their_answers(tickit_folder: Path) -> None:
    asked = list(steps(README.read_text(encoding="utf-8")))

    assert len(asked) == 3
    for command, expected in asked:
        program, *words = shlex.split(command)
        assert (program, words.pop()) == ("lineage-merge", "--demo")
        outcome = in_process(*words, "--folder", tickit_folder)
        assert differs(expected, outcome.out) == "", f"$ {command}\n{outcome.out}"

"""The commands of the tutorial, run in an empty folder, print what the page says."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import Outcome, in_process
from tests.console_blocks import differs, steps

PAGE = Path(__file__).parents[1] / "docs" / "tutorial.md"

STEPS = list(steps(PAGE.read_text(encoding="utf-8")))


def test_the_page_runs_the_main_commands() -> None:
    run = {each.command.split()[1] for each in STEPS if each.command.startswith("lineage-merge ")}
    assert {"init", "run", "doctor", "upstream", "impact", "html"} <= run


@pytest.mark.jvm
def test_the_commands_print_what_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    code = 0
    for command, expected in STEPS:
        if command == "echo $?":
            assert expected == (str(code),), command
            continue
        code, out, err = _run(command, tmp_path / "graphs")
        printed = err if code else out
        assert differs(expected, printed) == "", f"$ {command}\n{printed}"
        assert (code != 0) == any(line.startswith("error:") for line in expected), f"$ {command}: {code}"
    assert (folder / "lineage.html").stat().st_size > 20_000


def _run(command: str, graphs: Path) -> Outcome:
    """Run a command: in this process if it is of this program."""
    program, *words = shlex.split(command)
    if program == "lineage-merge":
        return in_process(*words, LINEAGE_MERGE_HOME=str(graphs), COLUMNS="200")
    words = [sys.executable if program == "python" else program, *words]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    return Outcome(done.returncode, done.stdout, done.stderr)

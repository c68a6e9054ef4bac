"""The commands of the tutorial, run in an empty folder, print what the page says."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import Outcome, clean_environment, in_process
from tests.console_blocks import differs, steps

PAGE = Path(__file__).parents[1] / "docs" / "tutorial.md"

STEPS = list(steps(PAGE.read_text(encoding="utf-8")))


def test_the_page_runs_the_main_commands() -> None:
    run = {each.command.split()[1] for each in STEPS if each.command.startswith("lineage-merge ")}
    assert {"init", "run", "doctor", "upstream", "impact", "html"} <= run


# In one process: to start one for each command takes longer than what they do.
_RUN_ALL = (
    "import json, sys; from tests.test_tutorial import outcomes; print(json.dumps(outcomes(sys.argv[1])))"
)


@pytest.mark.jvm
def test_the_commands_print_what_the_page_says(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", _RUN_ALL, str(tmp_path / "graphs")],
        cwd=folder,
        env=clean_environment(PYTHONPATH=str(PAGE.parents[1]), COLUMNS="200"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    results = iter(json.loads(done.stdout.splitlines()[-1]))
    code = 0
    for command, expected in STEPS:
        if command == "echo $?":
            assert expected == (str(code),), command
            continue
        code, out, err = next(results)
        printed = err if code else out
        difference = differs(expected, printed)
        assert difference == "", f"$ {command}\n{printed}"
        assert (code != 0) == any(line.startswith("error:") for line in expected), f"$ {command}: {code}"
    assert (folder / "lineage.html").stat().st_size > 20_000


def outcomes(graphs: str) -> list[Outcome]:
    """Run the commands in the current folder, those of this program in this process."""
    return [_run(command, graphs) for command, _ in STEPS if command != "echo $?"]


def _run(command: str, graphs: str) -> Outcome:
    program, *words = shlex.split(command)
    if program == "lineage-merge":
        return in_process(*words, LINEAGE_MERGE_HOME=graphs)
    words = [sys.executable if program == "python" else program, *words]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    return Outcome(done.returncode, done.stdout, done.stderr)

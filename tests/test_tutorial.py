"""The commands of the tutorial, run in an empty folder, print what the page says."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import PROGRAM, clean_environment
from tests.console_blocks import differs, steps

PAGE = Path(__file__).parents[1] / "docs" / "tutorial.md"

STEPS = list(steps(PAGE.read_text(encoding="utf-8")))


def test_the_page_runs_the_main_commands() -> None:
    run = {each.command.split()[1] for each in STEPS if each.command.startswith("lineage-merge ")}
    assert {"init", "run", "doctor", "upstream", "impact", "html"} <= run


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

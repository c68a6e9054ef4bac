"""Output on a terminal, in a pipe and with NO_COLOR."""

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.command_line import clean_environment, command
from tests.lineage_made import pipeline

# Selects a foreground or background colour; bold and dim are no colours.
COLOUR = re.compile(r"\x1b\[(?:\d+;)*(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:;\d+)*m")
pytestmark = pytest.mark.jvm  # `doctor` asks Java for its version

_END = "--- the end of a command ---"
DOCTOR = ("doctor", "--gremlin-endpoint", "embedded", "--dag-name", "d", "--environment", "e")


# Runs commands one after the other. A process prepares its terminal once, and takes a second to start.
_RUN_ALL = f"""
import json, sys
from lineage_merge.cli import main
for words in json.loads(sys.argv[1]):
    try:
        main(words, prog_name="lineage-merge")
    except SystemExit:
        pass
    print({_END!r})
"""


def on_terminal(*commands: Sequence[str], **variables: str) -> list[str]:
    """Return what each of several commands prints on a terminal."""
    terminal, side = pty.openpty()
    environment = clean_environment(**{"TERM": "xterm-256color", "COLUMNS": "100", **variables})
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        environment.pop(name, None)
    words = [sys.executable, "-c", _RUN_ALL, json.dumps(commands)]
    process = subprocess.Popen(words, env=environment, stdin=side, stdout=side, stderr=side)
    os.close(side)
    text = b""
    while True:
        try:
            part = os.read(terminal, 4096)
        except OSError:  # Linux: the other side is closed
            break
        if not part:
            break
        text += part
    os.close(terminal)
    assert process.wait(60) is not None
    *printed, rest = text.decode().split(_END)
    assert (len(printed), rest.strip()) == (len(commands), "")
    return printed


@pytest.fixture(scope="module")
def questions(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, ...]]:
    folder = pipeline().folder(tmp_path_factory.mktemp("pipeline"))
    upstream = ("upstream", "z", "--folder", folder)
    return [upstream, (*upstream, "--format", "table"), ("impact", "y", "--folder", folder), DOCTOR]


def test_terminals_get_colours(questions: list[tuple[str, ...]]) -> None:
    printed = on_terminal(*questions)
    assert all("\x1b[" in text for text in printed)
    assert [bool(COLOUR.search(text)) for text in printed] == [True, False, False, True]  # tables are bold


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
def test_colours_can_be_disabled(questions: list[tuple[str, ...]], variables: dict[str, str]) -> None:
    commands = (*questions, ("--help",), ("run", "--help-all"))
    for words, printed in zip(commands, on_terminal(*commands, **variables), strict=True):
        assert printed.strip()
        assert COLOUR.search(printed) is None, words


def test_pipes_get_no_control_sequences(questions: list[tuple[str, ...]]) -> None:
    for question in questions:
        done = subprocess.run(
            command(*question), env=clean_environment(), capture_output=True, timeout=60, check=False
        )
        assert done.stdout
        assert b"\x1b" not in done.stdout + done.stderr


def test_progress_on_a_terminal_respects_no_color(tmp_path: Path) -> None:
    """A source that is missing: the build ends before Spark starts."""
    words = ("build", "--out", str(tmp_path / "out"), "--dag-name", "d", "--environment", "e")
    (printed,) = on_terminal((*words, "--spline-export", str(tmp_path / "absent")), NO_COLOR="1")
    assert "no such folder" in printed
    assert COLOUR.search(printed) is None

"""The questions at the end of the demo: each is asked by its command, in this process."""

import io
import re
import shlex
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from lineage_merge.infra import yaml_text

# Before the text of a line: branches of a tree, numbers of a list.
_BRANCHES = re.compile(r"^[\s│├└─→·]+")


@dataclass(frozen=True, slots=True)
class DemoQuestion:
    """A question, the arguments of its command, and what selects the lines that answer it."""

    text: str
    arguments: tuple[str, ...]
    patterns: tuple[str, ...]
    joins: str

    @property
    def command(self) -> str:
        """The command as it is typed."""
        return shlex.join(("lineage-merge", *self.arguments))

    def answer(self, output: str) -> list[str]:
        """Return the first line of the output that each pattern matches, without indentation."""
        lines = output.splitlines()
        matches = (
            next((line for line in lines if re.search(pattern, line)), None) for pattern in self.patterns
        )
        return [" ".join(_BRANCHES.sub("", line).split()) for line in matches if line]

    def as_json(self, output: str) -> dict[str, Any]:
        """Return the question with its answer for scripts."""
        return {
            "question": self.text,
            "command": self.command,
            "answer": self.answer(output),
            "joins": self.joins,
        }


def read_questions(company: Path) -> Sequence[DemoQuestion]:
    """Read the questions of the company's folder."""
    file = company / "questions.yml"
    return [
        DemoQuestion(
            entry["question"],
            tuple(word.replace("{company}", str(company)) for word in shlex.split(entry["command"])),
            tuple(entry["answer"]),
            entry["joins"],
        )
        for entry in yaml_text.parse(file.read_text(encoding="utf-8"), str(file))
    ]


def output_of(question: DemoQuestion, program: click.Command) -> str:
    """Run the command of a question; return what it prints. Some end with an exit code, such as `check`."""
    # Some commands write bytes.
    printed = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with redirect_stdout(printed), redirect_stderr(printed), suppress(SystemExit):
        program.main([*question.arguments], prog_name="lineage-merge", standalone_mode=False)
    printed.seek(0)
    return printed.read()

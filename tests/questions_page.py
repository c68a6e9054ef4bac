"""The questions of docs/queries.md: queries, commands and answers."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[1] / "docs" / "queries.md"
EVERYTHING = "Everything"
# A value that each merge changes.
CHANGES = "..."

Answer = list[dict[str, str]]


@dataclass(frozen=True)
class Question:
    """A chapter of the page; `answer` is its table, rows by column name."""

    title: str
    gremlin: str
    opencypher: str
    command: tuple[str, ...]
    answer: Answer


def questions() -> Iterator[Question]:
    parts = re.split(r"^## (.+)$", PAGE.read_text(), flags=re.MULTILINE)
    for title, text in zip(parts[1::2], parts[2::2], strict=True):
        (gremlin,) = re.findall(r"^```gremlin\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        (opencypher,) = re.findall(r"^```cypher\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        (command,) = re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        program, *words = shlex.split(command.replace("\\\n", " "))
        assert program == "lineage-merge"
        table = re.findall(r"^\|(.+)\|$", text, re.MULTILINE)
        assert table or re.search(r"^Nothing\.$", text, re.MULTILINE)
        yield Question(title, gremlin, opencypher, tuple(words), list(_answer(table)))


def _answer(table: list[str]) -> Iterator[dict[str, str]]:
    rows = [[_cell(cell) for cell in re.split(r"(?<!\\)\|", line)] for line in table]
    for row in rows[2:]:
        yield dict(zip(rows[0], row, strict=True))


def _cell(text: str) -> str:
    return text.strip().replace("\\|", "|")


FOUND = {question.title.partition(". ")[0]: question for question in questions()}
NUMBERED = [name for name in FOUND if name != EVERYTHING]


def as_written(row: dict[str, Any]) -> dict[str, str]:
    """Return a row of an answer as the table shows it: lists joined, without what each merge changes."""
    return {key: CHANGES if key == "merged at" else _text(value) for key, value in row.items()}


def _text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)

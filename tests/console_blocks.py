"""Blocks of the language `console`: commands after ``$``, and what they print."""

import re
from collections.abc import Iterator
from typing import NamedTuple

OMITTED = "..."
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
    """Yield the commands of a document's blocks; `\\` continues a command on the next line."""
    text = text.replace("\\\n", " ")
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

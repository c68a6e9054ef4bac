"""SQL with Jinja, as far as it can be rendered without a server. Pure.

Nothing is computed: a call of Superset's is a value, of a condition the branch in which something is
selected is taken, and the body of a loop is written once. So a template costs no more than its length.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lineage_merge.sources.superset.template_values import (
    MAX_LENGTH,
    Tokens,
    Unrenderable,
    Values,
    WriteDataSet,
    split_tokens,
)

_OPENING = re.compile(r"\{[{%#]")
_CLOSING = {"{{": "}}", "{%": "%}", "{#": "#}"}
_MAX_DEPTH = 100
VALUE = "superset_value"


@dataclass(slots=True)
class _Block:
    """A block that is open: whether its text is written, and, of a condition, whether a branch was taken."""

    kind: str
    is_written: bool
    is_taken: bool = True
    variable: str = ""
    start: int = 0


def render(
    text: str,
    parameters: Mapping[str, Any],
    find_metric: Callable[[str], str | None],
    write_data_set: WriteDataSet,
) -> str:
    """Return the SQL of a template. Raises `Unrenderable`, without the template's text.

    `parameters` are the data set's own; `find_metric` returns the expression of a saved metric.
    """
    return _Renderer(Values(parameters, find_metric, write_data_set)).render(text)


def strip_templates(text: str) -> str:
    """Return SQL with `VALUE` in place of each value, and without statements; for its tables alone."""
    written: list[str] = []
    for part, kind in _split(text):
        written.append(part if not kind else VALUE if kind == "{{" else " ")
    return "".join(written)


def _split(text: str) -> list[tuple[str, str]]:
    """Return the parts of a template, each with how it is opened, "" for text."""
    parts: list[tuple[str, str]] = []
    position = 0
    while match := _OPENING.search(text, position):
        end = text.find(_CLOSING[match[0]], match.end())
        if end < 0:
            raise Unrenderable("has a template that does not end")
        parts.append((text[position : match.start()], ""))
        parts.append((text[match.end() : end].strip("-+ \n\r\t"), match[0]))
        position = end + 2
    parts.append((text[position:], ""))
    return parts


class _Renderer:
    def __init__(self, values: Values) -> None:
        self._values = values
        self._blocks: list[_Block] = []
        self._written: list[str] = []

    def render(self, text: str) -> str:
        length = 0
        for part, kind in _split(text):
            if kind == "{%":
                self._statement(split_tokens(part))
            elif kind != "{#" and self._is_written:
                self._written.append(self._values.value(split_tokens(part)) if kind else part)
                length += len(self._written[-1])
                if length > MAX_LENGTH:
                    raise Unrenderable("renders to too much text")
        if self._blocks:
            raise Unrenderable("has a block that does not end")
        return "".join(self._written)

    @property
    def _is_written(self) -> bool:
        return not self._blocks or self._blocks[-1].is_written

    def _statement(self, tokens: Tokens) -> None:
        word, rest = (tokens[0], tokens[1:]) if tokens else ("", [])
        match word:
            case "if":
                is_true = self._is_written and self._values.is_true(rest)
                self._open(_Block("if", is_true, is_true))
            case "elif" | "else":
                self._branch(rest)
            case "for":
                self._open(_Block("for", self._is_written))
                if "in" in rest:
                    self._values.set_loop(rest[: rest.index("in")])
            case "set" if self._is_written and "=" in rest:
                place = rest.index("=")
                self._values.variables["".join(rest[:place])] = self._values.value(rest[place + 1 :])
            case "set" if "=" not in rest:
                block = _Block("set", self._is_written, variable="".join(rest), start=len(self._written))
                self._open(block)
            case "endif" | "endfor" | "endset":
                self._close(word.removeprefix("end"))
            case "set" | "do":
                pass
            case _:
                raise Unrenderable(f"has a statement that is not rendered: {word[:20]}")

    def _open(self, block: _Block) -> None:
        if len(self._blocks) >= _MAX_DEPTH:
            raise Unrenderable("is nested too deeply")
        self._blocks.append(block)

    def _branch(self, condition: Tokens) -> None:
        block = self._blocks[-1] if self._blocks else None
        if block is None or block.kind not in ("if", "for"):
            raise Unrenderable("has a branch without a condition")
        is_around = len(self._blocks) < 2 or self._blocks[-2].is_written
        block.is_written = is_around and not block.is_taken
        if block.is_written and condition:
            block.is_written = self._values.is_true(condition)
        block.is_taken = block.is_taken or block.is_written

    def _close(self, kind: str) -> None:
        block = self._blocks.pop() if self._blocks else None
        if block is None or block.kind != kind:
            raise Unrenderable("has blocks that do not fit together")
        if kind == "set" and block.is_written:
            self._values.variables[block.variable] = "".join(self._written[block.start :])
            del self._written[block.start :]

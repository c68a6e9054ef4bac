"""Headers of procedures: name, parameters, language, and where the body begins. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from lineage_merge.column_lineage.scripts.words import Word, closing, end_of_name, upper_at
from lineage_merge.column_lineage.sql.tables import fold

_KINDS = {
    "PROCEDURE": "procedure",
    "PROC": "procedure",
    "PACKAGE": "package",
    "FUNCTION": "function",
    "TRIGGER": "trigger",
}
_MODES = frozenset({"IN", "OUT", "INOUT", "VARIADIC"})
# Variables of every procedure.
_PREDEFINED = ("found", "sqlcode", "sqlerrm", "sqlstate")
_SQL = frozenset({"", "sql", "plpgsql", "plsql"})


@dataclass(slots=True)
class Routine:
    """A procedure, or the file outside of procedures (no name), and its variables (folded)."""

    name: str = ""
    variables: set[str] = field(default_factory=set)

    def declare(self, *names: str) -> None:
        """Add variables."""
        self.variables.update(fold(name) for name in names)


class Header(NamedTuple):
    """The beginning of a procedure. `body`: the position of its first word, or of the string with it."""

    kind: str
    name: str
    parameters: tuple[str, ...]
    language: str
    body: int

    @property
    def is_sql(self) -> bool:
        """Return whether the body is SQL."""
        return self.language in _SQL

    @property
    def short_name(self) -> str:
        """Return the name without schema, folded."""
        return fold(self.name.rpartition(".")[2])

    def routine(self, around: Iterable[str]) -> Routine:
        """Return the procedure; `around`: the variables of the package or procedure that contains it."""
        routine = Routine(self.name, set(around))
        routine.declare(*_PREDEFINED, *self.parameters, self.short_name)
        if self.kind in ("function", "trigger"):
            routine.declare("new", "old", ":new", ":old")
        return routine


def find_created(words: Sequence[Word], at: int) -> int | None:
    """Return the position of PROCEDURE (PACKAGE, FUNCTION) in the CREATE or ALTER at `at`."""
    for position in range(at + 1, min(at + 5, len(words))):
        if words[position].upper in _KINDS:
            return position
        if words[position].upper not in ("OR", "REPLACE", "ALTER", "EDITIONABLE", "NONEDITIONABLE"):
            break
    return None


def read_header(words: Sequence[Word], at: int) -> Header:
    """Read the header whose keyword (PROCEDURE, PACKAGE, FUNCTION) is at `at`."""
    kind = _KINDS[words[at].upper]
    start = at + 1
    while upper_at(words, start) in ("BODY", "IF", "NOT", "EXISTS"):
        start += 1
    end = min(end_of_name(words, start), len(words))
    name = ".".join(word.text for word in words[start:end] if word.text != ".")
    parameters: tuple[str, ...] = ()
    if upper_at(words, end) == "(":
        parameters = tuple(parameters_at(words, end))
        end = closing(words, end) + 1
    body = _body(words, end, kind)
    is_string = body < len(words) and words[body].is_string
    around = words[end : len(words) if is_string else body]
    language = next((after.text.lower() for word, after in pairwise(around) if word.upper == "LANGUAGE"), "")
    return Header(kind, name, parameters, language, body)


def _body(words: Sequence[Word], start: int, kind: str) -> int:
    for at in range(start, len(words)):
        word = words[at]
        if word.depth > 0:
            continue
        if word.upper in ("BEGIN", "DECLARE"):
            return at
        # T-SQL: `@day AS date`, `WITH EXECUTE AS OWNER`
        is_clause = upper_at(words, at - 1) == "EXECUTE" or upper_at(words, at - 2) == "@"
        if word.upper in ("AS", "IS") and not is_clause and kind != "trigger":
            return at + 1
    return len(words)


def parameters_at(words: Sequence[Word], at: int) -> Iterator[str]:
    """Yield the names in the parameter list whose "(" is at `at`; one that has only a type has no name."""
    parameter: list[Word] = []
    close = closing(words, at)
    for here in range(at + 1, min(close + 1, len(words))):
        word = words[here]
        is_end = here == close or (word.upper == "," and word.depth == words[at].depth + 1)
        if is_end and len(parameter) > 1:
            yield parameter[0].text
        if is_end:
            parameter = []
        elif word.depth == words[at].depth + 1 and word.upper not in (*_MODES, "(", ")"):
            parameter.append(word)

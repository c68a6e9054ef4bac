"""Which columns an expression of Hive's mentions, and what each step around them does to the value. Pure.

Hive writes expressions for people (`ExprNodeDesc.getExprString`), so this is no SQL: texts stand without
escapes, columns under the names of whichever subquery they came through. Where a window function is
meant, Hive writes its syntax tree (``(tok_function sum (. (tok_table_or_col t) x) (tok_windowspec ...))``)
or, in other versions, only the name of its result (``_wcol0``).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import NamedTuple

from lineage_merge.column_lineage.transformations import Transformation, along
from lineage_merge.sources.hive import syntax_tree
from lineage_merge.sources.hive.tokens import AGGREGATES, INTERNAL, OF_WINDOW, Token, closing, opens_tree

IDENTITY = Transformation.IDENTITY
TRANSFORMATION = Transformation.TRANSFORMATION
AGGREGATION = Transformation.AGGREGATION
CONDITIONAL = Transformation.CONDITIONAL
WINDOW = Transformation.WINDOW

_WORDS = (
    "and as asc between by case desc distinct else end false from in is like not null or over then true when"
)
_KEYWORDS = frozenset(_WORDS.split())


class ColumnReference(NamedTuple):
    """A column as an expression names it: its parts in lower case, and the steps its value takes."""

    parts: tuple[str, ...]
    steps: tuple[Transformation, ...]

    @property
    def is_internal(self) -> bool:
        """Whether the name is only Hive's own, which no table has."""
        return INTERNAL.fullmatch(self.parts[-1]) is not None

    @property
    def qualifier(self) -> str:
        """The table, or the alias of one."""
        return ".".join(self.parts[:-1])


@dataclass(slots=True)
class _Frame:
    """What stands around a token: a function's argument, a CASE, or mere brackets (name "")."""

    name: str
    argument: int = 0
    is_case: bool = False
    step: Transformation = CONDITIONAL
    stack: list["_Frame"] = field(default_factory=list)

    def now(self) -> Transformation:
        if self.is_case:
            return self.step
        if self.name == "if":
            return CONDITIONAL if self.argument == 0 else TRANSFORMATION
        if self.name in AGGREGATES:
            return AGGREGATION
        return TRANSFORMATION if self.name else IDENTITY


def column_references(found: Sequence[Token]) -> list[ColumnReference]:
    """Every mention of a column, in their order."""
    return list(_column_references(found))


def is_plain(found: Sequence[Token]) -> bool:
    """Whether an expression is nothing but one column's name."""
    end = _end_of_name(found, 0)
    return 0 < end == len(found) and found[0].text not in _KEYWORDS


def _column_references(found: Sequence[Token]) -> Iterator[ColumnReference]:
    outermost = IDENTITY if is_plain(found) else TRANSFORMATION
    frames: list[_Frame] = []
    index = 0
    while index < len(found):
        kind, text = found[index].kind, found[index].text
        if opens_tree(found, index):
            end = closing(found, index)
            around = [outermost, *(frame.now() for frame in frames)]
            for parts, steps in syntax_tree.uses(found[index:end]):
                yield _column_reference(parts, [*around, *steps])
            index = end
            continue
        if kind == "other" and text in "([":
            frames.append(_Frame(""))
        elif kind == "other" and text in ")]":
            while frames and frames.pop().is_case:
                pass
        elif kind == "other" and text == "," and frames:
            frames[-1].argument += 1
        elif kind == "word" and text == "as":
            index += 1  # CAST(x AS bigint)
        elif kind == "word" and text == "case":
            frames.append(_Frame("case", is_case=True))
        elif kind == "word" and text in ("when", "then", "else", "end") and frames and frames[-1].is_case:
            if text == "end":
                frames.pop()
            else:
                frames[-1].step = CONDITIONAL if text == "when" else TRANSFORMATION
        elif kind == "quoted" or (kind == "word" and text not in _KEYWORDS):
            end = _end_of_name(found, index)
            if end < len(found) and found[end].text == "(":
                frames.append(_Frame(found[end - 1].text))
                index = end + 1
                continue
            parts = tuple(token.text for token in found[index:end:2])
            around = [outermost, *(frame.now() for frame in frames)]
            yield _column_reference(parts, around)
            index = end
            continue
        index += 1


def _end_of_name(found: Sequence[Token], start: int) -> int:
    """Behind ``a.b.c``, where one begins."""
    index = start
    while index < len(found) and found[index].kind in ("word", "quoted"):
        if index + 1 >= len(found) or found[index + 1].text != ".":
            return index + 1
        index += 2
    return index


def _column_reference(parts: tuple[str, ...], around: Sequence[Transformation]) -> ColumnReference:
    """A mention inside of steps, the outermost first."""
    # The result of a window function: nobody says which of its columns makes it and which steers it.
    own = (TRANSFORMATION, WINDOW) if OF_WINDOW.fullmatch(parts[-1]) else (IDENTITY,)
    steps = (reduce(lambda inner, outer: along(outer, inner), reversed(around), step) for step in own)
    return ColumnReference(parts, tuple(steps))

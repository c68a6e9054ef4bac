"""Tables that a statement reads only on the right side of INTERSECT, EXCEPT or MINUS. Pure.

Hive executes these operations as a union with a count per row, so its lineage reports the columns of both
sides as values. Those of the right side only decide which rows of the left side remain.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lineage_merge.column_lineage.row_rules import compares_both_sides
from lineage_merge.sources.hive.statement import Table, Token, table_at, tokens_of

_BEFORE_A_QUERY = frozenset({"select", "from", "with", "values", "all", "distinct"})
_ENDS_FROM = frozenset({"select", "where", "group", "having", "order", "sort", "cluster", "limit", "insert"})


class _Reference(NamedTuple):
    """A table or common table expression that a query names; `cte`: the one it is named in ("": none)."""

    cte: str
    table: Table
    is_right: bool


@dataclass(slots=True)
class _Query:
    """A query or another parenthesized part; `around`: whether it is itself on a right side."""

    cte: str
    around: bool
    is_right: bool
    in_from: bool = False
    has_with: bool = False


def right_only(text: str, database: str) -> frozenset[Table]:
    """Return the tables that only decide on rows; `database` completes unqualified names.

    Not found: views, which the statement names while Hive's lineage has their tables.
    """
    tokens = tokens_of(text)
    if not any(token.kind == "word" and compares_both_sides(token.text) for token in tokens):
        return frozenset()
    references = list(_references(tokens, database))
    names = {reference.cte for reference in references if reference.cte}
    sides: dict[bool, set[Table]] = {False: set(), True: set()}
    waiting = [("", False)]
    seen = set(waiting)
    while waiting:
        cte, is_right = waiting.pop()
        for reference in references:
            if reference.cte != cte:
                continue
            side = is_right or reference.is_right
            if reference.table.database == database and reference.table.name in names - {cte}:
                if (reference.table.name, side) not in seen:
                    seen.add((reference.table.name, side))
                    waiting.append((reference.table.name, side))
            else:
                sides[side].add(reference.table)
    return frozenset(sides[True] - sides[False])


def _references(tokens: Sequence[Token], database: str) -> Iterator[_Reference]:
    queries = [_Query("", False, False)]
    for index, token in enumerate(tokens):
        query = queries[-1]
        if token == ("other", "("):
            named = _find_query_name(tokens, index) if query.has_with else ""
            queries.append(_Query(named or query.cte, query.is_right, query.is_right))
        elif token == ("other", ")"):
            if len(queries) > 1:
                queries.pop()
        elif token.kind == "word" and token.text == "union":
            query.is_right, query.in_from = query.around, False
        elif token.kind == "word" and compares_both_sides(token.text) and _has_operand(tokens, index):
            query.is_right, query.in_from = True, False
        elif token.kind == "word" and token.text in _ENDS_FROM:
            query.in_from = False
        elif token == ("word", "with"):
            query.has_with = True
        elif token.text in ("from", "join") or (token.text == "," and query.in_from):
            query.in_from = True
            table, _ = table_at(tokens, index + 1, database)
            if table:
                yield _Reference(query.cte, table, query.is_right)


def _has_operand(tokens: Sequence[Token], index: int) -> bool:
    """Return whether the word is an operator: ``minus`` may be a name, as in ``select 1 minus from t``."""
    is_name = tokens[index].text == "minus" and tokens[index + 1 : index + 2] == [Token("word", "from")]
    return not is_name and _begins_query(tokens, index + 1)


def _begins_query(tokens: Sequence[Token], index: int) -> bool:
    if index >= len(tokens):
        return False
    token = tokens[index]
    return token == ("other", "(") or (token.kind == "word" and token.text in _BEFORE_A_QUERY)


def _find_query_name(tokens: Sequence[Token], index: int) -> str:
    """Return the name before ``AS (``, "" without one."""
    if index < 2 or tokens[index - 1] != ("word", "as") or not _begins_query(tokens, index + 1):
        return ""
    return tokens[index - 2].text

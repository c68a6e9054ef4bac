"""Parsing of SQL text, with the names of functions as they are written."""

import re

from sqlglot import Dialect, exp

_NAME = re.compile(r'"?(\w+)"?')
_CALLED = re.compile(r"(\w+)\s*\(\s*$")
_ARGUMENTS = re.compile(r"\s*\(")
# Functions whose position the parser does not record.
_WITHOUT_POSITION = (exp.ArgMax, exp.ArgMin, exp.Ceil, exp.Floor, exp.If, exp.Substring, exp.Trim)
_MAX_NAME = 128
_WRITTEN = "written"


def parse(text: str, dialect: Dialect) -> list[exp.Expr]:
    """Return the statements of a text. Raises `SqlglotError`."""
    trees = [tree for tree in dialect.parse(text) if tree is not None]
    for tree in trees:
        _record_function_names(tree, text)
    return trees


def written_name(function: exp.Expr) -> str:
    """Return the name of a function as it is written, in lower case; "" if it is unknown.

    The parser has one class for several functions: `nvl` and `coalesce`.
    """
    return str(function.meta_get(_WRITTEN, ""))


def _record_function_names(tree: exp.Expr, text: str) -> None:
    # The parser makes operators of some functions: `mod(a, b)`, `element_at(a, 1)`.
    for node in tree.find_all(exp.Func, exp.Binary, exp.Bracket):
        start = _start(node)
        if start is not None:
            end = node.meta["end"] + 1
            found = _NAME.fullmatch(text, start, end) if _ARGUMENTS.match(text, end) else None
        elif isinstance(node, _WITHOUT_POSITION) and (first := _first_argument(node)) is not None:
            found = _CALLED.search(text, max(0, first - _MAX_NAME), first)
        else:
            found = None
        if found is not None:
            node.meta[_WRITTEN] = found[1].lower()


def _start(node: exp.Expr) -> int | None:
    start = node.meta_get("start")
    return start if isinstance(start, int) else None


def _first_argument(function: exp.Expr) -> int | None:
    """Return the position of the first argument, None if it does not begin with a name."""
    node = function.this
    while isinstance(node, exp.Binary) and _start(node) is None:
        node = node.this
    if isinstance(node, exp.Column):
        node = node.parts[0]
    return _start(node) if isinstance(node, exp.Identifier | exp.Func) else None

"""Parsing of SQL text, with the names of functions as they are written; a larger stack for deep nesting."""

import re
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from sqlglot import Dialect, exp
from sqlglot.errors import ParseError

from lineage_merge.column_lineage.sql.methods import restore_receivers
from lineage_merge.column_lineage.sql.output_clause import cut_output
from lineage_merge.column_lineage.sql.parser_syntax import rewrite_merge, rewrite_relations
from lineage_merge.column_lineage.sql.statement_syntax import (
    parse_replacement,
    reduce_creation,
    rewrite_statement,
    tables_in_parentheses,
)

_Result = TypeVar("_Result")

# Enough for some 500 nested functions. The memory is reserved, but only used as far as needed.
_CALLS = 20_000
_STACK = 128 * 1024 * 1024
_lock = threading.Lock()
_here = threading.local()


def run_with_deep_stack(work: Callable[[], _Result]) -> _Result:
    """Return the result of `work`, retried on a larger stack after a `RecursionError`.

    Raises `RecursionError` if the larger stack is too small too.
    """
    try:
        return work()
    except RecursionError:
        if getattr(_here, "has_room", False):
            raise
    future: Future[_Result] = Future()

    def run() -> None:
        _here.has_room = True
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            future.set_exception(error)

    with _lock:  # both settings belong to the process
        calls = sys.getrecursionlimit()
        stack = threading.stack_size(_STACK)
        sys.setrecursionlimit(max(calls, _CALLS))
        try:
            thread = threading.Thread(target=run, name="deep SQL")
            thread.start()
            thread.join()
        finally:
            threading.stack_size(stack)
            sys.setrecursionlimit(calls)
    return future.result()


_NAME = re.compile(r'"?(\w+)"?')
_CALLED = re.compile(r"(\w+)\s*\(\s*$")
_ARGUMENTS = re.compile(r"\s*\(")
# Functions whose position the parser does not record.
_WITHOUT_POSITION = (exp.ArgMax, exp.ArgMin, exp.Ceil, exp.Floor, exp.If, exp.Substring, exp.Trim)
_MAX_NAME = 128
_WRITTEN = "written"


def parse(text: str, dialect: Dialect) -> list[exp.Expr]:
    """Return the statements of a text. Raises `SqlglotError`."""
    text = rewrite_statement(rewrite_merge(rewrite_relations(text, dialect), dialect), dialect)
    text, returning = cut_output(text, dialect)
    trees = parse_replacement(text, dialect) or _read(text, dialect)
    if _are_unknown(trees) and (reduced := reduce_creation(text, dialect)) is not None:
        text = tables_in_parentheses(reduced, dialect)
        trees = _read(text, dialect)
    for tree in trees:
        _record_function_names(tree, text)
        if returning is not None:
            tree.set("returning", returning)
    return [restore_receivers(tree, dialect) for tree in trees]


def _read(text: str, dialect: Dialect) -> list[exp.Expr]:
    """Parse a text; a CREATE that cannot be parsed is a command, as one that the parser does not know."""
    try:
        return [tree for tree in dialect.parse(text) if tree is not None]
    except ParseError:
        arguments = tables_in_parentheses(text, dialect)
        if arguments != text:
            return _read(arguments, dialect)
        if reduce_creation(text, dialect) is None:
            raise
        return [exp.Command(this="CREATE")]


def _are_unknown(trees: list[exp.Expr]) -> bool:
    return any(isinstance(tree, exp.Command) for tree in trees)


def get_written_name(function: exp.Expr) -> str:
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
            match = _NAME.fullmatch(text, start, end) if _ARGUMENTS.match(text, end) else None
        elif isinstance(node, _WITHOUT_POSITION) and (first := _first_argument(node)) is not None:
            match = _CALLED.search(text, max(0, first - _MAX_NAME), first)
        else:
            match = None
        if match is not None:
            node.meta[_WRITTEN] = match[1].lower()


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

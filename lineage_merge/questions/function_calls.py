"""Whether a column is used only inside calls of named functions. Pure.

Expressions are readable text of Spark or of a SQL dialect, possibly cut. Where the text leaves a doubt, the
answer is no.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING

from lineage_merge.model.errors import ConfigError

if TYPE_CHECKING:
    from sqlglot import exp

# Longer texts are cut by the sources.
_MAX_LENGTH = 1_000
# The name may be quoted, and have a schema: "gov"."mask"(email), `project.gov.mask`(email).
_CALL = re.compile(r"([A-Za-z_]\w*)[`\"]?\s*\(")
_NAMED = re.compile(r"\sas\s+[`\"]?\w+[`\"]?\s*$", re.IGNORECASE)
_NO_SQLGLOT = "needs sqlglot. Fix: pip install 'lineage-merge[columns]'"


def may_call(expression: str, functions: Sequence[str]) -> bool:
    """Return whether the text can contain a call of a function that a glob matches; without parsing."""
    return any(_matches(name, functions) for name in _CALL.findall(expression))


def enclosing_function(
    expression: str, column: str, functions: Sequence[str], columns: Collection[str]
) -> str:
    """Return the function whose calls contain all occurrences of a column, "" if there is none.

    `columns`: names of all columns from which the value is computed. Names are compared in any case. Outside
    of such calls, another name may be the column under another name (``SELECT email AS raw``): a doubt. If
    all names are inside, so is the column: ``md5(raw)``.
    """
    if len(expression) >= _MAX_LENGTH:
        return ""
    known = {each.lower() for each in columns}
    wanted = column.lower()
    found: set[str] = set()
    renamed: set[str] = set()
    is_all_inside = True
    for names, calls in _parsed(expression):
        inside = next((call for call in calls if _matches(call, functions)), "")
        if inside:
            (found if wanted in names else renamed).add(inside)
        elif wanted in names or not names & known:
            return ""
        else:
            is_all_inside = False
    return min(found or (renamed if is_all_inside else ()), default="")


def _matches(function: str, globs: Sequence[str]) -> bool:
    return any(fnmatchcase(function.lower(), glob.lower()) for glob in globs)


@lru_cache(maxsize=10_000)
def _parsed(expression: str) -> tuple[tuple[frozenset[str], tuple[str, ...]], ...]:
    """Return each referenced column's possible names, and the functions around it, innermost first.

    Empty if the text cannot be parsed. `contact.email` is a column of a table or a field of a column.
    """
    try:
        from sqlglot import ErrorLevel, exp, parse_one
        from sqlglot.errors import SqlglotError
    except ImportError:
        raise ConfigError("propagation", f"stop_at_functions {_NO_SQLGLOT}") from None
    dialect = "spark" if "`" in expression else None
    try:
        tree = parse_one(expression, dialect=dialect, error_level=ErrorLevel.RAISE)
    except (SqlglotError, RecursionError, ValueError):
        return ()
    if _NAMED.search(expression):
        tree = tree.unalias()
    written = {each.lower() for each in _CALL.findall(expression)}
    found = []
    for name in tree.find_all(exp.Identifier):
        whole = name.parent if isinstance(name.parent, exp.Column) else name
        names = frozenset(str(each.name).lower() for each in whole.find_all(exp.Identifier))
        found.append((names, tuple(each for each in _functions_around(whole) if each in written)))
    return tuple(dict.fromkeys(found))


def _functions_around(node: "exp.Expr") -> Iterator[str]:
    """Yield the names of functions, in lower case: sqlglot has several for one function."""
    from sqlglot import exp

    parent = node.parent
    while parent is not None:
        called = parent.expression if isinstance(parent, exp.Dot) else None
        if isinstance(called, exp.Anonymous) and called is not node:
            # The schema of a function, or in DuckDB its first argument: name.lower().
            yield _name(called)
        elif isinstance(parent, exp.Anonymous):
            yield _name(parent)
        elif isinstance(parent, exp.Func) and not isinstance(parent, exp.Case | exp.Connector):
            yield from (name.lower() for name in parent.sql_names())
        node, parent = parent, parent.parent


def _name(call: "exp.Anonymous") -> str:
    """Return the name of a function, in lower case, without its schema."""
    return str(call.name).rpartition(".")[2].lower()

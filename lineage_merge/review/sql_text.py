"""Texts of SQL expressions that do not depend on layout, comments and aliases. Pure; needs sqlglot."""

import re

from sqlglot import Dialect, ErrorLevel, exp

_QUOTED = re.compile(r"""["`]([A-Za-z_]\w*)["`]""")
_QUALIFIER = re.compile(r"(?<![\w.'])[A-Za-z_]\w*\.(?=[A-Za-z_\"`*])")


def without_qualifiers(text: str) -> str:
    """Return an expression without names of tables and quotes of names, in lower case outside literals."""
    return plain(text, is_qualified=False)


def plain(text: str, *, is_qualified: bool) -> str:
    """Return an expression without quotes of names, in lower case; `is_qualified`: with names of tables."""
    parts = re.split(r"('(?:[^']|'')*')", text)
    unquoted = ((_QUOTED.sub(r"\1", each) if number % 2 == 0 else each) for number, each in enumerate(parts))
    return "".join(
        each if number % 2 else (each if is_qualified else _QUALIFIER.sub("", each)).lower()
        for number, each in enumerate(unquoted)
    )


def text_of(node: exp.Expr, dialect: Dialect) -> str:
    """Return the text of an expression without names of tables."""
    return without_qualifiers(written(node, dialect))


def written(node: exp.Expr, dialect: Dialect) -> str:
    """Return the text of an expression on one line, without comments."""
    text = node.sql(
        dialect=dialect,
        comments=False,
        normalize_functions="lower",
        unsupported_level=ErrorLevel.IGNORE,
    )
    return " ".join(text.split())

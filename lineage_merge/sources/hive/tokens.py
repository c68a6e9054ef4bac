"""Tokens of Hive's expressions, and the names with a special meaning. Pure."""

import re
from collections.abc import Sequence
from typing import NamedTuple

# Hive's own aggregate functions (`show functions`, class GenericUDAFResolver).
_AGGREGATES = """
    approx_distinct avg bloom_filter collect_list collect_set compute_bit_vector
    compute_bit_vector_hll compute_stats context_ngrams corr count covar_pop covar_samp
    ds_hll_sketch ds_kll_sketch group_concat histogram_numeric max min ngrams percentile
    percentile_approx percentile_cont percentile_disc regr_avgx regr_avgy regr_count
    regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy std stddev stddev_pop
    stddev_samp sum var_pop var_samp variance
"""
AGGREGATES = frozenset(_AGGREGATES.split())

# A subquery's column that Hive has numbered; the prefix is that of a shuffled row.
INTERNAL = re.compile(r"(?:_(?:col|c|wcol|o__c)\d+|\$f\d+|_groupby\w*)")
OF_WINDOW = re.compile(r"_wcol\d+")

_TOKEN = re.compile(
    r"(?P<string>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"
    r"|`(?P<quoted>[^`]+)`"
    r"|(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?[A-Za-z]{0,2}(?![\w$]))"
    r"|(?P<word>[\w$]+)"
    r"|(?P<operator><=>|<>|!=|<=|>=|==|[=<>])"
    r"|(?P<other>\S)",
    re.DOTALL,
)


class Token(NamedTuple):
    """A token: `kind` is a group of `_TOKEN`, `text` is in lower case, from `start` to before `end`."""

    kind: str
    text: str
    start: int
    end: int


def tokens(text: str) -> list[Token]:
    """Return the words, operators and other symbols of an expression."""
    return [
        Token(each.lastgroup or "other", (each["quoted"] or each[0]).lower(), *each.span())
        for each in _TOKEN.finditer(text)
    ]


def closing(found: Sequence[Token], start: int) -> int:
    """Return the index after the bracket that closes the one at `start`, or the end."""
    depth = 0
    for index in range(start, len(found)):
        if found[index].kind == "other":
            depth += {"(": 1, ")": -1}.get(found[index].text, 0)
        if depth == 0:
            return index + 1
    return len(found)


def opens_tree(found: Sequence[Token], index: int) -> bool:
    """Return whether a syntax tree of Hive's parser begins at a token: ``(tok_function ...``."""
    return (
        found[index].text == "("
        and index + 1 < len(found)
        and found[index + 1].kind == "word"
        and found[index + 1].text.startswith("tok_")
    )

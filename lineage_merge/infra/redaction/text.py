"""Redaction of one text, in any encoding."""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import NewType

from lineage_merge.infra.redaction.functions import keys_of_functions, literals
from lineage_merge.infra.redaction.jdbc import unknown_parameters
from lineage_merge.infra.redaction.parameters import pairs, parameters
from lineage_merge.infra.redaction.spans import MASK, Decoded, Span, replace
from lineage_merge.infra.redaction.tokens import holds_token, tokens
from lineage_merge.infra.redaction.userinfo import ambiguous, positional, userinfo

# A text without secrets: a result of `redact`, or composed of such results.
Redacted = NewType("Redacted", str)

# Matches nearly all texts: names, types, numbers, paths.
_PLAIN = re.compile(r"[\w./$,()<>+*'\s:|-]*\Z")
# Without "=", "@" and "%", a text with a secret contains one of these.
_WORDS = re.compile(
    r"(?i)jdbc|pass|pwd|secret|token|credential|auth|key|thin:|oci8?:|kprb:|phoenix|bearer|basic|begin|crypt|hmac|jwt"
    r"|signature|\beyj"
)

# An expression has at most 1,000 characters.
_LONGEST_CACHED = 1_100
_CACHED = 8_000
# Tokens are longer.
_SHORTEST_TOKEN = 20
# One pass may reveal secrets that the next one masks; a text that needs more passes is masked completely.
_MOST_PASSES = 4


def redact(text: str) -> Redacted:
    """Mask passwords, tokens and keys, and the users of passwords.

    If the end of a secret is ambiguous, it masks too much rather than too little. Idempotent.
    """
    if len(text) < _SHORTEST_TOKEN and text.isidentifier():
        return Redacted(text)
    return _short(text) if len(text) <= _LONGEST_CACHED else _redacted(text, _spans)


def redact_sql(text: str) -> Redacted:
    """Like `redact`, for SQL expressions and columns named by one: ``password = 'x'`` is a comparison."""
    if len(text) < _SHORTEST_TOKEN and text.isidentifier():
        return Redacted(text)
    return _short_sql(text) if len(text) <= _LONGEST_CACHED else _redacted(text, _sql_spans)


def redact_ambiguous(address: str) -> str:
    """Mask passwords at the position of a JDBC table: ``jdbc:phoenix:host:2181:/hbase:user:S``."""
    return replace(address, ambiguous(address))


def _redacted(text: str, spans: Callable[[str], Iterator[Span]]) -> Redacted:
    # An expression may be truncated before the host of an address.
    if not _may_hold_secret(text) and (spans is _spans or "://" not in text):
        return Redacted(text)
    for _ in range(_MOST_PASSES):
        before = text
        # First: a known parameter may end later than its address.
        text = replace(text, _decoding(text, unknown_parameters))
        text = replace(text, spans(text))
        if text == before:
            return Redacted(text)
    return Redacted(MASK)


@lru_cache(_CACHED)
def _short(text: str) -> Redacted:
    return _redacted(text, _spans)


@lru_cache(_CACHED)
def _short_sql(text: str) -> Redacted:
    return _redacted(text, _sql_spans)


def _may_hold_secret(text: str) -> bool:
    if _PLAIN.match(text):
        return bool(_WORDS.search(text)) or holds_token(text)
    return True


def _spans(text: str) -> Iterator[Span]:
    yield from _decoding(text, partial(_of_addresses, with_spaces=True))
    yield from keys_of_functions(text, double_quotes=True)
    yield from pairs(text)


def _sql_spans(text: str) -> Iterator[Span]:
    yield from _decoding(text, partial(_of_addresses, with_spaces=False))
    yield from keys_of_functions(text, double_quotes=False)
    yield from literals(text, redact)
    yield from pairs(text)


def _decoding(text: str, find: Callable[[str], Iterator[Span]]) -> Iterator[Span]:
    """Yield spans of a text as it is, and decoded."""
    yield from find(text)
    decoded = Decoded(text)
    if decoded.text != text:
        yield from map(decoded.original, find(decoded.text))


def _of_addresses(text: str, *, with_spaces: bool) -> Iterator[Span]:
    yield from userinfo(text)
    yield from positional(text)
    yield from parameters(text, with_spaces=with_spaces)
    yield from tokens(text)

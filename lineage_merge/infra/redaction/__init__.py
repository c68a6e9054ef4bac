"""Redaction of passwords, tokens and keys in text, before it becomes an id, a property or a message.

Every text passes one of three callers: `naming` (addresses), `record_builder` (texts of a record) and
`errors.LineageMergeError` (messages). The type `Redacted` marks redacted texts. Imports no other package, so
that all can import it.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import NewType

from lineage_merge.infra.redaction.addresses import (
    CONTAINER_SCHEMES,
    ambiguous,
    positional,
    unknown_parameters,
    userinfo,
)
from lineage_merge.infra.redaction.functions import holds_encryption, keys_of_functions, literals
from lineage_merge.infra.redaction.parameters import names_secret, pairs, secret_parameters
from lineage_merge.infra.redaction.spans import MASK, Decoded, Span, replace

__all__ = [
    "CONTAINER_SCHEMES",
    "MASK",
    "Redacted",
    "holds_encryption",
    "names_secret",
    "redact",
    "redact_ambiguous",
    "redact_sql",
]


_TOKEN = re.compile(
    r"(?:AKIA|ASIA)[0-9A-Z]{16}"  # AWS
    r"|(?<![A-Za-z0-9])(?:"
    r"gh[opsur]_[A-Za-z0-9]{20,255}|github_pat_\w{20,255}|glpat-[\w-]{20,255}"
    r"|xox[abeoprs]-[A-Za-z0-9-]{10,255}|dapi[0-9a-f]{32}|dop_v1_[0-9a-f]{64}|AIza[\w-]{35}|npm_[A-Za-z0-9]{36}"
    r"|sk_live_\w{10,255}|hvs\.[\w-]{20,255}|ya29\.[\w-]{20,1024}"
    r"|eyJ[\w-]{8,4096}\.[\w-]{4,8192}\.[\w-]{0,4096}"
    r")"
)
_PRIVATE_KEY = re.compile(r"(?i)-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_END_OF_KEY = re.compile(r"(?i)-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_HEADER = re.compile(
    r"(?i)(?<![A-Za-z])(?:authorization[\"']{0,2}\s{0,4}[:=]\s{0,4}[\"']?(?:[a-z][a-z0-9-]{2,20}\s{1,4})?"
    r"|(?P<scheme>bearer|basic)\s{1,4})(?=(?P<value>[^\s\"',;|]+))"
)
# Letters and digits: a token after "bearer", not a word.
_LIKE_A_TOKEN = re.compile(r"(?=[\w.~+/=-]*\d)(?=[\w.~+/=-]*[A-Za-z])[\w.~+/=-]{6}")


def _tokens(text: str) -> Iterator[Span]:
    """Yield secrets that are recognized without a key or an address."""
    for match in _TOKEN.finditer(text):
        yield Span(*match.span())
    begin = _PRIVATE_KEY.search(text)
    while begin:
        closing = _END_OF_KEY.search(text, begin.end())
        end = closing.start() if closing else len(text)
        yield Span(begin.end(), end)
        begin = _PRIVATE_KEY.search(text, end)
    for header in _HEADER.finditer(text):
        if header["scheme"] is None or _LIKE_A_TOKEN.match(header["value"]):
            yield Span(*header.span("value"))


# A text without secrets: a result of `redact`, or composed of such results.
Redacted = NewType("Redacted", str)

# Matches nearly all texts: names, types, numbers, paths.
_PLAIN = re.compile(r"[\w./$,()<>+*'\s:|-]*\Z")
# Without "=", "@" and "%", a text with a secret contains one of these.
_WORDS = re.compile(
    r"(?i)jdbc|pass|pwd|secret|token|credential|auth|key|thin:|oci8?:|kprb:|phoenix|bearer|basic|begin|crypt|hmac|jwt"
    r"|signature|\beyj"
)

_ESCAPED_QUOTE = re.compile(r"\\(['\"])")
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
    return _redact(text, False)


def redact_sql(text: str) -> Redacted:
    """Like `redact`, for SQL expressions and columns named by one: ``password = 'x'`` is a comparison."""
    return _redact(text, True)


def redact_ambiguous(address: str) -> str:
    """Mask passwords at the position of a JDBC table: ``jdbc:phoenix:host:2181:/hbase:user:S``."""
    return replace(address, ambiguous(address))


def _redact(text: str, is_sql: bool) -> Redacted:
    if len(text) < _SHORTEST_TOKEN and text.isidentifier():
        return Redacted(text)
    return _short(text, is_sql) if len(text) <= _LONGEST_CACHED else _mask_secrets(text, is_sql)


def _mask_secrets(text: str, is_sql: bool) -> Redacted:
    # An expression may be truncated before the host of an address.
    if not _may_hold_secret(text) and not (is_sql and "://" in text):
        return Redacted(text)
    for _ in range(_MOST_PASSES):
        before = text
        # First: a known parameter may end later than its address.
        text = replace(text, _decoding(text, unknown_parameters))
        text = replace(text, _spans(text, is_sql))
        if text == before:
            return Redacted(text)
    return Redacted(MASK)


_short = lru_cache(_CACHED)(_mask_secrets)


def _may_hold_secret(text: str) -> bool:
    if _PLAIN.match(text):
        return bool(_WORDS.search(text) or _TOKEN.search(text))
    return True


def _spans(text: str, is_sql: bool) -> Iterator[Span]:
    yield from _decoding(text, partial(_find_addresses, with_spaces=not is_sql))
    yield from keys_of_functions(text, double_quotes=not is_sql)
    if is_sql:
        yield from literals(text, redact)
        # In some dialects a backslash escapes a quote.
        if _ESCAPED_QUOTE.search(text):
            yield from literals(_ESCAPED_QUOTE.sub(r"\1\1", text), redact)
    yield from pairs(text)


def _decoding(text: str, find: Callable[[str], Iterator[Span]]) -> Iterator[Span]:
    """Yield spans of a text as it is, and decoded."""
    yield from find(text)
    decoded = Decoded(text)
    if decoded.text != text:
        yield from map(decoded.original, find(decoded.text))


def _find_addresses(text: str, *, with_spaces: bool) -> Iterator[Span]:
    yield from userinfo(text)
    yield from positional(text)
    yield from secret_parameters(text, with_spaces=with_spaces)
    yield from _tokens(text)

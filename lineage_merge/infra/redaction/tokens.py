"""Secrets with a known format: access keys, tokens, private keys, headers."""

import re
from collections.abc import Iterator

from lineage_merge.infra.redaction.spans import Span

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


def tokens(text: str) -> Iterator[Span]:
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


def holds_token(text: str) -> bool:
    """Whether a text of letters, digits and dashes contains a token."""
    return _TOKEN.search(text) is not None

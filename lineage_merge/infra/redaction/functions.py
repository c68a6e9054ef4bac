"""Secrets in SQL literals: keys of encryption functions, and quoted addresses."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from lineage_merge.infra.redaction.spans import Span

# Of Spark, Databricks, Hive, Snowflake, PostgreSQL (pgcrypto), MySQL, ClickHouse, BigQuery, SQL Server,
# Oracle, Trino, Redshift, Teradata; names in SQL, and of Spark's classes and methods.
_ENCRYPTION = (
    r"(?:try_?)?(?:aes|des|rsa|sm4|aes256|aead\.|deterministic_?)_?(?:en|de)crypt(?:_?mysql|_?raw|_?string|_?bytes)?"
    r"|(?:try_?)?(?:en|de)crypt(?:_raw|_iv|_mysql|bypassphrase|bykey|_value)?"
    r"|pgp_(?:sym|pub)_(?:en|de)crypt(?:_bytea)?|dbms_crypto\.(?:en|de)crypt|dbms_crypto\.mac"
    r"|(?:sha_?)?hmac(?:_?(?:md5|sha)_?\d{0,3})?|crypt|staticinvoke"
)
_CALL = (
    rf"(?i)(?P<function>(?<![\w$])(?:{_ENCRYPTION})\s{{0,4}}\()"
    r"|(?P<open>\()|(?P<close>\))|(?P<comma>,)"
)
_SINGLE = r"|(?P<single>'(?:[^']|'')*(?:'|\Z))"
_DOUBLE = r'|(?P<double>"(?:[^"]|"")*(?:"|\Z))'
_TOKEN = re.compile(_CALL + _SINGLE + _DOUBLE)
# Outside of calls: texts have apostrophes, and a quoted name may contain a call.
_OUTSIDE_TEXT = re.compile(_CALL + r"|(?P<single>\Z.)|(?P<double>\Z.)")
_OUTSIDE_SQL = re.compile(_CALL + _SINGLE + r"|(?P<double>\Z.)")
_UNQUOTED = re.compile(r"[^\s(),'\"](?:[^(),'\"\n]*[^\s(),'\"])?")
# Modes, paddings and algorithms are not keys.
_MODE = re.compile(
    r"(?i)(?:|(?:aes|bf|3?des|sm4|rsa|blowfish)?[-_]?(?:128|192|256)?[-_]?"
    r"(?:(?:gcm|cbc|ecb|ctr|ofb|cfb\d{0,3}|ccm)(?:/pad:(?:pkcs|none))?|)|pkcs\d?|none|default|no|null|true|false"
    r"|md5|sha-?\d{0,3}|hex|base64|utf-?8|binary|string)"
)
# Spark writes literals without quotes in column names and plan texts: an unquoted mode indicates it.
_UNQUOTED_MODE = re.compile(r"(?i)(?:GCM|CBC|ECB)\Z")
_NAMED = re.compile(r"(?P<key>[A-Za-z_]\w{0,80})\s{0,4}=>\s{0,4}\Z")

_MAX_METHOD_LENGTH = 400
_MAX_NAME_LENGTH = 90

Redact = Callable[[str], str]


def holds_encryption(text: str) -> bool:
    """Whether the text may call an encryption function."""
    lowered = text.lower()
    return "crypt" in lowered or "hmac" in lowered or "dbms_crypto" in lowered


@dataclass(slots=True)
class _Call:
    """An open parenthesis; `arguments`: unquoted ones of an encryption function, except the first."""

    is_encryption: bool
    number: int = 0
    arguments: list[Span] = field(default_factory=list)
    shows_literals: bool = False


def keys_of_functions(text: str, *, double_quotes: bool) -> Iterator[Span]:
    """Yield the literals in arguments of encryption functions, except modes and algorithms.

    Functions differ in the position of the key. `double_quotes`: they quote literals, not names.
    """
    if not holds_encryption(text):
        return
    calls: list[_Call] = []
    encrypting: list[_Call] = []  # the encryption functions among them
    position = 0
    outside = _OUTSIDE_TEXT if double_quotes else _OUTSIDE_SQL
    while token := (_TOKEN if encrypting else outside).search(text, position):
        if encrypting:
            _read_unquoted(encrypting[-1], text, position, token.start(), token.lastgroup)
        position = token.end()
        if token["function"] or token["open"]:
            calls.append(_Call(bool(token["function"]) and _encrypts(token[0], text, position)))
            if calls[-1].is_encryption:
                encrypting.append(calls[-1])
        elif token["close"] and calls:
            if calls.pop().is_encryption:
                yield from _list_shown(encrypting.pop())
        elif token["comma"] and calls and calls[-1].is_encryption:
            calls[-1].number += 1
        elif encrypting and (token["single"] or (token["double"] and double_quotes)):
            start, end = _content(token)
            if "\\" in token[0]:
                # A quote after a backslash: the end of the literal depends on the dialect.
                yield Span(start, len(text))
                return
            if not _MODE.fullmatch(text, start, end):
                yield Span(start, end)
    for call in encrypting:
        yield from _list_shown(call)


def _encrypts(name: str, text: str, start: int) -> bool:
    """Whether a function encrypts; Spark shows Java methods as an argument of `staticinvoke`."""
    is_method = name.lower().startswith("staticinvoke")
    return not is_method or "crypt" in text[start : start + _MAX_METHOD_LENGTH].lower()


def _read_unquoted(call: _Call, text: str, start: int, end: int, following: str | None) -> None:
    for match in _UNQUOTED.finditer(text, start, end):
        if _UNQUOTED_MODE.fullmatch(match[0]):
            call.shows_literals = True
        is_function = match.end() == end and following in ("open", "function")
        if call.number and not is_function and not _MODE.fullmatch(match[0]):
            call.arguments.append(Span(*match.span()))


def _list_shown(call: _Call) -> list[Span]:
    return call.arguments if call.shows_literals else []


def _content(token: re.Match[str]) -> tuple[int, int]:
    """Return the span inside the quotes; a truncated text has no closing quote."""
    quoted = token[0]
    is_closed = len(quoted) > 1 and quoted.endswith(quoted[0])
    return token.start() + 1, token.end() - is_closed


def literals(text: str, redact: Redact) -> Iterator[Span]:
    """Yield the SQL literals that contain an address or a list of parameters, redacted."""
    position = 0
    while token := _TOKEN.search(text, position):
        position = token.end()
        if not (token["single"] or token["double"]):
            continue
        start, end = _content(token)
        quote = token[0][0]
        content = text[start:end].replace(quote * 2, quote)
        named = _NAMED.search(text, max(0, token.start() - _MAX_NAME_LENGTH), token.start())
        if named and _is_redacted(f"{named['key']}='{content}'", redact):
            yield Span(start, end)
            continue
        # A truncated text may lack the host after a password.
        is_cut = end == len(text)
        redacted = redact(f"{content}@").removesuffix("@") if is_cut else redact(content)
        if redacted != content:
            yield Span(start, end, redacted.replace(quote, quote * 2))


def _is_redacted(text: str, redact: Redact) -> bool:
    return redact(text) != text

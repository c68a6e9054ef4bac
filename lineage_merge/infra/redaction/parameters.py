"""Secrets in lists of keys and values: ``?password=...``, ``;AccountKey=...``, ``"token": "..."``."""

import re
from collections.abc import Iterator

from lineage_merge.infra.redaction.spans import MASK, Quotes, Span

_MAX_KEY_LENGTH = 90
_KEY = re.compile(r"\s{0,4}[\"'\])\\]{0,5}(?P<key>[\w.-]{0,80}[A-Za-z])")  # of the reversed text
_SEPARATOR_END = re.compile(r"\s{0,4}")
_NOT_A_WORD = re.compile(r"[^a-z0-9]+")

_NAMES = (
    r"password|passwd|passwort|passphrase|passcode|pword|pwd|secret|token|credential|signature|jwt|apikey"
    r"|clientassertion|authorization|(?:access|secret|shared|account|private|master|encryption|signing"
    r"|storage|auth|aws|sas)key"
)
_IN_TEXT = re.compile(rf"(?:{_NAMES}|\A(?:pass|pw|auth|sig|sas)\Z)")
# Stricter in paths: db=token_counts/secretary=5 are partition directories.
_IN_PATH = re.compile(
    r"[a-z0-9]*(?:password|passwd|passphrase|pwd|secret|apikey"
    r"|(?:access|auth|refresh|session|security|api|sas|bearer)token"
    r"|(?:access|secret|shared|account|private|sas)key)s?"
)
# Keys with these endings refer to a secret, but do not contain it.
_ABOUT = re.compile(
    r"(?:path|file|filename|location|name|arn|ur[il]|endpoint|provider|type|class|format|length|count|policy"
    r"|scope|env|enabled|required|expiry|expires|expiresin|resets?|id|s3|at|date|time|used|limit)\Z"
)
# Names of configuration keys in messages: "set password: password_env".
_NAME_OF_A_KEY = re.compile(
    r"[\"'`]?(?:password|token|secret|salt|user_salt)_(?:env|secret|file|arn)(?![\w/#-])"
)
_LONGEST_NAME = 24
_NO_WORD = re.compile(r"pass|pwd|secret|key")
_IN_PARAMETERS = ("pass", "pwd", "secret", "token", "credential", "signature", "jwt")
_KEY_PARAMETER = re.compile(r"key(?:base64|b64|pem|hex|der)?\Z")
_EXACT_PARAMETERS = frozenset({"sig", "pw", "auth", "authorization", "sas"})

_SPACE = re.compile(r"\s")
_JDBC = re.compile(r"(?i)jdbc[\w-]{0,40}:")

_END_OF_DIRECTORY = re.compile(r"[/\"]")
_QUOTES = frozenset("'\"`")
_QUOTED_VALUE = re.compile(r":\s{0,4}\\{0,3}([\"'])(?:\1(?=[^\s,}\]\"']))?")
_PLAIN_VALUE = re.compile(r":[ \t]{1,4}([^\s\"'{}\[\],;]+)")
# No passwords: a data type after a field name, a word in a sentence.
_NO_PASSWORD = re.compile(
    r"(?i)(?:[a-z]+|\d{1,6}|(?:u?int|float|double|decimal|numeric|n?var(?:char|binary)|n?char|binary"
    r"|timestamp|time|datetime|bit|string|text|number|fixed|array|map|struct)[\d_]{0,4}[\w(<>):.]*)[.:)>]*\Z"
)
_FLAG = re.compile(r"(?<![\w-])--(?P<key>[A-Za-z][\w-]{0,80})\s{1,4}(?=(?P<value>[^\s-][^\s]*))")


def secret_parameters(text: str, *, with_spaces: bool = True) -> Iterator[Span]:
    """Yield the values of secret keys; `with_spaces`: also with spaces around ``=``."""
    addresses = _JDBC.finditer(text)
    address = next(addresses, None)
    quotes = Quotes(text) if address else None
    end_of_jdbc = -1
    position = text.find("=")
    while position >= 0:
        while address and quotes and address.start() < position:
            end = quotes.end_around(address.start())
            end_of_jdbc = max(end_of_jdbc, len(text) if end < 0 else end)
            address = next(addresses, None)
        span = _parameter(text, position, end_of_jdbc, with_spaces)
        if span:
            yield span
        position = text.find("=", span.end if span else position + 1)


def _parameter(text: str, equals: int, end_of_jdbc: int, with_spaces: bool) -> Span | None:
    is_jdbc = equals < end_of_jdbc
    limit = end_of_jdbc if is_jdbc else len(text)
    head = text[max(0, equals - _MAX_KEY_LENGTH) : equals]
    match = _KEY.match(head[::-1])
    if match is None or _is_masked(text, equals + 1):
        return None
    key = _NOT_A_WORD.sub("", match["key"][::-1].lower())
    first = equals - match.end()
    blank = first
    while blank and blank > first - 4 and text[blank - 1].isspace():
        blank -= 1
    before = text[blank - 1] if blank else ""
    is_spaced = head[-1:].isspace() or text[equals + 1 : equals + 2].isspace()
    start = equals + 1
    if before and before in "?&;#":
        return Span(start, _end(text, start, before, limit, is_jdbc)) if _is_parameter(key) else None
    if is_jdbc:
        if not _is_parameter(key):
            return None
        if before == "(":
            return Span(start, max(text.rfind(")", start, limit), start))
        return Span(start, _end(text, start, "&", limit, is_jdbc))
    if before == "/":
        end = _END_OF_DIRECTORY.search(text, start)
        return Span(start, end.start() if end else len(text)) if _IN_PATH.fullmatch(key) else None
    if not before and "/" in text[start:] and not _IN_PATH.fullmatch(key):
        return None  # a partition directory at the root of a bucket
    if text.startswith("=", start) or not _IN_TEXT.search(key) or _ABOUT.search(key):
        return None
    if _names_a_key(text, start):
        return None
    # With spaces it may be a comparison in SQL or a sentence, or an option after the one with the address.
    if is_spaced and end_of_jdbc < 0 and not (with_spaces and _NO_WORD.search(key)):
        return None
    return Span(*_value(text, start, before))


def _is_masked(text: str, start: int) -> bool:
    """Whether a mask follows; text may continue after it: ``...&password=*****: names no table``."""
    end = start + len(MASK)
    return text.startswith(MASK, start) and not text[end : end + 1].isalnum()


def _is_parameter(key: str) -> bool:
    return (
        key in _EXACT_PARAMETERS
        or _KEY_PARAMETER.search(key) is not None
        or any(word in key for word in _IN_PARAMETERS)
    )


def _end(text: str, start: int, before: str, limit: int, is_jdbc: bool) -> int:
    """Return the end of a value: the next separator of its list, ``;`` for SQL Server, ``&`` for queries."""
    if before == ";" and text.startswith("{", start):
        start = max(text.rfind("}", start, limit), start)
    end = text.find(";" if before == ";" else "&", start, limit)
    end = limit if end < 0 else end
    if is_jdbc or before == ";":
        return end
    space = _SPACE.search(text, start, end)
    return space.start() if space else end


def _value(text: str, start: int, before: str) -> tuple[int, int]:
    """Return the span of a value: to its closing quote, the end of its list, or the next space."""
    blank = _SEPARATOR_END.match(text, start + 1 if text.startswith(">", start) else start)
    start = blank.end() if blank else start
    quote = text[start : start + 1]
    if quote in _QUOTES:
        while text.startswith(quote, start):  # quotes inside quotes are doubled
            start += 1
        end = text.find(quote, start)
        return start, len(text) if end < 0 else end
    if before in _QUOTES and (end := text.find(before, start)) >= 0:
        return start, end
    if not before:
        for mark in ";&":
            end = text.find(mark, start)
            if end >= 0:
                return start, end
    space = _SPACE.search(text, start)
    return start, space.start() if space else len(text)


def pairs(text: str) -> Iterator[Span]:
    """Yield secret values after a colon (JSON, YAML) and after command-line options."""
    position = 0
    while match := _QUOTED_VALUE.search(text, position):
        position = match.end()
        if names_secret(_key_before(text, match.start())) and not _names_a_key(text, position):
            end = closing_quote(text, position, match[1])
            yield Span(position, end)
            position = end
    position = 0
    while match := _PLAIN_VALUE.search(text, position):
        position = match.start(1)  # a value can end with the next key
        if _NO_PASSWORD.match(match[1]) or _names_a_key(text, match.start(1)):
            continue
        if names_secret(_key_before(text, match.start())):
            yield Span(*match.span(1))
    for match in _FLAG.finditer(text):
        if names_secret(match["key"]):
            yield Span(*match.span("value"))


def _names_a_key(text: str, start: int) -> bool:
    return _NAME_OF_A_KEY.match(text[start : start + _LONGEST_NAME]) is not None


def _key_before(text: str, end: int) -> str:
    match = _KEY.match(text[max(0, end - _MAX_KEY_LENGTH) : end][::-1])
    return match["key"][::-1] if match else ""


def names_secret(name: str) -> bool:
    """Whether a key names a secret: ``password``, ``fs.s3a.secret.key``; not ``password_file``."""
    key = _NOT_A_WORD.sub("", name.lower())
    return bool(_IN_TEXT.search(key)) and not _ABOUT.search(key)


def closing_quote(text: str, start: int, quote: str) -> int:
    """Return the position of the closing quote; escaped quotes are part of the value."""
    end = text.find(quote, start)
    while end > start and text[end - 1] == "\\" and text[end - 2 : end - 1] != "\\":
        following = text.find(quote, end + 1)
        if following < 0:
            break
        end = following
    return len(text) if end < 0 else end

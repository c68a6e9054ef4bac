"""Users and passwords before the host of an address: ``scheme://user:password@host``.

Addresses without ``//`` have them at a fixed position: Oracle's ``thin:user/password@host``,
``kafka:user:password@host``, Phoenix's ``host:port:/root:user:password``.
"""

import re
from collections.abc import Iterator

from lineage_merge.infra.redaction.spans import Span

# Schemes in which the text before "@" is a container, not a user.
CONTAINER_SCHEMES = frozenset({"abfs", "abfss", "wasb", "wasbs"})

_END_OF_AUTHORITY = re.compile(r"[/?#;]")
_SPACE_OR_BAR = re.compile(r"[\s|]")
_PORT = re.compile(r":\d*\Z")
_SCHEME = re.compile(r"[A-Za-z0-9+.-]*")  # of the reversed text
_LONGEST_SCHEME = 40
# A bucket has no port, so the text after its colon is a secret key.
_WITHOUT_PORT = frozenset({"s3", "s3a", "s3n", "gs"})
_ACCESS_KEY = re.compile(r"(?:AKIA|ASIA)[0-9A-Z]{16}:")
# Characters before an address without a scheme, ``//user:password@host``.
_BEFORE_AN_ADDRESS = frozenset(" \t\r\n'\"=(,@<[{|")

# The words before the target of a JDBC address: jdbc:jtds:sqlserver://host.
JDBC = r"(?<![\w-])jdbc[\w-]{0,40}:(?P<words>(?:[a-z][\w+.-]{0,40}:){1,5})"
_JDBC = re.compile(
    rf"(?i){JDBC}"
    r"|(?<![\w-])(?:[a-z][\w+-]{0,40}:){0,2}(?P<oracle>(?:thin|oci8?|thick|kprb):)"
)
_ORACLE = re.compile(r"(?i)(?:thin|oci8?|thick|kprb):\Z")
# Databases that are files: their addresses are paths.
_FILE_DATABASES = frozenset(
    {"sqlite", "h2", "derby", "duckdb", "hsqldb", "hsql", "ucanaccess", "access", "dbf", "paradox"}
)
_END_OF_TARGET = re.compile(r"[?;\s]")
_PHOENIX = re.compile(
    r"(?i)(?<![\w-])phoenix(?:\+zk|\+master|\+rpc)?:(?!//|thin:)[^:\s/]*+(?::\d++(?=:))?+(?::/[^:\s]*+)?+"
    r":[^:\s\"'`(/]+:(?P<password>[^:\s]+)"
)
_SHORT = re.compile(r"(?<![\w+.:/@-])(?P<scheme>[A-Za-z][\w+.-]{1,40}):[^\s:/@]{1,128}:(?!//|\d+/)")
_END_OF_WORD = re.compile(r"\s")
# Schemes whose names have two colons before an "@": versions, snapshots, resource names.
_NOT_SHORT = ("arn", "urn", "jdbc", "bigquery", "bq", "sha256", "pkg")
_NO_HOST = re.compile(r"(?:v?-?\d+|sha256:.*)\Z")


def userinfo(text: str) -> Iterator[Span]:
    """Yield the userinfo after each ``//`` in the text."""
    last_at = text.rfind("@")
    position = text.find("//")
    while 0 <= position < last_at:
        start = position + 2
        before = text[position - 1] if position else " "
        if before == ":":
            scheme = _scheme_before(text, position - 1)
            # A qualified name of SQL may stand before it: dw.`s3:////key:secret@bucket`.
            while scheme.rpartition(".")[2] in _WITHOUT_PORT and text.startswith("/", start):
                start += 1
            end, at = find_authority(text, start, last_at, scheme)
            if at >= 0:
                if scheme in CONTAINER_SCHEMES:
                    colon = text.find(":", start, at)
                    if colon >= 0:
                        yield Span(colon, at, "")
                else:
                    yield Span(start, at + 1, "")
        elif before in _BEFORE_AN_ADDRESS:
            end, at = find_authority(text, start, last_at, "")
            if at >= 0 and ":" in text[start:at]:
                yield Span(start, at + 1, "")
        else:
            end = start
        position = text.find("//", end)


def find_authority(text: str, start: int, last_at: int, scheme: str) -> tuple[int, int]:
    """Return the end of an authority, and the position of its last "@" or -1.

    `last_at` is the position of the last "@" of the text.
    """
    match = _END_OF_AUTHORITY.search(text, start)
    end = match.start() if match else len(text)
    if mark := _SPACE_OR_BAR.search(text, start, end):
        before = text[start : mark.start()]
        # A password may contain either; an authority without one ends there.
        if ":" not in before or (mark[0] != "|" and _PORT.search(before)):
            end = mark.start()
    if "@" not in text[start:end]:
        # s3a://KEY:SECRET/WITH/SLASHES@bucket is not a valid URI, but Hadoop accepts it.
        if last_at < end or not _holds_a_password(text[start:end], scheme):
            return end, -1
        match = _END_OF_AUTHORITY.search(text, last_at)
        end = match.start() if match else len(text)
    return end, text.rindex("@", start, end)


def _holds_a_password(authority: str, scheme: str) -> bool:
    if ":" not in authority or authority.startswith(("[", "arn:")):
        return False
    is_key = scheme in _WITHOUT_PORT or _ACCESS_KEY.match(authority) is not None
    return is_key or not _PORT.search(authority)


def _scheme_before(text: str, colon: int) -> str:
    match = _SCHEME.match(text[max(0, colon - _LONGEST_SCHEME) : colon][::-1])
    return match[0][::-1].lower() if match else ""


# Without a scheme, only a port distinguishes an address from an e-mail address or a path.
_SERVER = r"@(?:tcp\()?[\w.-]{1,253}:\d{2,5}(?![\w.])"
_NO_SCHEME = re.compile(rf"(?<![\w+.:/@-])[\w.+-]{{1,64}}:(?P<password>[^\s:/@]{{1,128}}){_SERVER}")
# Oracle's user/password@host:port/service.
_EASY_CONNECT = re.compile(rf"(?<![\w+.:/@-])[\w.+$#-]{{1,64}}/(?P<password>[^\s/@]{{1,128}}){_SERVER}")


def positional(text: str) -> Iterator[Span]:
    """Yield passwords at a fixed position of an address without ``//``."""
    if "@" in text or "/" in text:
        yield from _of_jdbc(text)
    if "@" in text:
        yield from _short(text)
        for pattern in (_NO_SCHEME, _EASY_CONNECT):
            for match in pattern.finditer(text):
                yield Span(*match.span("password"))
    yield from phoenix(text)


def ambiguous(text: str) -> Iterator[Span]:
    """Yield the spans of `positional` that could be the table of a JDBC address, after the last colon."""
    yield from phoenix(text)
    yield from _of_jdbc(text, of_oracle=False)


def phoenix(text: str) -> Iterator[Span]:
    """Yield Phoenix passwords: quorum, port, root node, principal, password, table, separated by colons."""
    for match in _PHOENIX.finditer(text):
        yield Span(*match.span("password"))


def _of_jdbc(text: str, *, of_oracle: bool = True) -> Iterator[Span]:
    position = 0
    while match := _JDBC.search(text, position):
        start, position = match.end(), match.end()
        words = (match["words"] or "").lower().split(":")
        if text.startswith(("//", "/", "@", "("), start) or _FILE_DATABASES.intersection(words):
            continue
        is_oracle = bool(_ORACLE.search(text, match.start(), start))
        if is_oracle and not of_oracle:
            continue
        target = _END_OF_TARGET.search(text, start)
        end = target.start() if target else len(text)
        at = text.rfind("@", start, end)
        if at < 0 and is_oracle and "/" in text[start:end]:
            at = text.rfind("@", start)  # a password with a question mark
        if at >= 0:
            yield from _before_at(text, start, at, is_oracle, len(words))
            position = at + 1
        elif is_oracle and (slash := text.find("/", start, end)) > start and ":" not in text[start:slash]:
            yield Span(slash + 1, end)
            position = end


def _before_at(text: str, start: int, at: int, is_oracle: bool, words: int) -> Iterator[Span]:
    # A password may contain "@", a user may not.
    first_at = text.find("@", start)
    slash, colon = (text.find(mark, start, first_at) for mark in "/:")
    places = [place for place in (slash, colon) if place >= 0]
    if places:
        yield Span(min(places) + 1, at)
    elif not is_oracle and words > 2:  # jdbc:driver:user:password@host: the user is one of the words
        yield Span(start, at)


def _short(text: str) -> Iterator[Span]:
    position = 0
    while match := _SHORT.search(text, position):
        word = _END_OF_WORD.search(text, match.end())
        position = word.start() if word else len(text)
        at = text.rfind("@", match.end(), position)
        scheme = match["scheme"].lower()
        if (
            at > match.end()
            and not scheme.startswith(_NOT_SHORT)
            and not _NO_HOST.match(text[at + 1 : position])
        ):
            yield Span(match.end(), at)

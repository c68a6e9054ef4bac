"""Secrets in addresses: users and passwords before the host, and parameters of unknown JDBC drivers.

``scheme://user:password@host``. Addresses without ``//`` have them at a fixed position: Oracle's
``thin:user/password@host``, ``kafka:user:password@host``, Phoenix's ``host:port:/root:user:password``.
"""

import re
from collections.abc import Iterator

from lineage_merge.infra.redaction.parameters import closing_quote
from lineage_merge.infra.redaction.spans import Quotes, Span

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
        yield from _find_jdbc(text)
    if "@" in text:
        yield from _short(text)
        for pattern in (_NO_SCHEME, _EASY_CONNECT):
            for match in pattern.finditer(text):
                yield Span(*match.span("password"))
    yield from phoenix(text)


def ambiguous(text: str) -> Iterator[Span]:
    """Yield the spans of `positional` that could be the table of a JDBC address, after the last colon."""
    yield from phoenix(text)
    yield from _find_jdbc(text, of_oracle=False)


def phoenix(text: str) -> Iterator[Span]:
    """Yield Phoenix passwords: quorum, port, root node, principal, password, table, separated by colons."""
    for match in _PHOENIX.finditer(text):
        yield Span(*match.span("password"))


def _find_jdbc(text: str, *, of_oracle: bool = True) -> Iterator[Span]:
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
            yield from _find_before_at(text, start, at, is_oracle, len(words))
            position = at + 1
        elif is_oracle and (slash := text.find("/", start, end)) > start and ":" not in text[start:slash]:
            yield Span(slash + 1, end)
            position = end


def _find_before_at(text: str, start: int, at: int, is_oracle: bool, words: int) -> Iterator[Span]:
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


# Of the platforms in `naming`, which know the parameters that name a database or a schema.
SUBPROTOCOLS_WITH_RULES = frozenset(
    {
        "athena", "awsathena", "bigquery", "cassandra", "databricks", "hive", "hive2", "mariadb", "mssql",
        "mysql", "oracle", "postgres", "postgresql", "presto", "redshift", "snowflake", "spark",
        "spark_catalog", "sqlserver", "thrift", "trino",
    }
)  # fmt: skip

_ADDRESS = re.compile(rf"(?i){JDBC}")
# A space, a quote, or the "|" of an id ends an address without parameters.
_END_OF_PATH = re.compile(r"[;?#&\s|'\"`]")
_SEPARATORS = frozenset(";?#&,")
_BEFORE_A_KEY = "/:,("
_QUOTES = frozenset("'\"`")
# The server of a driver for a web service has a scheme of its own: jdbc:es://https://host:9200.
_SLASHES = re.compile(r"(?:[\w+.-]{1,40}:)?//")
# The first parameter of Dremio (direct, zk), Drill (drillbit, zk) and Avatica (url) is the server.
_SERVER_KEY = re.compile(r"(?i)(?:direct|drillbit|zk|url)=")
# Without "//", a list of hosts ends with a port: Exasol's host1,host2:8563.
_HOSTS = re.compile(r"[\w.,:-]*:\d{1,5}(?!\w)")
# Without a server, all of an address may be parameters: amazondynamodb:Access Key=...;Secret Key=...
_SPACED_KEY = re.compile(r"\w{1,40}(?: \w{1,40})+=")
_MAX_KEY_LENGTH = 90


def unknown_parameters(text: str) -> Iterator[Span]:
    """Yield the parameters of unknown drivers, to the end of the literal or of the line."""
    if "jdbc" not in text.lower():
        return
    last_at = text.rfind("@")
    quotes: Quotes | None = None
    position = 0
    while match := _ADDRESS.search(text, position):
        position = match.end()
        words = match["words"].lower().split(":")[:2]
        if SUBPROTOCOLS_WITH_RULES.intersection(word.partition("+")[0] for word in words):
            continue
        first, position = _first_parameter(text, position, last_at)
        is_separator = text[first : first + 1] in _SEPARATORS
        # In a sentence, a space follows a separator.
        if (is_separator or first < position) and text[first + 1 : first + 2].strip():
            quotes = quotes or Quotes(text)
            position = _end(text, match.start(), first, quotes)
            is_after_name = first == match.end() and not is_separator and match["words"].count(":") > 1
            yield Span(first - is_after_name, position, "")  # jdbc:db2:name:user=...


def _first_parameter(text: str, start: int, last_at: int) -> tuple[int, int]:
    """Return the position of the first parameter, or the end of the path, and the end of the path."""
    if spaced := _SPACED_KEY.match(text, start, start + _MAX_KEY_LENGTH):
        return start, spaced.end()
    end = _end_of_path(text, start)
    key = _SERVER_KEY.match(text, start, end)
    start = key.end() if key else start
    has_authority = False
    while slashes := _SLASHES.match(text, start, end):
        has_authority = True
        _, at = find_authority(text, slashes.end(), last_at, "")
        start = max(slashes.end(), at + 1)
        end = end if start <= end else _end_of_path(text, start)
    if has_authority:
        slash = text.find("/", start, end)
        end_of_hosts = end if slash < 0 else slash
    else:
        at = text.rfind("@", start, end)
        start = at + 1 if at >= 0 and "=" not in text[start:at] else start
        hosts = _HOSTS.match(text, start, end)
        end_of_hosts = hosts.end() if hosts else start
    comma = text.find(",", end_of_hosts, end)
    first = end if comma < 0 else comma
    equals = text.find("=", start, first)
    if equals >= 0:
        first = max(start, *(text.rfind(mark, start, equals) for mark in _BEFORE_A_KEY))
    return first, end


def _end_of_path(text: str, start: int) -> int:
    match = _END_OF_PATH.search(text, start)
    return match.start() if match else len(text)


def _end(text: str, start: int, first: int, quotes: Quotes) -> int:
    """Return the end of an address: of the literal or comment around it, or of the line."""
    quote = text[start - 1 : start]
    if quote in _QUOTES:
        if text[start - 2 : start - 1] == "\\":
            closing = text.find(f"\\{quote}", first)
            return len(text) if closing < 0 else closing
        closing = closing_quote(text, first, quote)
        while text.startswith(quote * 2, closing):  # a quote inside of an SQL literal
            closing = closing_quote(text, closing + 2, quote)
        return closing
    end = quotes.end_around(start)
    if end >= first:
        return end
    line = text.find("\n", first)
    return len(text) if line < 0 else line

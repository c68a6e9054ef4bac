"""Parameters of JDBC addresses whose driver is unknown.

Drivers differ in how they write parameters, and in the names of those that contain a secret. If `naming` has
no rules for a subprotocol, only what locates data is retained: subprotocol, hosts, ports, and the path before
the first parameter.
"""

import re
from collections.abc import Iterator

from lineage_merge.infra.redaction.parameters import closing_quote
from lineage_merge.infra.redaction.quotes import Quotes
from lineage_merge.infra.redaction.spans import Span
from lineage_merge.infra.redaction.userinfo import JDBC, find_authority

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

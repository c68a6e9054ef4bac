"""JDBC addresses as Spark's listeners write them: connection URL, a colon, table or query."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from lineage_merge.infra.redaction import MASK, redact, redact_ambiguous
from lineage_merge.model.errors import NamingError
from lineage_merge.naming.address import split_authority
from lineage_merge.naming.identifiers import Identifier, split_name

_QUERY_START = re.compile(r"(?i):[\s(]*(?:select|with)(?=[\s(*])")
_PROTOCOL = re.compile(r"([A-Za-z][\w+.-]*):")
_QUOTED = re.compile(r'"(?:[^"]|"")*"|`[^`]*`|\[[^\[\]]*\]')
_OPENING = {'"': '"', "`": "`", "]": "["}
# Outside quotes, no name of a table holds these: they belong to a connection URL.
_OF_A_URL = re.compile(r"[=&;?/\\]")
_MASKED = re.compile(r"[=:/]\*{3,}")
_PORT = re.compile(r"\d+\Z")
_SEMICOLON_PARAMETER = re.compile(r";([^=;]*)=(\{(?:[^}]|\}\})*\}|[^;]*)")
_QUERY_PARAMETER = re.compile(r"[?&]([^=&]*)=([^&]*)")


def is_jdbc(uri: str) -> bool:
    return uri[:5].lower() == "jdbc:"


def split_jdbc(uri: str) -> tuple[str, str]:
    """Split ``jdbc:redshift://host:5439/dev:public.event`` into the connection URL and the rest.

    The rest is what Spark's `dbtable` or `query` option said: a table as SQL text, or a query.
    Raises `NamingError` when there is none: Spline's password masking runs to the next
    ``&`` or ``;``, so a password at the URL's end swallows the table.
    """
    text = redact_ambiguous(uri.strip())
    if not is_jdbc(text):
        raise NamingError(f"{redact(text)}: is not a JDBC address")
    query = _QUERY_START.search(text, 5)
    if query:
        return text[: query.start()], text[query.start() + 1 :].strip()
    colon = _last_colon_outside_quotes(text)
    table = text[colon + 1 :].strip()
    first_word = _QUOTED.sub("Q", table).partition(" ")[0]
    if colon < 5 or table in ("", MASK) or _OF_A_URL.search(first_word) or _PORT.match(table):
        if _MASKED.search(text):
            raise NamingError(f"{redact(text)}: its table was lost to password masking")
        raise NamingError(f"{redact(text)}: names no table")
    return text[:colon], table


def _last_colon_outside_quotes(text: str) -> int:
    """Walk back from the end, each quoted part in one step; -1 if there is no such colon."""
    position = len(text) - 1
    while position >= 0 and text[position] != ":":
        opening = _OPENING.get(text[position])
        position = text.rfind(opening, 0, position) - 1 if opening else position - 1
    return max(position, -1)


def table_identifiers(connection_url: str, table: str) -> list[Identifier]:
    """The parts of a table's name in SQL text, without an alias. Raises `NamingError` for a query."""
    name = table.strip()
    bare, *alias = _QUOTED.sub("Q", name).split() or [""]
    if len(alias) == 2 and alias[0].lower() == "as":
        del alias[0]
    is_alias = not alias or (len(alias) == 1 and alias[0].isidentifier())
    if bare.lower() in {"select", "with"} or re.search(r"[(),]", bare) or not is_alias:
        raise NamingError(f"{redact(connection_url)}: is a query, not a table")
    return split_name(_before_alias(name))


def _before_alias(name: str) -> str:
    """Cut at the first space outside quotes."""
    position = 0
    while position < len(name) and not name[position].isspace():
        quoted = _QUOTED.match(name, position)
        position = quoted.end() if quoted else position + 1
    return name[:position]


@dataclass(frozen=True, slots=True)
class Connection:
    """A connection URL taken apart; no user and no password in `authority`.

    `protocols` are the words before ``//`` in lower case (``("redshift", "iam")``,
    ``("jtds", "sqlserver")``), `subname` is what follows the first of them, as written,
    `path` what follows the authority, `parameters` those after ``?`` or ``;``, keys in lower case.
    """

    url: str
    protocols: tuple[str, ...]
    subname: str
    authority: str
    path: str
    parameters: Mapping[str, str]

    @property
    def database(self) -> str:
        """The path, where it is a database and not another place for parameters (DB2, Teradata)."""
        database = self.path.strip("/").partition(":")[0]
        return "" if "=" in database else unquote(database)

    def parameter(self, *names: str) -> str:
        """The first of these parameters (lower case) that has a value, or ""."""
        return next((value for name in names if (value := self.parameters.get(name, ""))), "")


def parse_connection(url: str) -> Connection:
    """Take a connection URL apart. Raises `NamingError` when it has no driver's word."""
    rest = url.strip()[5:]
    protocols: list[str] = []
    while match := _PROTOCOL.match(rest):
        protocols.append(match[1].lower())
        rest = rest[match.end() :]
    if not protocols:
        raise NamingError(f"{redact(url)}: is not a JDBC address")
    subname = url.strip()[5 + len(protocols[0]) + 1 :]
    authority, tail = split_authority(rest[2:]) if rest.startswith("//") else ("", rest)
    if "=" in authority:  # jdbc:athena://Region=us-east-1;...
        authority, tail = "", f";{authority}{tail}"
    start = next((index for index, char in enumerate(tail) if char in "?;"), len(tail))
    return Connection(
        url=url,
        protocols=tuple(protocols),
        subname=subname,
        authority=authority,
        path=tail[:start],
        parameters=_parameters(tail[start:]),
    )


def _parameters(text: str) -> dict[str, str]:
    # A list that starts with ";" goes on with ";": a password may hold an ampersand, and the reverse.
    pattern = _SEMICOLON_PARAMETER if text.startswith(";") else _QUERY_PARAMETER
    found: dict[str, str] = {}
    for key, value in pattern.findall(text):
        if MASK not in value:
            found.setdefault(key.strip().lower(), unquote(value.strip()))
    return found

"""JDBC addresses as Spark's listeners write them: connection URL, colon, table or query."""

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
# Outside quotes, table names never contain these: they belong to a connection URL.
_URL_CHARACTERS = re.compile(r"[=&;?/\\]")
_MASKED = re.compile(r"[=:/]\*{3,}")
_PORT = re.compile(r"\d+\Z")
_SEMICOLON_PARAMETER = re.compile(r";([^=;]*)=(\{(?:[^}]|\}\})*\}|[^;]*)")
_QUERY_PARAMETER = re.compile(r"[?&]([^=&]*)=([^&]*)")


def is_jdbc(uri: str) -> bool:
    return uri[:5].lower() == "jdbc:"


def split_jdbc(uri: str) -> tuple[str, str]:
    """Split ``jdbc:redshift://host:5439/dev:public.event`` into the connection URL and the rest.

    The rest is the value of Spark's `dbtable` or `query` option: a table as SQL text, or a query. Raises
    `NamingError` if it is missing: Spline's password masking extends to the next ``&`` or ``;``, so it also
    removes the table after a password at the end of the URL.
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
    has_subname = ":" in text[5 : max(colon, 5)]
    if not has_subname or table in ("", MASK) or _URL_CHARACTERS.search(first_word) or _PORT.match(table):
        if _MASKED.search(text):
            raise NamingError(f"{redact(text)}: password masking removed its table")
        raise NamingError(f"{redact(text)}: names no table")
    return text[:colon], table


def _last_colon_outside_quotes(text: str) -> int:
    """Return the position of the last colon outside quotes, or -1."""
    position = len(text) - 1
    while position >= 0 and text[position] != ":":
        opening = _OPENING.get(text[position])
        position = text.rfind(opening, 0, position) - 1 if opening else position - 1
    return max(position, -1)


def table_identifiers(connection_url: str, table: str) -> list[Identifier]:
    """Return the parts of a table name in SQL text, without an alias. Raises `NamingError` for a query."""
    name = table.strip()
    unquoted, *alias = _QUOTED.sub("Q", name).split() or [""]
    if len(alias) == 2 and alias[0].lower() == "as":
        del alias[0]
    is_alias = not alias or (len(alias) == 1 and alias[0].isidentifier())
    if unquoted.lower() in {"select", "with"} or re.search(r"[(),]", unquoted) or not is_alias:
        raise NamingError(f"{redact(connection_url)}: is a query, not a table")
    return split_name(_cut_alias(name))


def _cut_alias(name: str) -> str:
    """Return the text before the first space outside quotes."""
    position = 0
    while position < len(name) and not name[position].isspace():
        quoted = _QUOTED.match(name, position)
        position = quoted.end() if quoted else position + 1
    return name[:position]


@dataclass(frozen=True, slots=True)
class Connection:
    """A parsed connection URL; `authority` is without credentials.

    `protocols` are the words before ``//`` in lower case (``("redshift", "iam")``,
    ``("jtds", "sqlserver")``), `subname` is the text after the first of them,
    `path` the text after the authority, `parameters` those after ``?`` or ``;``, keys in lower case.
    """

    url: str
    protocols: tuple[str, ...]
    subname: str
    authority: str
    path: str
    parameters: Mapping[str, str]

    @property
    def database(self) -> str:
        """Return the path if it is a database, not a list of parameters (DB2, Teradata)."""
        database = self.path.strip("/").partition(":")[0]
        return "" if "=" in database else unquote(database)

    def parameter(self, *names: str) -> str:
        """Return the first value of these parameters (lower case), or ""."""
        return next((value for name in names if (value := self.parameters.get(name, ""))), "")


def parse_connection(url: str) -> Connection:
    """Parse a connection URL. Raises `NamingError` if it has no protocol."""
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
    # Only the first separator counts: a password may contain the other one.
    pattern = _SEMICOLON_PARAMETER if text.startswith(";") else _QUERY_PARAMETER
    parameters: dict[str, str] = {}
    for key, value in pattern.findall(text):
        if MASK not in value:
            parameters.setdefault(key.strip().lower(), unquote(value.strip()))
    return parameters

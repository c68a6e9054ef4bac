"""A statement of a query log, as every log yields it, and without its literals."""

from datetime import UTC, datetime, timedelta
from typing import Literal, NamedTuple

from lineage_merge.sources.query_log.statements.owners import Owner

# `open`: the statement succeeded, and only its session shows whether its transaction was committed.
# `running`: its transaction, or it itself, had not ended when the log was read.
Outcome = Literal["committed", "open", "running", "rolled_back", "failed"]
UNDONE = ("failed", "rolled_back")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class LoggedStatement(NamedTuple):
    """A statement: what ran where, when, and how it ended.

    `id` is unique in the log, equal ones are one statement. `session`: statements of one share temporary
    tables and the search path. `search_path`: schemas of unqualified names, if the log has them. `started`,
    `ended`: microseconds since 1970. `label`: a name that the client gave (Redshift's query group).
    `user`: the name, or once read a pseudonym (`users.Users`), and `reader` what the graph has of it.
    `procedure`: the one whose statement it is, and `run`: the call, if the log has them. `files`: those that
    a COPY really read, or an UNLOAD wrote. `text_id`: the row whose text has this and other statements.
    """

    id: str
    session: str
    text: str
    transaction: str = ""
    database: str = ""
    search_path: tuple[str, ...] = ()
    user: str = ""
    started: int = 0
    ended: int = 0
    rows: int | None = None
    outcome: Outcome = "committed"
    label: str = ""
    procedure: str = ""
    run: str = ""
    files: tuple[str, ...] = ()
    reader: str = ""
    text_id: str = ""


class Template(NamedTuple):
    """A statement without literals, comments and layout.

    `text` is SQL with ``?`` for numbers and ``'?'`` for strings; only paths and search paths remain.
    `fingerprint`: equal for statements that differ in literals, paths, layout and case. `owner`: the
    job that its comments name.
    """

    text: str
    fingerprint: str
    owner: Owner | None = None


class Prepared(NamedTuple):
    """A logged statement whose text was replaced by its template."""

    statement: LoggedStatement
    template: Template


def microseconds(moment: datetime) -> int:
    """Return a time in microseconds since 1970; one without a time zone is UTC."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - _EPOCH) // _MICROSECOND

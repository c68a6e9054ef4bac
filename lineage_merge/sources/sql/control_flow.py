"""Statements inside procedures, blocks, branches and loops. Pure; needs sqlglot.

Control flow is ignored: the statements of all branches count.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlglot import Dialect
from sqlglot.errors import SqlglotError

from lineage_merge.column_lineage.sql.parse_errors import reason
from lineage_merge.column_lineage.sql.tables import fold
from lineage_merge.sources.sql import tsql
from lineage_merge.sources.sql.cursors import assigned, cursor_of, fetched, loop_of
from lineage_merge.sources.sql.routines import Header, Routine, created_at, parameters_at, read_header
from lineage_merge.sources.sql.statements import Statement, Unread, split
from lineage_merge.sources.sql.words import Edit, Word, edited, end_of_name, upper_at, words_of

# Outside of procedures, only statements that begin with these may contain others. Oracle's `/` is no part of
# a statement.
_CONTROL = re.compile(
    r"(?:create(?:\s+or\s+(?:replace|alter))?(?:\s+(?:non)?editionable)?"
    r"\s+(?:procedure|proc|package|function)|begin|case|declare|do|else|elseif|elsif|end|exception"
    r"|execute|for|if|let|loop|repeat|when|while)\b|<<|/",
    re.IGNORECASE,
)
_WITH_BODY = re.compile(r"create\b|do\b|execute\s+immediate\b", re.IGNORECASE)
_DOLLARS = re.compile(r"\$(?P<tag>\w*)\$(?P<body>.*?)(?P<end>\$(?P=tag)\$|\Z)", re.DOTALL)

_DEFINITIONS = frozenset({"ALTER", "CREATE", "DROP"})
_WITH_DATA = _DEFINITIONS | {
    "CALL",
    "COPY",
    "DELETE",
    "INSERT",
    "MERGE",
    "SELECT",
    "UNLOAD",
    "UPDATE",
    "WITH",
}
# Words and symbols after which a statement begins.
_BEFORE_STATEMENT = frozenset(
    {"AS", "ATOMIC", "BEGIN", "DO", "ELSE", "FOR", "IN", "IS", "LOOP", "QUERY", "REPEAT", "THEN"}
    | {"/", ":", ">", ">>"}
)
_TRANSACTIONS = frozenset({"DISTRIBUTED", "ISOLATION", "NAME", "TRAN", "TRANSACTION", "WORK"})
_BLOCKS = frozenset({"CASE", "FOR", "IF", "LOOP", "REPEAT", "WHILE"})
_PERMISSIONS = frozenset({"GRANT", "REVOKE", "DENY"})
# Platforms whose EXECUTE without IMMEDIATE is not dynamic SQL.
_EXECUTE_IMMEDIATE = frozenset({"bigquery", "databricks", "oracle", "snowflake", "spark"})


@dataclass(slots=True)
class _Body:
    """The body of a procedure; `open`: how many of its blocks have not ended."""

    routine: Routine
    line: int = 1
    open: int = 0
    is_package: bool = False


class _Fragment(NamedTuple):
    """The text between semicolons. `quoted`: a body in dollar quotes, which the text has as ''."""

    line: int
    text: str
    words: Sequence[Word]
    quoted: re.Match[str] | None

    def line_of(self, at: int) -> int:
        """Return the line of the word at a position."""
        return self.line + self.text.count("\n", 0, self.words[at].start)


class ControlFlow:
    """Reads one file, or one quoted body. `procedures`: the names of those that it defines (folded)."""

    def __init__(
        self, dialect: Dialect, parameter: Callable[[str], str], routine: Routine | None = None
    ) -> None:
        """`parameter` returns the replacement of ``:name``; `routine`: the procedure of a quoted body."""
        self.procedures: set[str] = set()
        self._dialect = dialect
        self._parameter = parameter
        self._platform = type(dialect).__name__.lower()
        self._is_tsql = self._platform in tsql.PLATFORMS
        self._is_quoted = routine is not None
        self._bodies = [_Body(routine or Routine())]
        self._cursors: dict[str, Statement] = {}
        self._found: list[Statement] = []
        self._is_declaring = False
        # T-SQL: in a function or trigger, which ends at GO.
        self._is_skipping = False

    def statements(self, text: str, *, is_truncated: bool = False) -> list[Statement]:
        """Return the statements that may have lineage. `is_truncated`: the end of a body is missing."""
        fragments = list(split(text, self._parameter))
        if is_truncated and not text.rstrip().endswith(";"):
            fragments = fragments[:-1]
        for statement in fragments:
            self._fragment(statement)
        if is_truncated:
            self._bodies[0].open += 1
        self._end_of_bodies()
        return self._found

    def _fragment(self, statement: Statement) -> None:
        text = statement.text
        if not self._is_inside and not self._is_tsql and not _CONTROL.match(text):
            self._found.append(statement)
            return
        quoted = _DOLLARS.search(text) if _WITH_BODY.match(text) else None
        if quoted is not None:
            text = f"{text[: quoted.start()]}''{text[quoted.end() :]}"
        try:
            words = words_of(text, self._dialect)
        except SqlglotError as error:
            self._unread(statement.line, f"cannot be parsed: {reason(error)}", is_broken=True)
            return
        fragment = _Fragment(statement.line, text, words, quoted)
        at = 0
        while at < len(words):
            at = self._next(fragment, at)

    @property
    def _is_inside(self) -> bool:
        """Whether the position is in a procedure or a block."""
        return self._is_quoted or len(self._bodies) > 1 or self._bodies[0].open > 0

    def _next(self, fragment: _Fragment, at: int) -> int:
        """Read the word at a position; return the position to continue at."""
        words = fragment.words
        upper = words[at].upper
        if self._is_skipping and upper != "GO":
            return at + 1
        if upper in ("EXEC", "EXECUTE"):
            return self._execute(fragment, at)
        if words[at].depth > 0:
            return at + 1
        if upper in ("CREATE", "ALTER") and (keyword := created_at(words, at)) is not None:
            return self._created(fragment, keyword)
        if self._begins(words, at):
            return self._statement(fragment, at)
        if self._is_tsql:
            return self._word_of_tsql(fragment, at)
        is_first = at == 0 or (self._is_declaring and upper_at(words, at - 1) in ("AS", "IS"))
        match upper:
            case "BEGIN" | "END":
                return self._block(words, at)
            case "CASE":
                return _end_of_case(words, at)
            case "DECLARE" | "LET":
                self._is_declaring = upper == "DECLARE"
                return self._declare(words, at + 1)
            case "FOR" | "FORALL":
                return self._loop(fragment, at)
            case "FETCH" | "OPEN":
                return self._cursor(fragment, at)
            case "(" if "CURSOR" in (upper_at(words, at - 1), upper_at(words, at - 2)):
                self._bodies[-1].routine.declare(*parameters_at(words, at))
            case "PROCEDURE" | "FUNCTION" if is_first and self._is_inside:
                return self._enter(fragment, read_header(words, at))
            case "DO" if at == 0 and fragment.quoted is not None:
                return self._quoted_body(fragment, Routine(), _string(words))
            case _ if at == 0 and upper in _PERMISSIONS:
                return len(words)
            case _ if is_first and self._is_declaring:
                return self._declare(words, at + (upper == "CURSOR"))
        return at + 1

    def _word_of_tsql(self, fragment: _Fragment, at: int) -> int:
        words = fragment.words
        match words[at].upper:
            case "BEGIN" | "END":
                return self._block(words, at)
            case "CASE":
                return _end_of_case(words, at)
            case "GO":
                self._is_skipping = False
                self._end_of_bodies()
            case "CREATE" | "ALTER" if "TRIGGER" in (word.upper for word in words[at : at + 4]):
                self._unread(fragment.line_of(at), "unsupported statement: CREATE TRIGGER")
                self._is_skipping = True
            case upper if at == 0 and not tsql.is_first_word(upper) and upper_at(words, 1) != ":":
                return self._statement(fragment, at)
        return at + 1

    # ---- statements

    def _begins(self, words: Sequence[Word], at: int) -> bool:
        """Return whether a statement that may have lineage begins."""
        upper = words[at].upper
        if self._is_tsql and upper in ("DECLARE", "USE"):
            return upper == "USE" or tsql.declares_table(words, at)
        if upper not in _WITH_DATA:
            return False
        following = {word.upper for word in words[at + 1 : at + 7]}
        if upper in _DEFINITIONS and not following & {"TABLE", "VIEW"}:
            return False
        if self._is_tsql:
            return tsql.begins(words, at)
        before = {word.upper for word in words[:at]}
        return at == 0 or "FORALL" in before or upper_at(words, at - 1) in _BEFORE_STATEMENT

    def _statement(self, fragment: _Fragment, start: int) -> int:
        words = fragment.words
        stop = tsql.end_of_statement(words, start) if self._is_tsql else len(words)
        self._add(fragment, start, stop)
        cursor = cursor_of(words[:start])
        if cursor:
            self._cursors[fold(cursor)] = self._found[-1]
        return stop

    def _add(self, fragment: _Fragment, start: int, stop: int, record: str = "") -> None:
        words = fragment.words[start:stop]
        line = fragment.line_of(start)
        edits: list[Edit] = []
        if self._is_tsql:
            if tsql.inserts_from_procedure(words):
                self._unread(line, "inserts the result of a procedure, whose lineage is unknown")
                return
            edits = list(tsql.simplifications(words))
        elif self._is_inside:
            edits, targets = assigned(words)
            record = record or (targets[0] if len(targets) == 1 else "")
        text = edited(fragment.text[: words[-1].end], edits)[words[0].start :]
        self._found.append(Statement(line, text, self._bodies[-1].routine.variables, fold(record)))

    def _unread(self, line: int, why: str, *, is_broken: bool = False) -> None:
        self._found.append(Statement(line, "", unread=Unread(why, is_broken)))

    def _execute(self, fragment: _Fragment, at: int) -> int:
        """Report dynamic SQL; EXEC of T-SQL may be a call."""
        words = fragment.words
        line, after = fragment.line_of(at), upper_at(words, at + 1)
        if upper_at(words, 0) in _PERMISSIONS or after == "AS":
            return at + 1
        if at == 0 and after == "IMMEDIATE" and fragment.quoted is not None:
            return self._quoted_body(fragment, Routine(), _string(words))
        if self._is_tsql:
            name = tsql.called(words, at)
            if name:
                self._found.append(Statement(line, f"call {name}"))
                return at + 1
        elif after != "IMMEDIATE" and self._platform in _EXECUTE_IMMEDIATE:
            self._add(fragment, at, len(words))
            return len(words)
        self._dynamic(line)
        return at + 1

    def _dynamic(self, line: int) -> None:
        name = self._bodies[-1].routine.name
        procedure = f" (procedure {name})" if name else ""
        self._unread(line, f"executes dynamic SQL, whose lineage is unknown{procedure}")

    # ---- procedures and blocks

    def _created(self, fragment: _Fragment, keyword: int) -> int:
        """Read CREATE PROCEDURE (PACKAGE, FUNCTION) from its keyword on."""
        words, line = fragment.words, fragment.line_of(keyword)
        header = read_header(words, keyword)
        is_quoted = header.body < len(words) and words[header.body].is_string
        if header.kind == "function" and not self._may_write(header, is_quoted=is_quoted):
            self._is_skipping = self._is_tsql
            return len(words) if not self._is_tsql else keyword + 1
        if not header.is_sql:
            self._unread(line, f"{header.kind} {header.name} is written in {header.language}")
            return len(words)
        if header.body == len(words):
            self._unread(
                line, f"unsupported statement: CREATE {header.kind.upper()} {header.name} without a body"
            )
            return len(words)
        if not is_quoted:
            return self._enter(fragment, header)
        self.procedures.add(header.short_name)
        return self._quoted_body(fragment, header.routine(frozenset()), header.body)

    def _may_write(self, header: Header, *, is_quoted: bool) -> bool:
        """Return whether a function may contain statements that write."""
        return header.language == "plpgsql" if is_quoted else self._platform == "oracle"

    def _enter(self, fragment: _Fragment, header: Header) -> int:
        words = fragment.words
        if header.body == len(words):  # declared before its definition
            return header.body
        if self._is_tsql:
            self._end_of_bodies()
        self.procedures.add(header.short_name)
        is_package = header.kind == "package"
        routine = header.routine(self._bodies[-1].routine.variables)
        self._bodies.append(_Body(routine, fragment.line_of(0), int(is_package), is_package))
        self._is_declaring = not self._is_tsql
        return header.body

    def _quoted_body(self, fragment: _Fragment, routine: Routine, at: int) -> int:
        """Read a body in quotes, the word at `at`."""
        quoted = fragment.quoted
        body = quoted["body"] if quoted is not None else fragment.words[at].text
        inner = ControlFlow(self._dialect, self._parameter, routine)
        is_truncated = quoted is not None and not quoted["end"]
        lines_before = fragment.line_of(at) - 1
        for each in inner.statements(body, is_truncated=is_truncated):
            self._found.append(each._replace(line=each.line + lines_before))
        self.procedures |= inner.procedures
        return len(fragment.words)

    def _block(self, words: Sequence[Word], at: int) -> int:
        """Read BEGIN or END."""
        body, after = self._bodies[-1], upper_at(words, at + 1)
        if words[at].upper == "BEGIN":
            is_transaction = after in _TRANSACTIONS or (at + 1 == len(words) and not self._is_tsql)
            self._is_declaring = False
            if body.is_package:  # its initialization, which ends with it
                body.is_package = False
            elif not is_transaction:
                body.open += 1
        elif after in _BLOCKS and not self._is_tsql:
            return at + 2
        elif body.open:
            body.open -= 1
            if not body.open and len(self._bodies) > 1 and not self._is_tsql:
                self._bodies.pop()
        return at + 1

    def _end_of_bodies(self) -> None:
        """Report the procedures that do not end."""
        for body in self._bodies if self._is_quoted else self._bodies[1:]:
            is_entered = body is not self._bodies[0]
            if body.open or (is_entered and not self._is_tsql):
                what = f"procedure {body.routine.name}" if body.routine.name else "a block"
                self._unread(body.line, f"cannot be parsed: {what} does not end", is_broken=True)
        del self._bodies[1:]

    # ---- variables

    def _declare(self, words: Sequence[Word], at: int) -> int:
        """Add the variables in a list of names."""
        while at < len(words) and words[at].upper != "BEGIN":
            self._bodies[-1].routine.declare(words[at].text)
            if upper_at(words, at + 1) != ",":
                return at + 1
            at += 2
        return at

    def _loop(self, fragment: _Fragment, at: int) -> int:
        """Read FOR: its variable has the columns of its query or cursor."""
        loop = loop_of(fragment.words, at)
        if loop is None:
            return at + 1
        self._bodies[-1].routine.declare(loop.variable)
        if loop.query is not None:
            self._add(fragment, *loop.query, loop.variable)
        elif fold(loop.cursor) in self._cursors:
            self._found.append(self._cursors[fold(loop.cursor)]._replace(record=fold(loop.variable)))
        return loop.end

    def _cursor(self, fragment: _Fragment, at: int) -> int:
        """Read FETCH ... INTO and OPEN ... FOR."""
        words = fragment.words
        cursor, target = fetched(words[at:])
        if target and fold(cursor) in self._cursors:
            self._found.append(self._cursors[fold(cursor)]._replace(record=fold(target)))
        opened = end_of_name(words, at + 1)
        is_query = upper_at(words, opened + 1) in ("SELECT", "WITH", "(", "EXECUTE")
        if self._platform == "oracle" and upper_at(words, opened) == "FOR" and not is_query:
            self._dynamic(fragment.line_of(at))
        return at + 1


def _string(words: Sequence[Word]) -> int:
    return next(at for at, word in enumerate(words) if word.is_string)


def _end_of_case(words: Sequence[Word], at: int) -> int:
    """Return the position after a CASE expression; of the statement CASE, the one after its first word."""
    open_cases = 0
    for position in range(at, len(words)):
        if words[position].upper == "CASE":
            open_cases += 1
        elif words[position].upper == "END":
            open_cases -= 1
            if not open_cases:
                return position + 1
    return at + 1

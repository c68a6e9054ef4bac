"""Statements inside procedures, blocks, branches and loops. Pure; needs sqlglot.

Control flow is ignored: the statements of all branches count.
"""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from sqlglot import Dialect

from lineage_merge.column_lineage.scripts import tsql
from lineage_merge.column_lineage.scripts.bodies import Bodies
from lineage_merge.column_lineage.scripts.cursors import (
    cursor_of,
    cut_variables,
    find_fetch,
    loop_of,
    position_clauses,
)
from lineage_merge.column_lineage.scripts.routines import (
    Header,
    Routine,
    find_created,
    parameters_at,
    read_header,
)
from lineage_merge.column_lineage.scripts.statements import Statement, Unread, split
from lineage_merge.column_lineage.scripts.words import (
    Edit,
    Word,
    apply_edits,
    end_of_name,
    upper_at,
    words_of,
)
from lineage_merge.column_lineage.sql.platforms import TSQL, platform_of
from lineage_merge.column_lineage.sql.tables import fold
from lineage_merge.column_lineage.sql.text import reason

# Outside of procedures, only statements that begin with these may contain others. Oracle's `/` is no part of
# a statement.
_CONTROL = re.compile(
    r"(?:begin|break|case|continue|declare|do|else|elseif|elsif|end|exception|execute|for|if|iterate|leave|let"
    r"|loop|raise|repeat|until|when|while)\b|<<|/|\w+\s*:\s*(?:begin|for|loop|repeat|while)\b",
    re.IGNORECASE,
)
# Commands of SQL*Plus before it have no semicolon.
_CREATED = re.compile(
    r"^\s*create(?:\s+or\s+(?:replace|alter))?(?:\s+(?:non)?editionable)?"
    r"\s+(?:procedure|proc|package|function|trigger)\b",
    re.IGNORECASE | re.MULTILINE,
)
_BLOCK_IN_QUOTES = re.compile(r"(?:do|execute\s+immediate)\b", re.IGNORECASE)
_DOLLARS = re.compile(r"\$(?P<tag>\w*)\$(?P<body>.*?)(?P<end>\$(?P=tag)\$|\Z)", re.DOTALL)

_DEFINITIONS = frozenset({"ALTER", "CREATE", "DROP"})
_WITH_DATA = frozenset(
    {"CALL", "COPY", "DELETE", "INSERT", "MERGE", "SELECT", "UNLOAD", "UPDATE", "WITH"} | _DEFINITIONS
)
# Words and symbols after which a statement begins.
_BEFORE_STATEMENT = frozenset(
    {"AS", "ATOMIC", "BEGIN", "DO", "ELSE", "FOR", "IN", "IS", "LOOP", "QUERY", "REPEAT", "THEN"}
    | {"/", ":", ">", ">>"}
)
_PERMISSIONS = frozenset({"GRANT", "REVOKE"})
# Platforms whose EXECUTE without IMMEDIATE is not dynamic SQL.
_EXECUTE_IMMEDIATE = frozenset({"bigquery", "databricks", "oracle", "snowflake", "spark"})


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
        self._platform = platform_of(dialect)
        self._is_tsql = self._platform in TSQL
        self._bodies = Bodies(routine, is_tsql=self._is_tsql)
        self._cursors: dict[str, Statement] = {}
        self._found: list[Statement] = []
        # T-SQL: in a function or trigger, which ends at GO.
        self._is_skipping = False

    def statements(self, text: str, *, is_truncated: bool = False) -> list[Statement]:
        """Return the statements that may have lineage. `is_truncated`: the end of a body is missing."""
        fragments = list(split(text, self._parameter))
        if is_truncated and not text.rstrip().endswith(";"):
            fragments = fragments[:-1]
        for statement in fragments:
            self._read(statement)
        if is_truncated:
            self._bodies.truncate()
        self._end_of_bodies()
        return self._found

    def _read(self, statement: Statement) -> None:
        text = statement.text
        creates = _CREATED.search(text) is not None
        if not (creates or self._bodies.is_inside or self._is_tsql or _CONTROL.match(text)):
            self._found.append(statement)
            return
        quoted = _DOLLARS.search(text) if creates or _BLOCK_IN_QUOTES.match(text) else None
        if quoted is not None:
            text = f"{text[: quoted.start()]}''{text[quoted.end() :]}"
        try:
            words = words_of(text, self._dialect)
            fragment = _Fragment(statement.line, text, words, quoted)
            at = 0
            while at < len(words):
                at = self._next(fragment, at)
        except Exception as error:  # noqa: BLE001 - a gap in reading costs one statement, not the file
            self._unread(statement.line, f"cannot be parsed: {reason(error)}", is_broken=True)

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
        if upper in ("CREATE", "ALTER") and (keyword := find_created(words, at)) is not None:
            return self._read_creation(fragment, keyword)
        if self._begins(words, at):
            return self._statement(fragment, at)
        match upper:
            case "BEGIN":
                return self._bodies.begin(words, at)
            case "END":
                return self._bodies.end(words, at)
            case "CASE":
                return self._bodies.case(words, at)
        return self._word_of_tsql(fragment, at) if self._is_tsql else self._word(fragment, at)

    def _word(self, fragment: _Fragment, at: int) -> int:
        words, bodies = fragment.words, self._bodies
        is_first = at == 0 or (bodies.is_declaring and upper_at(words, at - 1) in ("AS", "IS"))
        match words[at].upper:
            case "DECLARE" | "LET" as upper:
                bodies.is_declaring = upper == "DECLARE"
                return self._declare(words, at + 1)
            case "FOR" | "FORALL":
                return self._loop(fragment, at)
            case "FETCH" | "OPEN":
                return self._cursor(fragment, at)
            case "(" if "CURSOR" in (upper_at(words, at - 1), upper_at(words, at - 2)):
                bodies.routine.declare(*parameters_at(words, at))
            case "PROCEDURE" | "FUNCTION" if is_first and bodies.is_inside:
                return self._enter(fragment, read_header(words, at))
            case "DO" if at == 0 and fragment.quoted is not None:
                return self._read_quoted_block(fragment)
            case upper if at == 0 and upper in _PERMISSIONS:
                return len(words)
            case upper if is_first and bodies.is_declaring:
                return self._declare(words, at + (upper == "CURSOR"))
        return at + 1

    def _word_of_tsql(self, fragment: _Fragment, at: int) -> int:
        words = fragment.words
        match words[at].upper:
            case "GO":
                self._is_skipping = False
                self._end_of_bodies()
            case "GRANT" | "REVOKE" | "DENY":
                return tsql.end_of_permissions(words, at)
            case upper if at == 0 and not tsql.is_first_word(upper) and upper_at(words, 1) != ":":
                return self._statement(fragment, at)
        return at + 1

    # ---- statements

    def _begins(self, words: Sequence[Word], at: int) -> bool:
        """Return whether a statement that may have lineage begins."""
        upper = words[at].upper
        if self._is_tsql and upper in ("DECLARE", "USE"):
            return upper == "USE" or tsql.declares_table(words, at)
        if upper not in _WITH_DATA and not (self._is_tsql and upper == "BULK"):
            return False
        following = {word.upper for word in words[at + 1 : at + 6]}
        if upper in _DEFINITIONS and not following & {"TABLE", "VIEW"}:
            return False
        if self._is_tsql:
            return tsql.begins(words, at)
        is_in_forall = any(word.upper == "FORALL" for word in words[:at])
        return at == 0 or is_in_forall or upper_at(words, at - 1) in _BEFORE_STATEMENT

    def _statement(self, fragment: _Fragment, start: int) -> int:
        words = fragment.words
        stop = tsql.end_of_statement(words, start) if self._is_tsql else len(words)
        self._add(fragment, start, stop)
        cursor = cursor_of(words[:start])
        if cursor:
            self._cursors[fold(cursor)] = self._found[-1]
        if start == 0:
            self._bodies.is_declaring = False
        return stop

    def _add(self, fragment: _Fragment, start: int, stop: int, record: str = "") -> None:
        words = fragment.words[start:stop]
        line = fragment.line_of(start)
        edits: list[Edit] = list(position_clauses(words))
        if self._is_tsql:
            if tsql.inserts_from_procedure(words):
                self._unread(line, "inserts the result of a procedure, whose lineage is unknown")
                return
            edits += tsql.simplifications(words)
        elif self._bodies.is_inside:
            assignments, targets = cut_variables(words)
            edits += assignments
            record = record or (targets[0] if len(targets) == 1 else "")
        text = apply_edits(fragment.text[: words[-1].end], edits)[words[0].start :]
        self._found.append(Statement(line, text, self._bodies.routine.variables, fold(record)))

    def _unread(self, line: int, why: str, *, is_broken: bool = False) -> None:
        self._found.append(Statement(line, "", unread=Unread(why, is_broken)))

    def _execute(self, fragment: _Fragment, at: int) -> int:
        """Report dynamic SQL; EXEC of T-SQL may be a call."""
        words = fragment.words
        line, after = fragment.line_of(at), upper_at(words, at + 1)
        if upper_at(words, 0) in _PERMISSIONS or after == "AS":
            return at + 1
        if at == 0 and after == "IMMEDIATE" and fragment.quoted is not None:
            return self._read_quoted_block(fragment)
        if self._is_tsql:
            name = tsql.find_call(words, at)
            if name:
                self._found.append(Statement(line, f"call {name}"))
                return at + 1
        elif after != "IMMEDIATE" and self._platform in _EXECUTE_IMMEDIATE:
            self._add(fragment, at, len(words))
            return len(words)
        self._dynamic(line)
        return at + 1

    def _dynamic(self, line: int) -> None:
        name = self._bodies.routine.name
        procedure = f" (procedure {name})" if name else ""
        self._unread(line, f"executes dynamic SQL, whose lineage is unknown{procedure}")

    # ---- procedures

    def _read_creation(self, fragment: _Fragment, keyword: int) -> int:
        """Read CREATE PROCEDURE (PACKAGE, FUNCTION, TRIGGER) from its keyword on."""
        words, line = fragment.words, fragment.line_of(keyword)
        header = read_header(words, keyword)
        created = f"CREATE {header.kind.upper()} {header.name}"
        is_quoted = header.body < len(words) and words[header.body].is_string
        if header.kind in ("function", "trigger") and not self._may_write(words, header):
            if header.kind == "trigger":
                self._unread(line, f"unsupported statement: {created}")
            self._is_skipping = self._is_tsql
            return keyword + 1 if self._is_tsql else len(words)
        if not header.is_sql:
            self._unread(line, f"{header.kind} {header.name} is written in {header.language}")
            return len(words)
        if header.body == len(words):
            self._unread(line, f"unsupported statement: {created} without a body")
            return len(words)
        if not is_quoted:
            return self._enter(fragment, header)
        self.procedures.add(header.short_name)
        return self._read_quoted_body(fragment, header.body, header.routine(()))

    def _may_write(self, words: Sequence[Word], header: Header) -> bool:
        """Return whether a function or trigger has a body with statements."""
        if self._is_tsql or header.body == len(words):
            return False
        if words[header.body].is_string:
            return header.language == "plpgsql"
        return self._platform == "oracle" or words[header.body].upper in ("BEGIN", "DECLARE")

    def _enter(self, fragment: _Fragment, header: Header) -> int:
        if header.body < len(fragment.words):  # otherwise declared before its definition
            if self._is_tsql:
                self._end_of_bodies()
            self.procedures.add(header.short_name)
            self._bodies.enter(header, fragment.line_of(0))
        return header.body

    def _end_of_bodies(self) -> None:
        """Report the procedures that do not end."""
        for body in self._bodies.end_all():
            what = f"procedure {body.routine.name}" if body.routine.name else "a block"
            self._unread(body.line, f"cannot be parsed: {what} does not end", is_broken=True)

    def _read_quoted_block(self, fragment: _Fragment) -> int:
        at = next(at for at, word in enumerate(fragment.words) if word.is_string)
        return self._read_quoted_body(fragment, at, Routine())

    def _read_quoted_body(self, fragment: _Fragment, at: int, routine: Routine) -> int:
        """Read a body in quotes, the word at `at`."""
        quoted = fragment.quoted
        body = quoted["body"] if quoted is not None else fragment.words[at].text
        inner = ControlFlow(self._dialect, self._parameter, routine)
        is_truncated = quoted is not None and not quoted["end"]
        lines_before = fragment.line_of(at) - 1
        for statement in inner.statements(body, is_truncated=is_truncated):
            self._found.append(statement._replace(line=statement.line + lines_before))
        self.procedures |= inner.procedures
        return len(fragment.words)

    # ---- variables

    def _declare(self, words: Sequence[Word], at: int) -> int:
        """Add the variables in a list of names."""
        while at < len(words) and words[at].upper != "BEGIN":
            self._bodies.routine.declare(words[at].text)
            if upper_at(words, at + 1) != ",":
                return at + 1
            at += 2
        return at

    def _loop(self, fragment: _Fragment, at: int) -> int:
        """Read FOR: its variable has the columns of its query or cursor."""
        loop = loop_of(fragment.words, at)
        if loop is None:
            return at + 1
        self._bodies.routine.declare(loop.variable)
        if loop.query is not None:
            self._add(fragment, *loop.query, loop.variable)
        elif fold(loop.cursor) in self._cursors:
            self._found.append(self._cursors[fold(loop.cursor)]._replace(record=fold(loop.variable)))
        return loop.end

    def _cursor(self, fragment: _Fragment, at: int) -> int:
        """Read FETCH ... INTO and OPEN ... FOR."""
        words = fragment.words
        cursor, target = find_fetch(words[at:])
        if target and fold(cursor) in self._cursors:
            self._found.append(self._cursors[fold(cursor)]._replace(record=fold(target)))
        opened = end_of_name(words, at + 1)
        is_query = upper_at(words, opened + 1) in ("SELECT", "WITH", "(", "EXECUTE")
        if self._platform == "oracle" and upper_at(words, opened) == "FOR" and not is_query:
            self._dynamic(fragment.line_of(at))
        return at + 1

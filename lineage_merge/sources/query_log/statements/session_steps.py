"""Statements of a session in order, with the names and the outcome that each has there. Pure."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from lineage_merge.sources.query_log.statements.facts import (
    Facts,
    facts_of,
    names_of_column_rename,
    names_of_rename,
)
from lineage_merge.sources.query_log.statements.owners import DBT
from lineage_merge.sources.query_log.statements.renames import AnyRename, ColumnRename, Moment, Rename
from lineage_merge.sources.query_log.statements.statement import (
    UNDONE,
    LoggedStatement,
    Outcome,
    Prepared,
    Template,
)


@dataclass(slots=True)
class Step:
    """A statement in its session; `begins`: it is the first one of a session.

    `procedure`, `run`, `run_started`: the procedure whose statement it is, and the call.
    """

    statement: LoggedStatement
    template: Template
    facts: Facts
    database: str
    search_path: tuple[str, ...]
    outcome: Outcome
    procedure: str
    run: str
    run_started: int
    begins: bool
    at: Moment

    @property
    def is_lineage(self) -> bool:
        """Return whether what it did remains."""
        if self.may_be_unlisted:
            # A transaction that only creates temporary tables, or writes files, may not be listed.
            return self.facts.is_temporary or self.facts.unloads
        return self.outcome in ("committed", "open")

    @property
    def may_be_unlisted(self) -> bool:
        """Return whether it ended in a transaction without an end, which only changes temporary tables."""
        return self.outcome == "running" and self.statement.ended > 0

    @property
    def is_read(self) -> bool:
        """Return whether it read; the transaction of a query that ended may not be listed."""
        if not self.facts.reads:
            return False
        has_ended = self.statement.ended > self.statement.started
        return self.is_lineage or (self.outcome == "running" and has_ended and not self.facts.moves)


class SessionSettings(NamedTuple):
    """What is the same in all sessions of a log.

    `search_path`: that at the beginning. `user_schemas`: the schemas named after users, by their pseudonyms.
    Reads are counted since `reads_since` (microseconds since 1970). Times after `latest` are wrong.
    """

    search_path: tuple[str, ...]
    user_schemas: Mapping[str, str]
    counts_reads: bool = True
    reads_since: int = 0
    latest: int = sys.maxsize


def renames_in(statements: Iterable[Prepared], settings: SessionSettings) -> Iterator[AnyRename]:
    """Yield the renames of one session, but dbt's; of the statements, those that `may_rename` suffice."""
    steps = [step for step in steps_of(statements, settings) if step.is_lineage]
    created = {
        step.facts.creates: at
        for at, step in enumerate(steps)
        if step.facts.creates and not step.facts.is_temporary
    }
    before: set[str] = set()
    for at, step in enumerate(steps):
        if not step.facts.is_temporary:
            before.add(step.facts.creates)
        names = names_of_rename(step.template.text)
        owner = step.template.owner
        if owner is not None and owner.job_type == DBT:
            continue
        column = names_of_column_rename(step.template.text)
        if column is not None:
            yield ColumnRename(step.at, step.database, step.search_path, *column)
        if names is None:
            continue
        renamed = [names]
        if step.facts.swaps is not None:
            made = [name for name in names if name[-1] in before]
            one, other = reversed(names) if made == [names[1]] else names
            renamed = [(one, other)] if len(made) == 1 else [(one, _BETWEEN), (other, one), (_BETWEEN, other)]
        for number, (old, new) in enumerate(renamed):
            yield Rename(
                (*step.at[:2], number),
                step.statement.session,
                step.database,
                step.search_path,
                old,
                new,
                created.get(old[-1], 0) > at,
            )


# A name that no table has: between those that two exchange.
_BETWEEN = ("\0",)


def may_rename(prepared: Prepared) -> bool:
    """Return whether a statement renames a table, or is needed to know which one, and whether it did."""
    facts = facts_of(prepared.template.text)
    return bool(
        facts.changes_names
        or facts.search_path is not None
        or facts.use
        or facts.is_rollback
        or facts.calls
        or prepared.statement.outcome == "failed"
        or (facts.creates and not facts.is_temporary)
    )


def _sort(statements: Iterable[Prepared]) -> list[Prepared]:
    by_end = sorted(statements, key=lambda prepared: prepared.statement.ended)
    unique = {prepared.statement.id: prepared for prepared in by_end}
    return sorted(unique.values(), key=_order)


def _order(prepared: Prepared) -> tuple[int, bool, int, int, str]:
    """Return the sort key: a call before its statements, and an outer call before an inner one.

    Times may be in seconds: numbers as identifiers are in the order of the statements.
    """
    statement = prepared.statement
    if number := _number(statement.id):
        return statement.started, False, 0, number, statement.id
    is_call = bool(facts_of(prepared.template.text).calls)
    return statement.started, not is_call, -statement.ended if is_call else 0, 0, statement.id


def _number(statement: str) -> int:
    """Return the number that identifies a statement, or the one that it is a part of, else 0."""
    number = statement.partition(".")[0]
    return int(number) if number.isdecimal() else 0


def steps_of(statements: Iterable[Prepared], settings: SessionSettings) -> Iterator[Step]:
    """Yield the statements in order; one that is in the log twice counts once, as it is after its end."""
    ordered = _sort(statements)
    rolled_back = _find_rolled_back(ordered)
    state = _SessionState(settings, settings.search_path)
    calls: list[_Call] = []  # that are running, the innermost last
    for statement, template in ordered:
        facts = facts_of(template.text)
        is_rolled_back = statement.outcome == "open" and statement.transaction in rolled_back
        outcome = "rolled_back" if is_rolled_back else statement.outcome
        calls = calls and [call for call in calls if call.is_running_at(statement)]
        call = _call_around(calls, statement) if calls else None
        begins = state.follow(statement, facts, is_undone=outcome in UNDONE, is_called=call is not None)
        procedure, run, run_started = statement.procedure, statement.run, statement.started
        if call is not None and not procedure:
            procedure, run, run_started = call.procedure, call.statement.id, call.statement.started
        moment = statement.started, _number(statement.id), 0
        if max(statement.started, statement.ended) > settings.latest:
            statement, run_started = _drop_future_times(statement, settings.latest), 0
        yield Step(
            statement,
            template,
            facts,
            state.database or statement.database,
            state.schemas(statement),
            outcome,
            procedure,
            run,
            run_started,
            begins,
            moment,
        )
        if facts.calls:
            calls.append(_Call(statement, facts.calls))


def _drop_future_times(statement: LoggedStatement, latest: int) -> LoggedStatement:
    """Return a statement as the oldest one if its time is wrong, as long as nothing if only its end is."""
    started = statement.started if statement.started <= latest else 0
    ended = statement.ended if statement.ended <= latest else started + 1  # it did end
    return statement._replace(started=started, ended=ended)


class _Call(NamedTuple):
    """A call of a procedure."""

    statement: LoggedStatement
    procedure: str

    def is_running_at(self, later: LoggedStatement) -> bool:
        """Return whether the call has not ended when a later statement begins."""
        ended = self.statement.ended
        return later.started < ended or (
            later.started == ended and later.transaction == self.statement.transaction
        )


def _call_around(calls: Sequence[_Call], statement: LoggedStatement) -> _Call | None:
    """Return the innermost running call that a statement is part of, if any."""
    return next(
        (
            call
            for call in reversed(calls)
            if statement.ended <= call.statement.ended and not _are_of_one_text(call.statement, statement)
        ),
        None,
    )


@dataclass(slots=True)
class _SessionState:
    """What the statements of a session set for those after them.

    `search_path`: that of the session; `local_path`: that of a transaction, which is the first part.
    `temporary`: the temporary tables that exist.
    """

    settings: SessionSettings
    search_path: tuple[str, ...]
    database: str = ""
    user: str = ""
    local_path: tuple[str, tuple[str, ...]] | None = None
    temporary: set[str] = field(default_factory=set)
    _schemas_of: dict[tuple[tuple[str, ...], str], tuple[str, ...]] = field(default_factory=dict)

    def follow(self, statement: LoggedStatement, facts: Facts, *, is_undone: bool, is_called: bool) -> bool:
        """Apply what a statement sets; return whether it is the first one of another session.

        `is_undone`: it failed or was rolled back. `is_called`: a procedure ran it.
        """
        # Identifiers of sessions are used again. One has one user, but in procedures, which may run as their
        # owner, and does not create a table twice.
        begins = not is_undone and facts.is_new and facts.creates in self.temporary
        if not is_called:
            begins = begins or (bool(self.user) and statement.user not in ("", self.user))
            self.user = statement.user
        if begins:
            self.search_path, self.database, self.local_path = self.settings.search_path, "", None
            self.temporary.clear()
        if not is_undone:
            self._follow_tables(facts)
            self._follow_path(statement.transaction, facts)
        if self.local_path is not None and self.local_path[0] != statement.transaction:
            self.local_path = None
        return begins

    def schemas(self, statement: LoggedStatement) -> tuple[str, ...]:
        """Return the search path of a statement: its own in the log, else that which was set."""
        path = statement.search_path or (self.search_path if self.local_path is None else self.local_path[1])
        schemas = self._schemas_of.get((path, statement.user))
        if schemas is None:
            schemas = _schemas(path, statement.user, self.settings.user_schemas)
            self._schemas_of[path, statement.user] = schemas
        return schemas

    def _follow_tables(self, facts: Facts) -> None:
        """Add the temporary table that a statement creates, and remove those that it drops or renames."""
        for schema, name in facts.drops:
            if not schema:
                self.temporary.discard(name)
        if facts.renames is not None and not facts.schema and facts.renames[0] in self.temporary:
            self.temporary.remove(facts.renames[0])
            self.temporary.add(facts.renames[1])
        if facts.is_new:
            self.temporary.add(facts.creates)

    def _follow_path(self, transaction: str, facts: Facts) -> None:
        """Change the search path and the database, for the session or for a transaction."""
        if facts.search_path is not None:
            path = facts.search_path or self.settings.search_path
            if facts.is_local:
                self.local_path = transaction, path
            else:
                self.search_path, self.local_path = path, None
        elif facts.use:
            self.database = facts.use[0]
            self.search_path = facts.use[1:] or self.search_path


def _are_of_one_text(one: LoggedStatement, other: LoggedStatement) -> bool:
    """Return whether two statements follow each other in one text, of which they have the end."""
    return bool(one.text_id) and one.text_id == other.text_id


def _schemas(path: tuple[str, ...], user: str, user_schemas: Mapping[str, str]) -> tuple[str, ...]:
    """Return a search path in which ``$user`` is the user's schema, if there is one."""
    if "$user" not in path:
        return path
    own = user_schemas.get(user)
    return tuple(own if name == "$user" else name for name in path if name != "$user" or own)  # type: ignore[misc]


def _find_rolled_back(ordered: Iterable[Prepared]) -> set[str]:
    """Return the transactions that did not commit, by their own statements."""
    transactions = set()
    for statement, template in ordered:
        if statement.outcome == "failed" or facts_of(template.text).is_rollback:
            transactions.add(statement.transaction)
    return transactions - {""}

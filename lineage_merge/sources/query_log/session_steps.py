"""Statements of a session in order, with the names and the outcome that each has there. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from lineage_merge.sources.query_log.facts import Facts, facts_of, names_of_column_rename, names_of_rename
from lineage_merge.sources.query_log.owners import DBT
from lineage_merge.sources.query_log.renames import AnyRename, ColumnRename, Moment, Rename
from lineage_merge.sources.query_log.statement import UNDONE, LoggedStatement, Outcome, Prepared, Template


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
    Reads are counted since `reads_since` (microseconds since 1970).
    """

    search_path: tuple[str, ...]
    user_schemas: Mapping[str, str]
    counts_reads: bool = True
    reads_since: int = 0


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
            statement = step.statement
            yield ColumnRename(step.at, statement.session, step.database, step.search_path, *column)
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


def _ordered(statements: Iterable[Prepared]) -> list[Prepared]:
    unique = {each.statement.id: each for each in sorted(statements, key=lambda each: each.statement.ended)}
    return sorted(unique.values(), key=_order)


def _order(each: Prepared) -> tuple[int, bool, int, int, str]:
    """Return the sort key: a call before its statements, and an outer call before an inner one.

    Times may be in seconds: numbers as identifiers are in the order of the statements.
    """
    statement = each.statement
    if number := _number(statement.id):
        return statement.started, False, 0, number, statement.id
    is_call = bool(facts_of(each.template.text).calls)
    return statement.started, not is_call, -statement.ended if is_call else 0, 0, statement.id


def _number(statement: str) -> int:
    """Return the number that identifies a statement, or the one that it is a part of, else 0."""
    number = statement.partition(".")[0]
    return int(number) if number.isdecimal() else 0


def steps_of(statements: Iterable[Prepared], settings: SessionSettings) -> Iterator[Step]:
    """Yield the statements in order; one that is in the log twice counts once, as it is after its end."""
    ordered = _ordered(statements)
    rolled_back = _rolled_back(ordered)
    calls: list[LoggedStatement] = []  # that are running, the innermost last
    procedures: dict[str, str] = {}
    path, database = settings.search_path, ""
    path_of_transaction: tuple[str, tuple[str, ...]] | None = None
    temporary: set[str] = set()
    user = ""
    schemas: dict[tuple[tuple[str, ...], str], tuple[str, ...]] = {}
    for statement, template in ordered:
        facts = facts_of(template.text)
        is_undone = statement.outcome == "open" and statement.transaction in rolled_back
        outcome = "rolled_back" if is_undone else statement.outcome
        calls = [
            call
            for call in calls
            if statement.started < call.ended
            or (statement.started == call.ended and statement.transaction == call.transaction)
        ]
        around = [
            call for call in calls if statement.ended <= call.ended and not _are_of_one_text(call, statement)
        ]
        # Identifiers of sessions are used again. One has one user, but in procedures, which may run as their
        # owner, and does not create a table twice.
        is_of_other = not around and bool(user) and statement.user not in ("", user)
        begins = is_of_other or (outcome not in UNDONE and facts.is_new and facts.creates in temporary)
        user = user if around else statement.user
        if begins:
            path, database, path_of_transaction = settings.search_path, "", None
            temporary.clear()
        if outcome not in UNDONE:
            _follow(temporary, facts)
        if outcome not in UNDONE and facts.search_path is not None:
            if facts.is_local:
                path_of_transaction = statement.transaction, facts.search_path or settings.search_path
            else:
                path, path_of_transaction = facts.search_path or settings.search_path, None
        elif outcome not in UNDONE and facts.use:
            database = facts.use[0]
            path = facts.use[1:] or path
        if path_of_transaction is not None and path_of_transaction[0] != statement.transaction:
            path_of_transaction = None
        current = path if path_of_transaction is None else path_of_transaction[1]
        path_of_user = statement.search_path or current, statement.user
        if path_of_user not in schemas:
            schemas[path_of_user] = _schemas(*path_of_user, settings.user_schemas)
        step = Step(
            statement,
            template,
            facts,
            database or statement.database,
            schemas[path_of_user],
            outcome,
            statement.procedure,
            statement.run,
            statement.started,
            begins,
            (statement.started, _number(statement.id), 0),
        )
        if around and not step.procedure:
            step.procedure, step.run = procedures[around[-1].id], around[-1].id
            step.run_started = around[-1].started
        if facts.calls:
            calls.append(statement)
            procedures[statement.id] = facts.calls
        yield step


def _are_of_one_text(one: LoggedStatement, other: LoggedStatement) -> bool:
    """Return whether two statements follow each other in one text, of which they have the end."""
    return bool(one.text_id) and one.text_id == other.text_id


def _follow(temporary: set[str], facts: Facts) -> None:
    """Add the temporary table that a statement creates, and remove those that it drops or renames."""
    temporary.difference_update(name for schema, name in facts.drops if not schema)
    if facts.renames is not None and not facts.schema and facts.renames[0] in temporary:
        temporary.remove(facts.renames[0])
        temporary.add(facts.renames[1])
    if facts.is_new:
        temporary.add(facts.creates)


def _schemas(path: tuple[str, ...], user: str, user_schemas: Mapping[str, str]) -> tuple[str, ...]:
    """Return a search path in which ``$user`` is the user's schema, if there is one."""
    if "$user" not in path:
        return path
    own = user_schemas.get(user)
    return tuple(own if name == "$user" else name for name in path if name != "$user" or own)  # type: ignore[misc]


def _rolled_back(ordered: Iterable[Prepared]) -> set[str]:
    """Return the transactions that did not commit, by their own statements."""
    found = set()
    for statement, template in ordered:
        if statement.outcome == "failed" or facts_of(template.text).is_rollback:
            found.add(statement.transaction)
    return found - {""}

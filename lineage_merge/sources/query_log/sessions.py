"""Sessions cut into units: each statement that moves data, with those that its names depend on. Pure.

A temporary table of a session is made of the statements that created and filled it; what reads it depends on
these. So do tables that a session creates and drops again, or renames. Other statements stand alone, and
equal ones of all sessions are one unit.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from lineage_merge.sources.query_log.catalog import TableName
from lineage_merge.sources.query_log.facts import Facts, facts_of, names_of_rename
from lineage_merge.sources.query_log.owners import DBT
from lineage_merge.sources.query_log.reads import LocalTable, ReadKey, Reads, counted, one_read
from lineage_merge.sources.query_log.renames import Rename, Renames
from lineage_merge.sources.query_log.statement import LoggedStatement, Outcome, Template

UNDONE = ("failed", "rolled_back")
_DEFAULT_LABELS = frozenset({"", "default", "unset"})
# The job of units of dbt, whose lineage its own source has: they are not interpreted.
_OF_DBT = "\0"
_NO_RENAMES = Renames()


class Prepared(NamedTuple):
    """A logged statement whose text was replaced by its template."""

    statement: LoggedStatement
    template: Template


class Unit(NamedTuple):
    """Statements that are interpreted together; only the one at `target` is written down.

    `job`: the named job, "" if the unit is a job of its own, named after its `fingerprint`. `sources`: the
    paths that each statement read, if it is a COPY. `renamed`: tables in them that have other names later.
    """

    statements: tuple[str, ...]
    target: int
    database: str
    search_path: tuple[str, ...]
    job: str
    fingerprint: str
    sources: tuple[tuple[str, ...], ...] = ()
    renamed: tuple[tuple[TableName, TableName], ...] = ()

    @property
    def key(self) -> str:
        """Return the identity of a unit."""
        return hashlib.sha256("\0".join(map(repr, self)).encode()).hexdigest()[:32]


class Run(NamedTuple):
    """A run of a job; times in ms. `started` and `id` order the runs of a job."""

    started: int = 0
    id: str = ""
    ended: int = 0
    duration_ms: int = 0
    rows: int | None = None
    failed: bool = False


class Runs(NamedTuple):
    """The newest run of a job, and the number of all and of successful runs."""

    newest: Run
    number: int
    successful: int


def merge_runs(one: Runs, other: Runs) -> Runs:
    """Return the runs of both."""
    newest = max(one.newest, other.newest, key=lambda run: (run.started, run.id))
    return Runs(newest, one.number + other.number, one.successful + other.successful)


class SessionResult(NamedTuple):
    """What a session contains: units with their number, runs of jobs, and the number of statements.

    Jobs are ``(type, name)``; the type "" is the log's own, the name of a unit without a named job is ``#``
    and its fingerprint. Those of dbt are ``target/node``, or the node if the target is unknown.
    """

    units: Mapping[Unit, int]
    runs: Mapping[tuple[str, str], Runs]
    reads: Mapping[ReadKey, Reads]
    number: int = 0


@dataclass(slots=True)
class _Local:
    """A table that exists in the session only, or under another name later.

    `made_of`: positions of the statements that it consists of; `ends`: those that drop or rename it later.
    """

    made_of: tuple[int, ...]
    ends: tuple[int, ...] = ()
    is_temporary: bool = True
    has_schema: bool = False
    renamed_to: str = ""
    schema: str = ""

    def is_meant(self, schema: str) -> bool:
        """Return whether a name with this schema, "" without one, is that of the table."""
        return not schema or (self.has_schema and self.schema in ("", schema))


@dataclass(slots=True)
class _Step:
    statement: LoggedStatement
    template: Template
    facts: Facts
    database: str
    search_path: tuple[str, ...]
    outcome: Outcome
    procedure: str
    run: str
    run_started: int

    @property
    def is_lineage(self) -> bool:
        """Return whether what it did remains."""
        if self.outcome == "running" and self.facts.is_temporary and self.statement.ended:
            return True  # a transaction that only creates temporary tables may not be listed
        return self.outcome in ("committed", "open")

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
    """

    search_path: tuple[str, ...]
    user_schemas: Mapping[str, str]
    counts_reads: bool = True


def read_session(
    statements: Iterable[Prepared], settings: SessionSettings, renames: Renames = _NO_RENAMES
) -> SessionResult:
    """Return the units, runs and reads of one session.

    A statement that is in the log twice counts once, as it is after its end.
    """
    steps = list(_steps(_ordered(statements), settings))
    reads: list[tuple[ReadKey, Reads]] = []
    units = [
        (at, _renamed(unit, steps[at].statement.started, renames))
        for at, unit in _units(steps, reads, renames)
    ]
    return SessionResult(
        _counted(units), _runs(steps, units), counted(reads) if settings.counts_reads else {}, len(steps)
    )


def _renamed(unit: Unit, at: int, renames: Renames) -> Unit:
    if not renames.tables:
        return unit
    words = frozenset[str]().union(*(facts_of(text).words for text in unit.statements))
    return unit._replace(renamed=renames.after(at, words))


def renames_in(statements: Iterable[Prepared], settings: SessionSettings) -> Iterator[Rename]:
    """Yield the renames of one session, but dbt's; of the statements, those that `may_rename` suffice."""
    steps = [step for step in _steps(_ordered(statements), settings) if step.is_lineage]
    for at, step in enumerate(steps):
        names = names_of_rename(step.template.text)
        owner = step.template.owner
        if names is not None and (owner is None or owner.job_type != DBT):
            recreated = any(
                later.facts.creates == names[0][-1] and not later.facts.is_temporary for later in steps[at:]
            )
            started, session = step.statement.started, step.statement.session
            yield Rename(started, session, step.database, step.search_path, *names, recreated)


def may_rename(prepared: Prepared) -> bool:
    """Return whether a statement renames a table, or is needed to know which one, and whether it did."""
    facts = facts_of(prepared.template.text)
    return bool(
        facts.renames is not None
        or facts.search_path is not None
        or facts.use
        or facts.is_rollback
        or prepared.statement.outcome == "failed"
        or (facts.creates and not facts.is_temporary)
    )


def _ordered(statements: Iterable[Prepared]) -> list[Prepared]:
    unique = {each.statement.id: each for each in sorted(statements, key=lambda each: each.statement.ended)}
    return sorted(unique.values(), key=_order)


def _order(each: Prepared) -> tuple[int, bool, int, str]:
    """Return the sort key: a call before its statements, and an outer call before an inner one."""
    statement = each.statement
    is_call = bool(facts_of(each.template.text).calls)
    return statement.started, not is_call, -statement.ended if is_call else 0, statement.id


# ---- names and outcomes


def _steps(ordered: Sequence[Prepared], settings: SessionSettings) -> Iterator[_Step]:
    rolled_back = _rolled_back(ordered)
    calls: list[LoggedStatement] = []  # that are running, the innermost last
    procedures: dict[str, str] = {}
    path, database = settings.search_path, ""
    for statement, template in ordered:
        facts = facts_of(template.text)
        is_undone = statement.outcome == "open" and statement.transaction in rolled_back
        outcome = "rolled_back" if is_undone else statement.outcome
        if outcome not in UNDONE and facts.search_path is not None:
            path = facts.search_path
        elif outcome not in UNDONE and facts.use:
            database = facts.use[0]
            path = facts.use[1:] or path
        step = _Step(
            statement,
            template,
            facts,
            database or statement.database,
            _schemas(statement.search_path or path, statement.user, settings.user_schemas),
            outcome,
            statement.procedure,
            statement.run,
            statement.started,
        )
        calls = [call for call in calls if statement.started <= call.ended]
        around = [call for call in calls if statement.ended <= call.ended]
        if around and not step.procedure:
            step.procedure, step.run = procedures[around[-1].id], around[-1].id
            step.run_started = around[-1].started
        if facts.calls:
            calls.append(statement)
            procedures[statement.id] = facts.calls
        yield step


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


# ---- units


def _units(
    steps: Sequence[_Step], reads: list[tuple[ReadKey, Reads]], renames: Renames
) -> Iterator[tuple[int, Unit]]:
    """Yield the units, each with the position of its statement; add what the statements read to `reads`."""
    ends = _ends(steps)
    local: dict[str, _Local] = {}
    for at, step in enumerate(steps):
        facts = step.facts
        if step.is_read:
            reads.append(_read(step, local, renames))
        if not step.is_lineage:
            continue
        for name in facts.drops:
            local.pop(name, None)
        renamed = local.pop(facts.renames[0], None) if facts.renames is not None else None
        if facts.renames is not None and renamed is not None and renamed.is_temporary:
            local[facts.renames[1]] = _Local(
                _added(renamed.made_of, at, steps),
                renamed.ends,
                has_schema=renamed.has_schema,
                schema=renamed.schema,
            )
        if not facts.moves:
            continue
        if not local and not facts.creates:  # most statements stand alone
            yield at, _unit(steps, (), at, ())
            continue
        is_local = bool(facts.creates) and (facts.is_temporary or at in ends)
        used = [
            each
            for name, each in local.items()
            if name in facts.words and not (is_local and name == facts.creates)
        ]
        made_of = tuple(sorted({position for each in used for position in each.made_of}))
        ended = {position for each in used for position in each.ends}
        target = local.get(facts.changes)
        if target is not None and not target.is_meant(facts.schema):
            target = None
        if is_local:
            own = ends.get(at, ())
            is_temporary = facts.is_temporary or not any(steps[end].facts.renames for end in own)
            new_names = ["", *(each[1] for end in own if (each := steps[end].facts.renames) is not None)]
            local[facts.creates] = _Local(
                _added(made_of, at, steps),
                own,
                is_temporary,
                not facts.is_temporary,
                new_names[-1],
                facts.schema,
            )
            ended.update(own)
            if is_temporary:
                continue
        elif target is not None and target.is_temporary:
            target.made_of = _added(made_of, at, steps)
            continue
        yield at, _unit(steps, made_of, at, sorted(ended))


def _read(step: _Step, local: Mapping[str, _Local], renames: Renames) -> tuple[ReadKey, Reads]:
    statement, template = step.statement, step.template
    tables = tuple(
        LocalTable(name, each.renamed_to, not each.has_schema, each.schema)
        for name, each in sorted(local.items())
        if name in step.facts.words
    )
    # What the statement writes is not read: it may get the name of what it reads.
    others = step.facts.words - {step.facts.creates, step.facts.changes} if renames.tables else frozenset()
    renamed = renames.after(statement.started, others) if others else ()
    key = ReadKey(template.fingerprint, step.database, step.search_path, tables, renamed)
    return key, one_read(template.text, statement.started, statement.reader)


def _ends(steps: Sequence[_Step]) -> dict[int, tuple[int, ...]]:
    """Return the positions of persistent tables' creation, with those that later drop or rename the table.

    A table that exists at the end of the session is not one that is dropped again: it was refreshed.
    """
    created: dict[str, int] = {}
    ends: dict[int, tuple[int, ...]] = {}
    dropped: dict[str, list[int]] = {}
    for at, step in enumerate(steps):
        if not step.is_lineage:
            continue
        facts = step.facts
        if facts.creates and not facts.is_temporary:
            created[facts.creates] = at
        for name in facts.drops:
            if name in created:
                creation = created.pop(name)
                if creation not in ends:
                    ends[creation] = (at,)
                    dropped.setdefault(name, []).append(creation)
        if facts.renames is not None:
            renamed = created.pop(facts.renames[0], None)
            if renamed is not None:
                ends[renamed] = (*ends.get(renamed, ()), at)
                created[facts.renames[1]] = renamed
    for name in created:
        for creation in dropped.get(name, ()):
            del ends[creation]
    return ends


def _added(made_of: tuple[int, ...], at: int, steps: Sequence[_Step]) -> tuple[int, ...]:
    """Return the positions with another one, unless an equal statement is among them: loops do not add up."""
    fingerprint = steps[at].template.fingerprint
    if any(steps[each].template.fingerprint == fingerprint for each in made_of):
        return made_of
    return (*made_of, at)


def _unit(steps: Sequence[_Step], made_of: Sequence[int], at: int, ended: Sequence[int]) -> Unit:
    step = steps[at]
    positions = [*(each for each in made_of if each != at), at, *(each for each in ended if each != at)]
    fingerprint = step.template.fingerprint
    if len(positions) > 1:
        before = [steps[each].template.fingerprint for each in positions]
        fingerprint = hashlib.sha256("\0".join(before).encode()).hexdigest()[:16]
    job = _named_job(step)
    return Unit(
        tuple(steps[each].template.text for each in positions),
        positions.index(at),
        step.database,
        step.search_path,
        _OF_DBT if job is not None and job[0] == DBT else job[1] if job else "",
        fingerprint,
        tuple(datasets_of(steps[each].statement.files) for each in positions),
    )


def datasets_of(files: Iterable[str]) -> tuple[str, ...]:
    """Return the folders of files that a COPY read; a file that is alone in its folder is returned itself.

    Keys without a bucket, which Redshift reports for some loads, are not returned.
    """
    folders: defaultdict[str, set[str]] = defaultdict(set)
    for file in files:
        name = file.strip()
        if "://" in name:
            folders[name.rpartition("/")[0]].add(name)
    return tuple(sorted(folder if len(names) > 1 else next(iter(names)) for folder, names in folders.items()))


# ---- jobs and runs


def _named_job(step: _Step) -> tuple[str, str] | None:
    """Return the job that a statement names: dbt's node, the procedure, the task or the label."""
    owner = step.template.owner
    if owner is not None and owner.job_type == DBT:
        return DBT, f"{owner.target}/{owner.name}" if owner.target else owner.name
    if step.procedure:
        return "", step.procedure
    if owner is not None:
        return "", owner.name
    label = step.statement.label.strip()
    return None if label.lower() in _DEFAULT_LABELS else ("", label)


def _counted(units: Iterable[tuple[int, Unit]]) -> dict[Unit, int]:
    counts: dict[Unit, int] = {}
    for _, unit in units:
        if unit.job != _OF_DBT:
            counts[unit] = counts.get(unit, 0) + 1
    return counts


@dataclass(slots=True)
class _RunParts:
    started: int
    ended: int = 0
    busy: int = 0
    rows: list[int] = field(default_factory=list)
    failed: bool = False


def _runs(steps: Sequence[_Step], units: Iterable[tuple[int, Unit]]) -> dict[tuple[str, str], Runs]:
    by_position = dict(units)
    parts: dict[tuple[tuple[str, str], str], _RunParts] = {}
    for at, step in enumerate(steps):
        if step.outcome == "running" or not (step.facts.moves or step.facts.calls):
            continue
        job = ("", step.facts.calls) if step.facts.calls else _named_job(step)
        statement = step.statement
        if job is None:
            unit = by_position.get(at)
            if unit is None and step.is_lineage:
                continue
            fingerprint = unit.fingerprint if unit is not None else step.template.fingerprint
            job, run, started = ("", f"#{fingerprint}"), statement.id, statement.started
        elif step.facts.calls:
            run, started = statement.id, statement.started
        elif step.procedure:
            run, started = step.run or statement.id, step.run_started
        else:
            run, started = statement.session, statement.started
        if not job[1]:
            continue
        part = parts.setdefault((job, run), _RunParts(started))
        part.started = min(part.started, started)
        part.ended = max(part.ended, statement.ended)
        if step.facts.calls or not step.procedure:  # a call's time contains that of its statements
            part.busy += statement.ended - statement.started
        part.failed |= not step.is_lineage
        if statement.rows is not None and step.facts.moves:
            part.rows.append(statement.rows)
    runs: dict[tuple[str, str], Runs] = {}
    for (job, run), part in parts.items():
        rows = sum(part.rows) if part.rows else None
        facts = Run(part.started // 1000, run, part.ended // 1000, part.busy // 1000, rows, part.failed)
        one = Runs(facts, 1, int(not part.failed))
        runs[job] = merge_runs(runs[job], one) if job in runs else one
    return runs

"""Units of a session: each statement that moves data, with those that its names depend on. Pure.

A temporary table of a session is made of the statements that created and filled it; what reads it depends on
these. So do tables that a session creates and drops again, or renames. Other statements stand alone, and
equal ones of all sessions are one unit.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from lineage_merge.sources.query_log.statements.catalog import TableName
from lineage_merge.sources.query_log.statements.facts import Facts
from lineage_merge.sources.query_log.statements.job_runs import find_named_job
from lineage_merge.sources.query_log.statements.moved_files import datasets_of, find_unload_folders
from lineage_merge.sources.query_log.statements.owners import DBT
from lineage_merge.sources.query_log.statements.reads import LocalTable, ReadKey, Reads, one_read
from lineage_merge.sources.query_log.statements.renames import Renames
from lineage_merge.sources.query_log.statements.session_steps import Step

# The job of units of dbt, whose lineage its own source has: they are not interpreted.
OF_DBT = "\0"


class Unit(NamedTuple):
    """Statements that are interpreted together; only the one at `target` is written down.

    `job`: the named job, "" if the unit is a job of its own, named after its `fingerprint`. `sources`: the
    paths that each statement read, if it is a COPY, or wrote to, if it is an UNLOAD. `renamed`: tables in
    them that have other names later; `renamed_columns`: such columns of tables.
    """

    statements: tuple[str, ...]
    target: int
    database: str
    search_path: tuple[str, ...]
    job: str
    fingerprint: str
    sources: tuple[tuple[str, ...], ...] = ()
    renamed: tuple[tuple[TableName, TableName], ...] = ()
    renamed_columns: tuple[tuple[TableName, str, str], ...] = ()

    @property
    def key(self) -> str:
        """Return the identity of a unit."""
        return hashlib.sha256("\0".join(map(repr, self)).encode()).hexdigest()[:32]


@dataclass(slots=True)
class _Local:
    """A table that exists in the session only, or under another name later.

    `made_of`: positions of the statements that it consists of, `created`: when it was created; `ends`: those
    that drop or rename it later.
    """

    made_of: tuple[int, ...]
    created: tuple[int, ...]
    ends: tuple[int, ...] = ()
    is_temporary: bool = True
    has_schema: bool = False
    renamed_to: str = ""
    schema: str = ""

    def is_meant(self, schema: str) -> bool:
        """Return whether a name with this schema, "" without one, is that of the table."""
        return not schema or (self.has_schema and self.schema in ("", schema))


def units_of(
    steps: Sequence[Step], reads: list[tuple[ReadKey, Reads]], renames: Renames
) -> Iterator[tuple[int, Unit]]:
    """Yield the units, each with the position of its statement; add what the statements read to `reads`."""
    ends = _ends(steps)
    local: dict[str, _Local] = {}
    for at, step in enumerate(steps):
        facts = step.facts
        if step.begins:
            local.clear()
        if step.is_read:
            reads.append(_read(step, local, renames))
        if not (step.is_lineage or (step.may_be_unlisted and _fills(local, facts))):
            continue
        if local:
            _change_tables(local, steps, at)
        if not facts.moves:
            continue
        if not local and not facts.creates:  # most statements stand alone
            yield at, _unit(steps, (), at, ())
            continue
        creates_local = bool(facts.creates) and (facts.is_temporary or at in ends)
        made_of, ended = _find_used(local, facts, replaced=facts.creates if creates_local else "")
        if creates_local:
            created = _make_created_table(steps, at, made_of, ends.get(at, ()))
            local[facts.creates] = created
            ended.update(created.ends)
            if created.is_temporary:
                continue
        elif (target := _find_named(local, facts.changes, facts.schema)) and target.is_temporary:
            target.made_of = _add(made_of, at, steps)
            continue
        yield at, _unit(steps, made_of, at, sorted(ended))


def _find_named(local: Mapping[str, _Local], name: str, schema: str) -> _Local | None:
    """Return the table that a name with this schema, "" without one, means, if it is one of these."""
    table = local.get(name)
    return table if table is not None and table.is_meant(schema) else None


def _change_tables(local: dict[str, _Local], steps: Sequence[Step], at: int) -> None:
    """Remove the tables that a statement drops, rename those that it renames, and empty those it empties."""
    facts = steps[at].facts
    for schema, name in facts.drops:
        if _find_named(local, name, schema) is not None:
            del local[name]
    if facts.renames is not None:
        old, new = facts.renames
        renamed = _find_named(local, old, facts.schema)
        if renamed is not None:
            del local[old]
            if renamed.is_temporary:
                renamed.made_of = _add(renamed.made_of, at, steps)
                renamed.created = _add(renamed.created, at, steps)
                local[new] = renamed
    emptied = _find_named(local, facts.empties, facts.schema)
    if emptied is not None and emptied.is_temporary:
        emptied.made_of = _add(emptied.created, at, steps)


def _find_used(local: Mapping[str, _Local], facts: Facts, replaced: str) -> tuple[tuple[int, ...], set[int]]:
    """Return the positions that the tables in a statement are made of, and those that end them.

    `replaced`: the table that the statement creates again.
    """
    used = [local[name] for name in facts.words & local.keys() if name != replaced]
    made_of = {position for table in used for position in table.made_of}
    return tuple(sorted(made_of)), {position for table in used for position in table.ends}


def _make_created_table(
    steps: Sequence[Step], at: int, made_of: tuple[int, ...], ends: tuple[int, ...]
) -> _Local:
    """Return the table that a statement creates; `ends`: those that drop or rename it later."""
    facts = steps[at].facts
    new_name = _new_name(facts.creates, (steps[end].facts for end in ends))
    is_temporary = facts.is_temporary or new_name == facts.creates
    created = _add(made_of, at, steps)
    return _Local(
        created,
        created,
        ends,
        is_temporary,
        has_schema=not facts.is_temporary,
        renamed_to="" if is_temporary else new_name,
        schema=facts.schema,
    )


def _read(step: Step, local: Mapping[str, _Local], renames: Renames) -> tuple[ReadKey, Reads]:
    statement, template = step.statement, step.template
    tables = tuple(
        LocalTable(name, local[name].renamed_to, not local[name].has_schema, local[name].schema)
        for name in sorted(step.facts.words & local.keys())
    )
    # What the statement writes is not read: it may get the name of what it reads.
    others = step.facts.words - {step.facts.creates, step.facts.changes} if renames.tables else frozenset()
    renamed = renames.find_after(step.at, others) if others else ()
    columns = renames.columns_after(step.at, step.facts.words) if renames else ()
    key = ReadKey(template.fingerprint, step.database, step.search_path, tables, renamed, columns)
    return key, one_read(template.text, statement.started, statement.reader)


def _fills(local: Mapping[str, _Local], facts: Facts) -> bool:
    """Return whether a statement changes the rows of a temporary table only."""
    table = _find_named(local, facts.changes or facts.empties, facts.schema)
    return table is not None and table.is_temporary


def _new_name(name: str, later: Iterable[Facts]) -> str:
    """Return the last name of a table by renames and swaps."""
    for facts in later:
        if facts.renames is not None and facts.renames[0] == name:
            name = facts.renames[1]
        elif facts.swaps is not None and name in facts.swaps:
            one, other = facts.swaps
            name = other if name == one else one
    return name


def _ends(steps: Sequence[Step]) -> dict[int, tuple[int, ...]]:
    """Return the positions of persistent tables' creation, with those that later drop or rename the table.

    A table that exists at the end of the session is not one that is dropped again: it was refreshed.
    """
    ends: dict[int, tuple[int, ...]] = {}
    created = _Created(ends)
    for at, step in enumerate(steps):
        if step.begins:
            created.keep_refreshed()
            created = _Created(ends)
        if not step.is_lineage:
            continue
        facts = step.facts
        if facts.creates and not facts.is_temporary:
            created.by_name[facts.creates] = at, facts.schema
            created.original[at] = facts.creates
        for schema, name in facts.drops:
            created.drop(name, schema, at)
        if facts.renames is not None:
            created.rename(*facts.renames, facts.schema, at)
        if facts.swaps is not None:
            created.swap(*facts.swaps, at)
    created.keep_refreshed()
    return ends


@dataclass(slots=True)
class _Created:
    """The persistent tables that a session created, by name: position, and schema, if it is written.

    A table that is renamed again and replaced by another one, such as by the next of a loop's, keeps the name
    at which it was replaced. `left`: names that may be such ones, with the table's creation and its rename.
    `replaced`: the creations of such tables.
    """

    ends: dict[int, tuple[int, ...]]
    by_name: dict[str, tuple[int, str]] = field(default_factory=dict)
    original: dict[int, str] = field(default_factory=dict)
    dropped: dict[str, list[int]] = field(default_factory=dict)
    left: dict[str, tuple[int, int]] = field(default_factory=dict)
    replaced: set[int] = field(default_factory=set)

    def drop(self, name: str, schema: str, at: int) -> None:
        """Drop a table, if it is one of these."""
        creation = self._pop(name, schema)
        if creation is not None and creation[0] not in self.ends:
            self.ends[creation[0]] = (at,)
            self.dropped.setdefault(name, []).append(creation[0])

    def rename(self, old: str, new: str, schema: str, at: int) -> None:
        """Rename a table, if it is one of these."""
        creation = self._pop(old, schema)
        if creation is not None:
            if creation[0] in self.ends:
                self.left[old] = creation[0], at
            self.add_renamed(new, creation, at)

    def swap(self, one: str, other: str, at: int) -> None:
        """Exchange the names of two tables, of which one or both are these."""
        pair = [(self.by_name.pop(one, None), other), (self.by_name.pop(other, None), one)]
        replaces = [creation is not None and creation[0] not in self.ends for creation, _ in pair]
        for number, (creation, new) in enumerate(pair):
            if creation is not None and replaces[1 - number] and not replaces[number]:
                self.by_name[new] = creation
                self.replaced.add(creation[0])
            elif creation is not None:
                self.add_renamed(new, creation, at)

    def add_renamed(self, new: str, creation: tuple[int, str], at: int) -> None:
        """Add a table under its new name."""
        replaced, renamed = self.left.pop(new, (creation[0], 0))
        if replaced != creation[0]:
            self.ends[replaced] = tuple(end for end in self.ends[replaced] if end < renamed)
            self.replaced.add(replaced)
        self.ends[creation[0]] = (*self.ends.get(creation[0], ()), at)
        self.by_name[new] = creation

    def keep_refreshed(self) -> None:
        """Remove the ends of tables that exist at the end of the session, or have their first name again."""
        for name, (creation, _) in self.by_name.items():
            if self.original[creation] == name and creation not in self.replaced:
                self.ends.pop(creation, None)
            for dropped in self.dropped.get(name, ()):
                del self.ends[dropped]

    def _pop(self, name: str, schema: str) -> tuple[int, str] | None:
        creation = self.by_name.get(name)
        if creation is None or (schema and creation[1] and schema != creation[1]):
            return None
        return self.by_name.pop(name)


def _add(made_of: tuple[int, ...], at: int, steps: Sequence[Step]) -> tuple[int, ...]:
    """Return the positions with another one, unless an equal statement is among them: loops do not add up.

    Statements with the same fingerprint may have other paths.
    """
    step = steps[at]
    for position in made_of:
        same = steps[position].template.fingerprint == step.template.fingerprint
        if (
            same
            and steps[position].template.text == step.template.text
            and _paths(steps[position]) == _paths(step)
        ):
            return made_of
    return (*made_of, at)


def _paths(step: Step) -> tuple[str, ...]:
    files = step.statement.files
    if not files:
        return ()
    return find_unload_folders(step.template.text, files) if step.facts.unloads else datasets_of(files)


def _unit(steps: Sequence[Step], made_of: Sequence[int], at: int, ended: Sequence[int]) -> Unit:
    step = steps[at]
    fingerprint = step.template.fingerprint
    positions = [at]
    if made_of or ended:
        positions = [
            *(other for other in made_of if other != at),
            at,
            *(other for other in ended if other != at),
        ]
    if len(positions) > 1:
        fingerprints = [steps[position].template.fingerprint for position in positions]
        fingerprint = hashlib.sha256("\0".join(fingerprints).encode()).hexdigest()[:16]
    job = find_named_job(step)
    return Unit(
        tuple(steps[position].template.text for position in positions),
        positions.index(at),
        step.database,
        step.search_path,
        OF_DBT if job is not None and job[0] == DBT else job[1] if job else "",
        fingerprint,
        tuple(_paths(steps[position]) for position in positions),
    )

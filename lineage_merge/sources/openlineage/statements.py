"""Column lineage of MERGE, UPDATE and DELETE statements, with an event's datasets as their tables. Pure.

Needs sqlglot. A name that is no dataset of the event is a view of the session, or a table that the client
left out. The inputs that no name leads to are behind the views: they have a column where exactly one can.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import Dialect, exp

from lineage_merge.column_lineage.derive import derive_flows, derive_influences
from lineage_merge.column_lineage.sql.names import part_of_table
from lineage_merge.column_lineage.sql.parsing import parse, run_with_deep_stack
from lineage_merge.column_lineage.sql.query import Queries
from lineage_merge.column_lineage.sql.row_changes import (
    Change,
    ChangedColumns,
    changes_of,
    collect_changes,
    drop_copies,
    operation_of,
)
from lineage_merge.column_lineage.sql.scope import NamedColumn, Relation
from lineage_merge.column_lineage.sql.sql_values import UNTRACED, SqlColumn, column_value
from lineage_merge.column_lineage.sql.tables import AllColumns, KnownTable, fold
from lineage_merge.column_lineage.sql.text import cut, reason
from lineage_merge.column_lineage.transformations import lineage_elements
from lineage_merge.column_lineage.value_graph import has_origin
from lineage_merge.infra.batches import gather
from lineage_merge.model.elements import FeedsColumn, Influences, JobKey, Reference
from lineage_merge.naming.jobs import SESSION_CATALOG
from lineage_merge.sources.openlineage.datasets import reference
from lineage_merge.sources.openlineage.statement_names import DatasetNames, key_of

_SPARK = "spark"


@dataclass(frozen=True, slots=True)
class Statement:
    """A parsed statement; `target` are the parts of the name of the table that it changes."""

    tree: exp.Expr
    target: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EventTable:
    """A dataset of an event: its names, and its columns.

    `complete`: the event has its schema; otherwise `columns` are those that the event names somewhere.
    `metadata`: the event reads a metadata table of it. `catalog`: Spark's name of its catalog, "" if unknown.
    """

    ref: Reference
    names: DatasetNames
    columns: tuple[str, ...] = ()
    complete: bool = False
    metadata: bool = False
    catalog: str = ""


@dataclass(slots=True)
class StatementLineage:
    """What a statement does to its table.

    `columns` are the edges between columns.
    `reads` are the tables that only the statement names, and the target if its own columns are assigned.
    """

    columns: tuple[FeedsColumn[Reference] | Influences[Reference], ...] = ()
    reads: set[Reference] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)


def parse_statement(text: str) -> Statement | str:
    """Parse a MERGE, UPDATE or DELETE of Spark; return why it cannot be read otherwise."""
    try:
        trees = run_with_deep_stack(lambda: parse(text, Dialect.get_or_raise(_SPARK)))
    except Exception as error:  # noqa: BLE001 - a parser's own bug costs one run its columns
        return f"its statement cannot be parsed: {reason(error)}"
    if len(trees) != 1 or operation_of(trees[0]) is None:
        return "its statement is no MERGE, UPDATE or DELETE"
    table = trees[0].this
    if not isinstance(table, exp.Table):
        return "its statement changes no table by name"
    return Statement(trees[0], _parts(table))


def lineage_of(
    statement: Statement, target: EventTable, sources: Sequence[EventTable], job: JobKey
) -> StatementLineage:
    """Return the lineage of a job's statement that changes `target`. Never raises."""
    try:
        return _Reading(statement, target, sources).lineage(job)
    except Exception as error:  # noqa: BLE001 - a gap in reading columns costs one run its columns
        return StatementLineage(problems=[f"its statement cannot be read: {reason(error)}"])


class _Reading:
    """Reads a statement twice: the first time shows which columns it reads of each view."""

    def __init__(self, statement: Statement, target: EventTable, sources: Sequence[EventTable]) -> None:
        self._statement = statement
        self._dialect = Dialect.get_or_raise(_SPARK)
        self._target = target
        self._tables = {_key(table.ref): table for table in (*sources, target)}
        self._sources = [table for table in sources if table.ref != target.ref]
        self._extra: dict[str, Reference] = {}
        self._named: set[str] = set()
        self._known: dict[str, KnownTable] = {}
        self._views: dict[str, Relation] = {}
        self._unknown: dict[str, KnownTable] = {}
        self._notes: dict[str, dict[str, None]] = {}

    def lineage(self, job: JobKey) -> StatementLineage:
        changes = list(changes_of(self._statement.tree))
        changed = self._read(changes)
        if self._unknown:
            self._views = self._views_of_inputs()
            changed = self._read(changes)
        problems = [*changed.problems, *self._problems()]
        lineage = StatementLineage(problems=list(dict.fromkeys(problems)))
        flows = drop_copies(derive_flows(changed.columns), _key(self._target.ref))
        influences = derive_influences(changed.rows)
        lineage.columns = tuple(lineage_elements(flows, influences, job, self._target.ref, self._reference))
        lineage.reads = set(self._extra.values())
        if changed.reads(_key(self._target.ref)):
            lineage.reads.add(self._target.ref)
        return lineage

    def _reference(self, key: str) -> Reference:
        return self._extra[key] if key in self._extra else self._tables[key].ref

    def _read(self, changes: Iterable[Change]) -> ChangedColumns:
        self._known, self._notes = {}, {}
        queries = Queries(self._dialect, self._table, self._note)
        outcomes = run_with_deep_stack(lambda: [(change, queries.read(change.query)) for change in changes])
        target = self._target
        return collect_changes(outcomes, target.columns, complete=target.complete)

    def _note(self, what: str, name: str) -> None:
        self._notes.setdefault(what, {})[name] = None

    def _problems(self) -> Iterator[str]:
        for what, names in self._notes.items():
            shown = ", ".join(sorted(name for name in names if name))
            yield cut(f"its statement {what}: {shown}" if shown else f"its statement {what}")
        for view, table in self._unknown.items():
            relation = self._views[view]
            lost = sorted(
                name for name in table.columns.values() if not has_origin(relation.find(name) or UNTRACED)
            )
            if lost:
                columns = ", ".join(lost)
                yield cut(
                    f"its statement reads {view}, which is no input by name: unknown origin of {columns}"
                )

    # ---- tables

    def _table(self, table: exp.Table) -> KnownTable | Relation | None:
        if not isinstance(table.parts[-1], exp.Identifier):
            part = part_of_table(table, _SPARK)
            key = self._find(part.table) if part is not None else None
            return part.relation(self._columns(key)) if part is not None and key is not None else None
        key = self._find(table)
        if key is None:
            part = part_of_table(table, _SPARK)
            key = self._find(part.table) if part is not None else None
            if part is not None and key is not None:
                return part.relation(self._columns(key))
            key = self._find_left_out(table)
        if key is not None:
            known = self._tables.get(key)
            return Relation([AllColumns(None)]) if known and known.metadata else self._columns(key)
        view = fold(table.name)
        if view in self._views:
            return self._views[view]
        return self._unknown.setdefault(view, KnownTable(view))

    def _find(self, table: exp.Table) -> str | None:
        """Return the dataset of the event that a name leads to."""
        name = _parts(table)
        if name == self._statement.target:
            return _key(self._target.ref)
        keys = [key for key, candidate in self._tables.items() if candidate.names.has(name)]
        if len(keys) != 1:
            return None
        self._named.add(keys[0])
        return keys[0]

    def _find_left_out(self, table: exp.Table) -> str | None:
        """Return the key of a table that the client left out, such as one of a subquery."""
        name = _parts(table)
        # With as many parts as the target's name, it is of the same current catalog.
        is_alike = len(name) == len(self._statement.target) and self._target.catalog
        key = key_of(name, self._target.catalog if is_alike else SESSION_CATALOG)
        if key is None:
            return None
        ref = reference(*key, self._target.ref.application)
        self._extra[_key(ref)] = ref
        return _key(ref)

    def _columns(self, key: str) -> KnownTable:
        if key not in self._known:
            table = self._tables.get(key)
            self._known[key] = _make_table(key, table) if table is not None else KnownTable(key)
        return self._known[key]

    # ---- views

    def _views_of_inputs(self) -> dict[str, Relation]:
        """Return the columns of each view: those of its input, or of the only input with such a column.

        As many views as inputs are one view per input, if the columns allow one assignment only.
        """
        free = [table for table in self._sources if _key(table.ref) not in self._named and not table.metadata]
        used = {view: {fold(name) for name in table.columns} for view, table in self._unknown.items()}
        assigned = _assign_inputs(used, free) if len(used) == len(free) else {}
        return {
            view: Relation.from_table(_make_table(_key(assigned[view].ref), assigned[view]))
            if view in assigned
            else _together(free)
            for view in used
        }


def _assign_inputs(used: Mapping[str, set[str]], tables: Sequence[EventTable]) -> dict[str, EventTable]:
    """Return the input of each view; nothing unless all are certain."""
    known = {name for table in tables for name in map(fold, table.columns)}
    left, assigned = list(tables), dict[str, EventTable]()
    while left:
        fitting = {
            view: [table for table in left if _fits(columns, table, known)]
            for view, columns in used.items()
            if view not in assigned
        }
        certain = next(((view, fits[0]) for view, fits in fitting.items() if len(fits) == 1), None)
        if certain is None:
            return {}
        assigned[certain[0]] = certain[1]
        left.remove(certain[1])
    return assigned


def _fits(columns: set[str], table: EventTable, known: set[str]) -> bool:
    """Return whether a view with these columns may be of a table only; `known`: columns of any table."""
    own = {fold(name) for name in table.columns}
    return columns <= own if table.complete else columns & known <= own


def _together(tables: Sequence[EventTable]) -> Relation:
    """Return a relation with the columns of all tables; a name that several have has no origin."""
    owners = gather((fold(name), (table, name)) for table in tables for name in table.columns)
    items = [
        NamedColumn(
            of_name[0][1],
            column_value(SqlColumn(_key(of_name[0][0].ref), of_name[0][1]))
            if len(of_name) == 1
            else UNTRACED,
        )
        for of_name in owners.values()
    ]
    return Relation([*items, AllColumns(None)])


def _make_table(key: str, table: EventTable) -> KnownTable:
    columns = {fold(name): name for name in reversed(table.columns)}
    ordered = {fold(name): columns[fold(name)] for name in table.columns}
    return KnownTable(key, ordered, complete=table.complete, built=table.complete)


def _key(ref: Reference) -> str:
    return f"{ref.namespace}\n{ref.name}"


def _parts(table: exp.Table) -> tuple[str, ...]:
    return tuple(part.name for part in table.parts)

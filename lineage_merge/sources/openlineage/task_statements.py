"""Lineage of the SQL of Airflow's tasks (facet `sql`), statement by statement. Pure; needs sqlglot.

Airflow's provider gives each output the inputs of all statements, and the columns of all of them with the
names of the query, not of the table; it takes a column without a table's name to be one of the first table.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import NamedTuple

from sqlglot import Dialect, exp

from lineage_merge.column_lineage.scripts.elements import write_elements
from lineage_merge.column_lineage.scripts.results import FileLineage
from lineage_merge.column_lineage.scripts.script import Reader
from lineage_merge.column_lineage.scripts.shapes import Shape, ShapeColumn
from lineage_merge.column_lineage.scripts.statements import Unread
from lineage_merge.column_lineage.scripts.syntax import Call, Script, Unload, parse
from lineage_merge.column_lineage.scripts.variables import Variables
from lineage_merge.model.elements import Element, Feeds, JobKey, Reference
from lineage_merge.naming import REDSHIFT_DATA_API
from lineage_merge.naming.identifiers import join_name
from lineage_merge.sources.openlineage.airflow_tasks import Warehouse
from lineage_merge.sources.openlineage.datasets import reference, schema_fields
from lineage_merge.sources.openlineage.documents import Document
from lineage_merge.sources.openlineage.runs import DatasetKey, Run
from lineage_merge.sources.openlineage.statement_names import DatasetNames, names_of

# Schemes of OpenLineage's namespaces whose dialect has another name.
_DIALECTS = {
    "awsathena": "athena",
    "mssql": "tsql",
    "sqlserver": "tsql",
    REDSHIFT_DATA_API.removesuffix(":"): "redshift",
}
_WRITES = re.compile(
    r"\b(?:insert|create|merge|update|delete|copy|unload|replace|into|alter|drop)\b", re.IGNORECASE
)
# Comments and quoted names, which may contain quotes and digits; literals; numbers that are not in names.
_VARYING = re.compile(
    r"""(?P<fixed>--[^\n]*|\#[^\n]*|/\*.*?\*/|"[^"]*"|`[^`]*`|\[[\w\s.$-]+\]|(?P<dollars>\$\w*\$).*?(?P=dollars))
    |(?P<literal>'(?:[^']|'')*')|(?<![\w.$-])\d+(?![\w.$-])""",
    re.DOTALL | re.VERBOSE,
)
# Dialects without schemas in databases.
_TWO_LEVELS = ("mysql", "clickhouse")


@dataclass(frozen=True, slots=True)
class TaskWrites:
    """The elements of a task's writes to one dataset, and what of them is unknown."""

    elements: tuple[Element, ...]
    problems: tuple[str, ...] = ()


def task_writes(
    run: Run, query: str, target: DatasetKey, job: JobKey, sequence: int | None
) -> TaskWrites | None:
    """Return what a run's SQL writes to one of its outputs; None if no statement that can be read does.

    An input that no statement names, such as one that the task's code adds, feeds each output.
    """
    statements = _statements(run, query, job.name)
    if statements is None:
        return None
    tables = statements.tables
    writes = [write for write in statements.lineage.writes if write.target == tables.add(target)]
    if not writes:
        return None
    elements = [
        element for write in writes for element in write_elements(write, sequence, job, tables.references)
    ]
    shared = next((feeds.properties for feeds in elements if isinstance(feeds, Feeds)), {})
    elements += (
        Feeds(job, source, tables.references[writes[0].target], shared)
        for source in statements.list_unnamed_inputs(run)
    )
    lines = {write.line for write in writes}
    notes = [
        note.message
        for note in statements.lineage.notes
        if note.line in lines and note.kind in ("no-columns", "not-joined")
    ]
    return TaskWrites(tuple(elements), tuple(dict.fromkeys(notes)))


def with_written(run: Run, query: str) -> Run:
    """Return a run with the outputs of its statements.

    The provider leaves some out, such as the path of UNLOAD, and has tables that are then renamed or dropped.
    """
    warehouse = _warehouse(run)
    if not warehouse or not _WRITES.search(query):
        return run
    targets = _targets(_replace_values(query), warehouse, run.job["name"], _names(run))
    outputs = {key: document for key, document in run.outputs.items() if key not in targets.absent}
    return replace(run, outputs=dict(sorted({**_documents(targets.added), **outputs}.items())))


def _replace_values(query: str) -> str:
    """Return SQL with the same literals and numbers in all runs of a task, unless it has paths or escapes."""
    return query if ":/" in query or "\\" in query else _VARYING.sub(_replace_value, query)


def _replace_value(match: re.Match[str]) -> str:
    return match["fixed"] or ("''" if match["literal"] else "1")


class _Targets(NamedTuple):
    """What statements write and an event lacks, and its outputs that they rename or drop."""

    added: frozenset[Reference]
    absent: frozenset[DatasetKey]


@lru_cache(maxsize=1024)
def _targets(query: str, warehouse: str, application: str, known: "_Names") -> _Targets:
    """Compare the targets of SQL with the outputs of its event; runs of a task differ in literals only."""
    statements = _read(query, warehouse, application, known, ())
    tables = statements.tables
    outputs = {key: tables.add(key) for key, _, is_output in known if is_output}
    targets = {write.target for write in statements.lineage.writes}
    absent = (statements.lineage.dropped | statements.lineage.renamed.keys()) - targets
    return _Targets(
        frozenset(tables.references[target] for target in targets.difference(outputs.values())),
        frozenset(key for key, output in outputs.items() if output in absent),
    )


def with_tables(run: Run, query: str, warehouse: Warehouse) -> Run:
    """Return a run without datasets with those that its SQL reads and writes in a warehouse."""
    tables = WarehouseTables(warehouse)
    dialect = _dialect(warehouse.namespace)
    script = Reader(Dialect.get_or_raise(dialect), tables).read(_parse(query, dialect), {})
    inputs = {tables.references[key] for write in script.writes for key in write.reads}
    outputs = {tables.references[write.target] for write in script.writes}
    return replace(run, inputs=_documents(inputs), outputs=_documents(outputs))


@dataclass(frozen=True, slots=True)
class _Statements:
    """The SQL of a run, read with the datasets of its event."""

    script: Script
    lineage: FileLineage
    tables: "EventTables"

    def list_unnamed_inputs(self, run: Run) -> list[Reference]:
        """Return the run's inputs that no statement names.

        None if the statements do not account for the run: one cannot be read, or none writes an output.
        """
        trees = [statement.tree for statement in self.script.statements]
        written = {write.target for write in self.lineage.writes}
        if any(isinstance(tree, Unread | Call) for tree in trees) or not written.issuperset(
            map(self.tables.add, run.outputs)
        ):
            return []
        read = {key for write in self.lineage.writes for key in (write.target, *write.reads)}
        expressions = [tree.query if isinstance(tree, Unload) else tree for tree in trees]
        named = {
            self.tables.add(key)
            for tree in expressions
            if isinstance(tree, exp.Expr)
            for table in tree.find_all(exp.Table)
            for key in self.tables.matching([part.name for part in table.parts])
        }
        inputs = {self.tables.add(key) for key in run.inputs}
        return [self.tables.references[key] for key in sorted(inputs - read - named)]


_Names = tuple[tuple[DatasetKey, DatasetNames, bool], ...]


def _names(run: Run) -> _Names:
    """Return the datasets of an event with their names, and whether each is an output."""
    documents = {**run.inputs, **run.outputs}
    return tuple((key, names_of(*key, document), key in run.outputs) for key, document in documents.items())


def _warehouse(run: Run) -> str:
    """Return the namespace of the tables in a run's SQL, "" if no dataset of the event names it.

    Of an UNLOAD, only the sources are tables.
    """
    return next((key[0] for key in (*run.outputs, *run.inputs) if _dialect(key[0])), "")


def _statements(run: Run, query: str, application: str) -> _Statements | None:
    """Read the SQL of a run; None if no dataset of the event names a warehouse."""
    warehouse = _warehouse(run)
    if not warehouse:
        return None
    documents = {**run.inputs, **run.outputs}
    shapes = tuple((key, _shape(document)) for key, document in documents.items() if schema_fields(document))
    return _read(query, warehouse, application, _names(run), shapes)


def _read(
    query: str, warehouse: str, application: str, known: _Names, shapes: tuple[tuple[DatasetKey, Shape], ...]
) -> _Statements:
    dialect = _dialect(warehouse)
    script = _parse(query, dialect)
    tables = EventTables(warehouse, application, {key: names for key, names, _ in known})
    tables.learn_schema(script)
    of_key = {tables.add(key): shape for key, shape in shapes}
    lineage = Reader(Dialect.get_or_raise(dialect), tables).read(script, of_key)
    return _Statements(script, lineage, tables)


def _documents(refs: Iterable[Reference]) -> dict[DatasetKey, Document]:
    return {(ref.namespace, ref.name): {"namespace": ref.namespace, "name": ref.name} for ref in sorted(refs)}


def _dialect(namespace: str) -> str:
    """Return sqlglot's name of the dialect of a namespace, "" without one."""
    scheme = namespace.partition(":")[0].lower()
    name = _DIALECTS.get(scheme, scheme)
    return name if name and Dialect.get(name) else ""


@lru_cache(maxsize=256)
def _parse(query: str, dialect: str) -> Script:
    return parse("", query, Dialect.get_or_raise(dialect), {})


def _shape(dataset: Document) -> Shape:
    fields = schema_fields(dataset)
    columns = (ShapeColumn(str(field["name"]), str(field.get("type") or "")) for field in fields)
    return Shape(tuple(columns), complete=True, declared=True)


@dataclass(slots=True)
class WarehouseTables:
    """The datasets of SQL without an event's datasets. A name without a schema has an empty one."""

    warehouse: Warehouse
    references: dict[str, Reference] = field(default_factory=dict)

    def name_table(self, table: exp.Table, database: tuple[str, ...], variables: Variables) -> str | None:
        """Return the dataset of a table; None if its name has a variable or is incomplete.

        In Redshift, whose search path ends with `public`, the merge completes it.
        """
        namespace, name_of_database = self.warehouse
        scheme = _dialect(namespace)
        parts = [part.name for part in table.parts]
        if any(variables.occur_in(part) for part in parts):
            return None
        levels = 2 if scheme in _TWO_LEVELS else 3
        if name_of_database and len(parts) < 3:
            parts = [name_of_database, *([""] if len(parts) == 1 else []), *parts]
        is_complete = len(parts) >= levels and "" not in parts
        return (
            self._add(Reference(namespace, join_name(parts))) if is_complete or scheme == "redshift" else None
        )

    def name_path(self, path: str, variables: Variables) -> str | None:
        """Return the dataset of a path; None if it has a variable, or no file system."""
        return self._add(Reference("", path)) if ":/" in path and not variables.occur_in(path) else None

    def _add(self, ref: Reference) -> str:
        key = f"{ref.namespace}\n{ref.name}"
        self.references[key] = ref
        return key


@dataclass(slots=True)
class EventTables:
    """The datasets that a task's SQL names: those of its event, and tables that the event left out.

    A name without a schema is in that of the other names without one, without a database in the event's.
    """

    namespace: str
    application: str
    known: Mapping[DatasetKey, DatasetNames]
    references: dict[str, Reference] = field(default_factory=dict)
    _schema: tuple[str, ...] = ()

    def add(self, key: DatasetKey) -> str:
        """Return the key of a dataset, used while the script is read."""
        ref = reference(*key, self.application)
        name = f"{ref.namespace}\n{ref.name.rstrip('/')}"
        self.references[name] = ref
        return name

    def learn_schema(self, script: Script) -> None:
        """Learn database and schema of names without them, where the event's datasets leave no choice.

        A dataset with an empty schema is that of a name without one.
        """
        unqualified = {tuple(key[1].split(".")[:-1]) for key in self.known if ".." in key[1]}
        if len(unqualified) == 1:
            self._schema = unqualified.pop()
            return
        trees = [tree for statement in script.statements if isinstance(tree := statement.tree, exp.Expr)]
        tables = [table for tree in trees for table in tree.find_all(exp.Table)]
        matching = [
            self.matching([part.name for part in table.parts]) for table in tables if len(table.parts) == 1
        ]
        schemas = {tuple(keys[0][1].split(".")[:-1]) for keys in matching if len(keys) == 1}
        if len(schemas) == 1:
            self._schema = schemas.pop()

    def name_table(self, table: exp.Table, database: tuple[str, ...], variables: Variables) -> str | None:
        """Return the dataset of a table; None if its schema is unknown or its name has a variable."""
        parts = [part.name for part in table.parts]
        if any(variables.occur_in(part) for part in parts):
            return None
        matching = self.matching(parts)
        if len(matching) > 1 and len(parts) == 1 and self._schema:
            matching = [key for key in matching if tuple(key[1].split(".")[:-1]) == self._schema]
        if len(matching) == 1:
            return self.add(matching[0])
        levels = max((key[1].count(".") + 1 for key in self.known if key[0] == self.namespace), default=0)
        before = self._schema if len(parts) == 1 else self._databases()
        whole = [*before, *parts] if len(parts) < levels else parts
        return self.add((self.namespace, join_name(whole))) if len(whole) == levels and not matching else None

    def name_path(self, path: str, variables: Variables) -> str | None:
        """Return the dataset of a path; None if it has a variable, or no file system."""
        return self.add(("", path)) if ":/" in path and not variables.occur_in(path) else None

    def matching(self, parts: list[str]) -> list[DatasetKey]:
        """Return the event's datasets that a name in SQL may be of."""
        return [key for key, names in self.known.items() if names.has(parts)]

    def _databases(self) -> tuple[str, ...]:
        databases = {tuple(key[1].split(".")[:-2]) for key in self.known if key[0] == self.namespace}
        return databases.pop() if len(databases) == 1 else ()

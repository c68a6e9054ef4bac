"""Lineage of the SQL of Airflow's tasks (facet `sql`), statement by statement. Pure; needs sqlglot.

Airflow's provider gives each output the inputs of all statements, and the columns of all of them with the
names of the query, not of the table; it takes a column without a table's name to be one of the first table.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from sqlglot import Dialect, exp

from lineage_merge.column_lineage.scripts.elements import write_elements
from lineage_merge.column_lineage.scripts.script import Reader
from lineage_merge.column_lineage.scripts.shapes import Shape, ShapeColumn
from lineage_merge.column_lineage.scripts.syntax import Script, parse
from lineage_merge.column_lineage.scripts.variables import Variables
from lineage_merge.model.elements import Element, JobKey, Reference
from lineage_merge.naming.identifiers import join_name
from lineage_merge.sources.openlineage.datasets import reference, schema_fields
from lineage_merge.sources.openlineage.documents import Document
from lineage_merge.sources.openlineage.runs import DatasetKey, Run
from lineage_merge.sources.openlineage.statement_names import DatasetNames, names_of

# Schemes of OpenLineage's namespaces whose dialect has another name.
_DIALECTS = {"awsathena": "athena", "mssql": "tsql", "sqlserver": "tsql"}


@dataclass(frozen=True, slots=True)
class TaskWrites:
    """The elements of a task's writes to one dataset, and what of them is unknown."""

    elements: tuple[Element, ...]
    problems: tuple[str, ...] = ()


def task_writes(
    run: Run, query: str, target: DatasetKey, job: JobKey, sequence: int | None
) -> TaskWrites | None:
    """Return what a run's SQL writes to one of its outputs; None if no statement that can be read does."""
    scheme = target[0].partition(":")[0].lower()
    dialect = Dialect.get(_DIALECTS.get(scheme, scheme))
    if dialect is None:
        return None
    documents = {**run.inputs, **run.outputs}
    script = _parsed(query, _DIALECTS.get(scheme, scheme))
    tables = EventTables(target[0], job.name, {key: names_of(*key, each) for key, each in documents.items()})
    tables.learn_schema(script)
    shapes = {tables.add(key): _shape(each) for key, each in documents.items() if schema_fields(each)}
    found = Reader(dialect(), tables).read(script, shapes)
    writes = [write for write in found.writes if write.target == tables.add(target)]
    if not writes:
        return None
    elements = (
        element for write in writes for element in write_elements(write, sequence, job, tables.references)
    )
    lines = {write.line for write in writes}
    notes = [
        note.message
        for note in found.notes
        if note.line in lines and note.kind in ("no-columns", "not-joined")
    ]
    return TaskWrites(tuple(elements), tuple(dict.fromkeys(notes)))


@lru_cache(maxsize=256)
def _parsed(query: str, dialect: str) -> Script:
    return parse("", query, Dialect.get_or_raise(dialect), {})


def _shape(dataset: Document) -> Shape:
    fields = schema_fields(dataset)
    columns = (ShapeColumn(str(each["name"]), str(each.get("type") or "")) for each in fields)
    return Shape(tuple(columns), complete=True, declared=True)


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
        found = f"{ref.namespace}\n{ref.name}"
        self.references[found] = ref
        return found

    def learn_schema(self, script: Script) -> None:
        """Learn database and schema of names without them, where the event's datasets leave no choice."""
        trees = [each.tree for each in script.statements if isinstance(each.tree, exp.Expr)]
        tables = [table for tree in trees for table in tree.find_all(exp.Table)]
        matching = [
            self._matching([part.name for part in table.parts]) for table in tables if len(table.parts) == 1
        ]
        schemas = {tuple(keys[0][1].split(".")[:-1]) for keys in matching if len(keys) == 1}
        if len(schemas) == 1:
            self._schema = schemas.pop()

    def of_table(self, table: exp.Table, database: tuple[str, ...], variables: Variables) -> str | None:
        """Return the dataset of a table; None if its schema is unknown or its name has a variable."""
        parts = [part.name for part in table.parts]
        if any(variables.in_name(part) for part in parts):
            return None
        matching = self._matching(parts)
        if len(matching) > 1 and len(parts) == 1 and self._schema:
            matching = [key for key in matching if tuple(key[1].split(".")[:-1]) == self._schema]
        if len(matching) == 1:
            return self.add(matching[0])
        levels = max((key[1].count(".") + 1 for key in self.known if key[0] == self.namespace), default=0)
        before = self._schema if len(parts) == 1 else self._databases()
        whole = [*before, *parts] if len(parts) < levels else parts
        return self.add((self.namespace, join_name(whole))) if len(whole) == levels and not matching else None

    def of_path(self, path: str, variables: Variables) -> str | None:
        """Return the dataset of a path; None if it has a variable, or no file system."""
        return self.add(("", path)) if ":/" in path and not variables.in_name(path) else None

    def _matching(self, parts: list[str]) -> list[DatasetKey]:
        return [key for key, names in self.known.items() if names.has(parts)]

    def _databases(self) -> tuple[str, ...]:
        found = {tuple(key[1].split(".")[:-2]) for key in self.known if key[0] == self.namespace}
        return found.pop() if len(found) == 1 else ()

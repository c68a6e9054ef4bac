"""State of a file between its statements: names, tables, and how its queries are read. Pure."""

from collections import defaultdict
from collections.abc import Mapping, Set
from typing import NamedTuple

from sqlglot import Dialect, exp

from lineage_merge.column_lineage.scripts.clauses import find_used_database, is_value, literal_of, stage_of
from lineage_merge.column_lineage.scripts.datasets import Datasets, path_of_table
from lineage_merge.column_lineage.scripts.renames import follow_renames
from lineage_merge.column_lineage.scripts.results import Created, FileLineage
from lineage_merge.column_lineage.scripts.shapes import NOTHING, Shape, ShapeColumn, Shapes
from lineage_merge.column_lineage.scripts.syntax import Parsed, Script
from lineage_merge.column_lineage.scripts.temporaries import Temporaries, Temporary, find_dropped_again
from lineage_merge.column_lineage.scripts.writes import Note, Reads, Write
from lineage_merge.column_lineage.sql.names import PartOfTable, is_dual, part_of_table
from lineage_merge.column_lineage.sql.parsing import run_with_deep_stack
from lineage_merge.column_lineage.sql.platforms import platform_of
from lineage_merge.column_lineage.sql.query import Queries
from lineage_merge.column_lineage.sql.scope import Relation
from lineage_merge.column_lineage.sql.sql_values import SqlColumn, merge_columns
from lineage_merge.column_lineage.sql.tables import AllColumns, KnownTable, fold
from lineage_merge.column_lineage.sql.text import reason
from lineage_merge.model.elements import DatasetLabel

# Platforms that accept a SELECT with fewer columns than the table, whose RENAME TO has no schema, and whose
# temporary tables are in a schema of their session.
POSTGRES = frozenset({"postgres", "redshift", "materialize", "risingwave"})


class Target(NamedTuple):
    """What a statement writes: its table as named, its dataset if that is known, its temporary table."""

    table: exp.Table
    key: str | None
    temporary: Temporary | None


class FileState:
    """The state of a file between its statements: what names mean, how queries are read, what was found.

    `lineage` is what was found so far; `line`: where the statement begins. `asked`: the facts from other
    files that the interpretation depends on. `dropped_later`: tables treated as temporary.
    """

    def __init__(self, script: Script, dialect: Dialect, datasets: Datasets, shapes: Shapes) -> None:
        self.dialect = dialect
        self.platform = platform_of(dialect)
        self.variables = script.variables
        self.lineage = FileLineage(script.name)
        self.line = 0
        self.asked: dict[str, Shape | None] = {}
        self.temporaries = Temporaries()
        self._datasets = datasets
        self._shapes = shapes
        self._database: tuple[str, ...] = ()
        self.dropped_later = find_dropped_again(script, self.platform, self.find_key)
        self._tables: dict[str, KnownTable] = {}
        self._all_tables: list[KnownTable] = []
        self._notes: defaultdict[tuple[int, str], set[str]] = defaultdict(set)
        self._statement_variables: Set[str] = frozenset()
        # Snowflake: the path of each stage that the file creates, by folded name.
        self._stages: dict[str, str] = {}
        self._outcomes: list[tuple[Queries, Relation]] = []
        # Tables that the file itself creates, under their current names.
        self._own: dict[str, Shape] = {}
        # The types of their columns, with the shape that has them.
        self._types: dict[str, tuple[Shape, Mapping[str, str]]] = {}

    def start(self, statement: Parsed) -> None:
        """Go to a statement."""
        self.line = statement.line
        self._statement_variables = statement.variables
        self._tables = {}

    def finish(self) -> FileLineage:
        """Return what was found; after the last statement, all columns of tables are known."""
        follow_renames(self.lineage)
        for reader, relation in self._outcomes:
            self.lineage.read_columns |= reader.read_columns(relation)
        for table in self._all_tables:
            if not table.complete and table.columns:
                known = self.lineage.learned.setdefault(table.unique_id, [])
                known += [name for name in table.columns.values() if name not in known]
        for (line, what), names in self._notes.items():
            shown = ", ".join(sorted(name for name in names if name))
            self.lineage.notes.append(Note("no-columns", line, f"{what}: {shown}" if shown else what))
        return self.lineage

    def use_database(self, use: exp.Use) -> None:
        """Select the database of names without one."""
        self._database = find_used_database(use, self.platform) or self._database

    def find_key(self, table: exp.Table, database: tuple[str, ...] | None = None) -> str | None:
        """Return the dataset of a name in a database (None: the current one); None if it cannot be known."""
        used = self._database if database is None else database
        return self._datasets.name_table(table, used, self.variables)

    def find_target(self, node: exp.Expr) -> Target:
        """Return what a statement writes; a note if it is unknown. A branch of Iceberg's is its table."""
        table = node.find(exp.Table) if not isinstance(node, exp.Table) else node
        if table is None:
            raise ValueError("target without a name")
        part = part_of_table(table, self.platform)
        if part is not None and part.part == "rows" and self._is_part(table, part):
            part.table.set("partition", table.args.get("partition"))
            table = part.table
        key = self.find_key(table)
        target = Target(table, key, self.temporaries.find(table, key))
        if key is None and target.temporary is None:
            self._note_unknown(table)
        return target

    def _note_unknown(self, table: exp.Table) -> None:
        names = [part.name for part in table.parts]
        path = path_of_table(table)
        if path and not any(map(self.variables.occur_in, names)):
            problem = f"{path} is a path without a file system, so it names no dataset: write s3:// or file:"
        else:
            problem = f"{'.'.join(names)} has a variable in its name: set its value with --var"
        self.note("not-joined", problem)

    def find_temporary(self, table: exp.Table) -> Temporary | None:
        """Return the temporary table of a name."""
        return self.temporaries.find(table, self.find_key(table))

    def find_path(self, path: str) -> str | None:
        """Return the dataset of a path; None and a note if it cannot be known."""
        key = self._datasets.name_path(path, self.variables)
        if key is None:
            self.note("not-joined", f"{path} is a path with an unknown file system or folder")
        return key

    def add_stage(self, name: str, url: str) -> None:
        """Add a stage of Snowflake, which names a path."""
        self._stages[fold(name)] = url

    def find_stage(self, stage: str) -> str:
        """Return the path behind ``@stage/folder`` if the file creates the stage, else ""."""
        name, _, below = stage.removeprefix("@").partition("/")
        url = self._stages.get(fold(name.rpartition(".")[2]), "")
        return f"{url.rstrip('/')}/{below}" if url else ""

    def find_source(self, node: exp.Expr) -> str:
        """Return the path of files that are read, by a literal or a stage; "" and a note if it is unknown."""
        stage = stage_of(node)
        path = literal_of(node) or self.find_stage(stage)
        if stage and not path:
            self.note("not-joined", f"reads a stage whose location is unknown: {stage}")
        return path

    def note(self, kind: str, message: str) -> None:
        """Add a note on the statement, once."""
        note = Note(kind, self.line, message)  # type: ignore[arg-type]
        if note not in self.lineage.notes:
            self.lineage.notes.append(note)

    def note_columns(self, problem: str) -> None:
        """Add a note on unknown columns of the statement, if there is a problem."""
        if problem:
            self.note("no-columns", problem)

    def create(self, key: str, label: DatasetLabel, shape: Shape, location: str) -> None:
        """Add a table or view that has these columns from now on; `location`: its path, "" without one."""
        at = self.find_path(location) if location else None
        self._own[key] = shape
        self.lineage.created.append(Created(key, self.line, label, shape, at or ""))

    def add_write(self, write: Write, temporary: Temporary | None = None) -> None:
        """Add a write to a dataset; `temporary`: the table that takes its rows instead."""
        if temporary is not None:
            is_new = write.mode == "overwrite"
            temporary.add_rows(write.columns, write.rows, write.reads, overwrite=is_new)
        elif write.target:
            write.columns = merge_columns(write.columns)
            self.lineage.writes.append(write)

    def read_query(self, query: exp.Expr) -> tuple[Relation, Reads]:
        """Return the result of a query, and the datasets that it reads."""
        reads = Reads()
        line = self.line
        reader = Queries(
            self.dialect,
            lambda table: self._find_meaning(table, reads),
            lambda what, name: self._notes[line, what].add(name),
            variables=self._statement_variables,
            type_of=self._find_type,
        )
        try:
            relation = run_with_deep_stack(lambda: reader.read(query))
            self._outcomes.append((reader, relation))
        except Exception as error:  # noqa: BLE001 - a gap in reading columns costs the statement's columns
            self.note("no-columns", f"cannot read the columns: {reason(error, line)}")
            inner = {fold(cte.alias) for cte in query.find_all(exp.CTE)}
            for table in query.find_all(exp.Table):
                if table.args.get("db") or fold(table.name) not in inner:
                    self._find_meaning(table, reads)
            relation = Relation([AllColumns(None)])
        self.lineage.read.update(reads)
        return relation, reads

    def _find_meaning(self, table: exp.Table, reads: Reads) -> KnownTable | Relation | None:
        if is_value(table):
            return None
        part = part_of_table(table, self.platform)
        if part is not None and self._is_part(table, part):
            key = self.find_key(part.table)
            if key is None:
                self._note_unknown(part.table)
                return Relation([AllColumns(None)])
            reads.add(key, rows=part.part != "metadata")
            return part.relation(self.find_table(key))
        if stage_of(table) or literal_of(table):
            path = self.find_source(table)
            return self._read_dataset(self.find_path(path) if path else None, reads)
        if not isinstance(table.parts[-1], exp.Identifier):
            return None
        temporary = self.find_temporary(table)
        if temporary is not None:
            reads.include(temporary.reads, {temporary.name})
            return temporary.relation
        if table.name.startswith("@"):  # a parameter of T-SQL
            return Relation([AllColumns(None)])
        key = self.find_key(table)
        if is_dual(table) and (key is None or self.ask_shape(key) == NOTHING):
            return None
        if key is None:
            self._note_unknown(table)
        return self._read_dataset(key, reads)

    def _read_dataset(self, key: str | None, reads: Reads) -> KnownTable | Relation:
        if key is None:
            return Relation([AllColumns(None)])
        reads.add(key)
        return self.find_table(key)

    def _is_part(self, table: exp.Table, part: PartOfTable) -> bool:
        """Return whether a name is part of a table that is known, and not a table of its own."""
        if isinstance(table.this, exp.Anonymous):
            return True
        own, above = self.find_key(table), self.find_key(part.table)
        if own is not None and self.ask_shape(own).declared:
            return False
        return part.is_certain or (above is not None and self.ask_shape(above) != NOTHING)

    def find_table(self, key: str) -> KnownTable:
        """Return the table of a dataset, as the statement knows it."""
        if key not in self._tables:
            self._tables[key] = self.ask_shape(key).table(key)
            self._all_tables.append(self._tables[key])
        return self._tables[key]

    def _find_type(self, column: SqlColumn) -> str:
        shape = self.ask_shape(column.source)
        known = self._types.get(column.source)
        if known is None or known[0] is not shape:
            known = self._types[column.source] = (shape, shape.types())
        return known[1].get(fold(column.column), "")

    def find_shape(self, table: exp.Table) -> Shape:
        """Return the known columns of a table, or a temporary one."""
        temporary = self.find_temporary(table)
        if temporary is not None:
            names = [ShapeColumn(item.name) for item in temporary.relation.named]
            return Shape(tuple(names), temporary.relation.closed, True)
        key = self.find_key(table)
        return self.ask_shape(key) if key else NOTHING

    def ask_shape(self, key: str) -> Shape:
        """Return the known columns of a dataset; if they change, the file is read again."""
        shape = self.asked[key] = self._shapes.get(key)
        return shape or self._own.get(key, NOTHING)

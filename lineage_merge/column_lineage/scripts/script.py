"""Interpretation of one SQL file, statement by statement: its writes and their inputs. Pure.

Known columns of tables (`shapes`) come from all files together: `project` reads each file again until nothing
changes.
"""

from collections.abc import Callable, Mapping
from typing import Any

from sqlglot import Dialect, exp

from lineage_merge.column_lineage.scripts.clauses import is_ddl, literal_of, stage_of
from lineage_merge.column_lineage.scripts.context import FileState
from lineage_merge.column_lineage.scripts.datasets import Datasets
from lineage_merge.column_lineage.scripts.definitions import Definitions
from lineage_merge.column_lineage.scripts.files import Files
from lineage_merge.column_lineage.scripts.multiple_inserts import inserts_of
from lineage_merge.column_lineage.scripts.records import join_records, table_of_record
from lineage_merge.column_lineage.scripts.results import FileLineage
from lineage_merge.column_lineage.scripts.rows import Rows
from lineage_merge.column_lineage.scripts.shapes import Shape, Shapes
from lineage_merge.column_lineage.scripts.statements import Unread
from lineage_merge.column_lineage.scripts.syntax import Call, Moved, Parsed, Script, Tree, Unload
from lineage_merge.column_lineage.scripts.temporaries import Temporary
from lineage_merge.column_lineage.scripts.writes import LoadColumns
from lineage_merge.column_lineage.sql.platforms import TSQL
from lineage_merge.column_lineage.sql.returned_rows import parts_of
from lineage_merge.column_lineage.sql.text import reason


class Reader:
    """Reads files; a file is read again only if something it depends on has changed."""

    def __init__(
        self,
        dialect: Dialect,
        datasets: Datasets,
        *,
        assume_insert_names: bool = False,
        load_columns: LoadColumns | None = None,
    ) -> None:
        self.dialect = dialect
        self.datasets = datasets
        self._load_columns = load_columns
        self._assume_insert_names = assume_insert_names
        # Stored with the script, so that its id() is not reused.
        self._ddl: dict[int, tuple[Script, FileLineage]] = {}
        self._read: dict[int, tuple[Script, list[tuple[Mapping[str, Shape | None], FileLineage]]]] = {}

    def ddl(self, script: Script) -> FileLineage:
        """Return the tables that a file creates with a column list."""
        cached = self._ddl.get(id(script))
        if cached is None:
            statements = tuple(statement for statement in script.statements if is_ddl(statement.tree))
            only = Script(script.name, statements, script.variables)
            state = FileState(only, self.dialect, self.datasets, {})
            cached = (script, _FileReader(state, None, assume_insert_names=False).read(only))
            self._ddl[id(script)] = cached
        return cached[1]

    def read(self, script: Script, shapes: Shapes) -> FileLineage:
        """Read a file, with the known `shapes` of tables. The result must not be modified."""
        _, readings = self._read.setdefault(id(script), (script, []))
        for asked, reading_of in readings:
            if all(shapes.get(key) == shape for key, shape in asked.items()):
                return reading_of
        state = FileState(script, self.dialect, self.datasets, shapes)
        reader = _FileReader(state, self._load_columns, assume_insert_names=self._assume_insert_names)
        reading_of = reader.read(script)
        readings.append((state.asked, reading_of))
        return reading_of


class _FileReader:
    """Reads the statements of a file in order; each kind of statement has its reader."""

    def __init__(
        self, state: FileState, load_columns: LoadColumns | None, *, assume_insert_names: bool
    ) -> None:
        definitions = Definitions(state)
        self._state = state
        self._files = Files(state, load_columns)
        self._rows = Rows(state, self._files, assume_insert_names=assume_insert_names)
        self._records: set[str] = set()
        self._readers: dict[type[exp.Expr], Callable[[Any], None]] = {
            exp.Alter: definitions.alter,
            exp.Cache: definitions.cache,
            exp.Copy: self._files.copy,
            exp.Create: definitions.create,
            exp.Declare: definitions.declare,
            exp.Delete: self._rows.change,
            exp.Drop: definitions.drop,
            exp.Export: self._files.export,
            exp.Insert: self._rows.insert,
            exp.LoadData: self._files.load,
            exp.Merge: self._rows.change,
            exp.Query: definitions.select,
            exp.Update: self._rows.change,
            exp.Use: state.use_database,
        }

    def read(self, script: Script) -> FileLineage:
        """Return the lineage of the file."""
        for statement in script.statements:
            self._state.start(statement)
            try:
                self._read_statement(statement)
            except Exception as error:  # noqa: BLE001 - an unexpected tree loses only its statement
                self._state.note("rejected", f"cannot be interpreted: {reason(error, statement.line)}")
        return self._state.finish()

    def _read_statement(self, parsed: Parsed) -> None:
        if not isinstance(parsed.tree, exp.Expr):
            self._read_part(parsed.tree)
            return
        tree = join_records(parsed.tree, self._records & parsed.variables)
        if parsed.record and isinstance(tree, exp.Query):
            self._records.add(parsed.record)
            record = Temporary(parsed.record, *self._state.read_query(tree))
            self._state.temporaries.add(table_of_record(parsed.record), None, record)
            return
        for part in parts_of(tree, self._find_columns, by_name=self._state.platform in TSQL):
            self._read_part(part)

    def _find_columns(self, table: exp.Table) -> tuple[list[str], bool]:
        shape = self._state.find_shape(table)
        return shape.names, shape.complete

    def _read_part(self, tree: Tree) -> None:
        match tree:
            case Unread(why, is_broken):
                self._state.note("rejected" if is_broken else "skipped", why)
            case Unload(query, path):
                self._files.write_path(query, path, "overwrite")
            case Moved(target, source):
                self._rows.move(target, source)
            case Call(name):
                self._state.lineage.calls.append((self._state.line, name))
            case exp.Copy(this=target, args={"kind": True, "files": [exp.Subquery(this=query)]}) if (
                isinstance(target.find(exp.Table), exp.Table) and not (literal_of(target) or stage_of(target))
            ):
                self._rows.insert(exp.Insert(this=target, expression=query))
            case exp.MultitableInserts():
                for insert in inserts_of(tree):
                    self._rows.insert(insert)
            case exp.TruncateTable():
                for table in tree.expressions:
                    self._rows.empty(table)
            case _:
                readers = (read for kind, read in self._readers.items() if isinstance(tree, kind))
                if (read := next(readers, None)) is not None:
                    read(tree)
                else:
                    self._state.note("skipped", f"unsupported statement: {tree.key.upper()}")

"""Interpretation of one SQL file, statement by statement: its writes and their inputs. Pure.

Known columns of tables (`shapes`) come from all files together: `project` reads each file again until nothing
changes.
"""

from collections.abc import Iterable, Mapping

from sqlglot import Dialect, exp

from lineage_merge.column_lineage.scripts.clauses import is_ddl, literal_of, stage_of, used_database
from lineage_merge.column_lineage.scripts.context import POSTGRES
from lineage_merge.column_lineage.scripts.datasets import Datasets
from lineage_merge.column_lineage.scripts.files import Files
from lineage_merge.column_lineage.scripts.multiple_inserts import inserts_of
from lineage_merge.column_lineage.scripts.records import table_of_record, with_records
from lineage_merge.column_lineage.scripts.renames import follow_renames
from lineage_merge.column_lineage.scripts.results import Created, FileLineage
from lineage_merge.column_lineage.scripts.shapes import NOTHING, Shape, Shapes
from lineage_merge.column_lineage.scripts.statements import Unread
from lineage_merge.column_lineage.scripts.syntax import Call, Moved, Parsed, Script, Tree, Unload
from lineage_merge.column_lineage.scripts.temporaries import Temporary
from lineage_merge.column_lineage.scripts.writes import LoadColumns, Mode, Note, Reads, Write
from lineage_merge.column_lineage.sql import notes, row_changes
from lineage_merge.column_lineage.sql.derivation import (
    Columns,
    influences_of,
    merge_columns,
    merge_influences,
)
from lineage_merge.column_lineage.sql.platforms import TSQL
from lineage_merge.column_lineage.sql.returned_rows import parts_of
from lineage_merge.column_lineage.sql.scope import Relation
from lineage_merge.column_lineage.sql.tables import fold
from lineage_merge.column_lineage.sql.targets import by_name, by_position, with_partition_columns
from lineage_merge.column_lineage.sql.text import reason
from lineage_merge.column_lineage.transformations import InfluenceKind

# The missing levels of a new name are those of the old one.
_RENAMES_IN_PLACE = POSTGRES | {"databricks", "spark", "spark2"}


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
            cached = (script, _Reading(only, self.dialect, self.datasets, {}).whole())
            self._ddl[id(script)] = cached
        return cached[1]

    def read(self, script: Script, shapes: Shapes) -> FileLineage:
        """Read a file, with the known `shapes` of tables. The result must not be modified."""
        _, readings = self._read.setdefault(id(script), (script, []))
        for asked, reading_of in readings:
            if all(shapes.get(key) == shape for key, shape in asked.items()):
                return reading_of
        reading = _Reading(
            script,
            self.dialect,
            self.datasets,
            shapes,
            assume_insert_names=self._assume_insert_names,
            load_columns=self._load_columns,
        )
        reading_of = reading.whole()
        readings.append((reading.asked, reading_of))
        return reading_of


class _Reading(Files):
    """Reads the statements of a file in order."""

    def whole(self) -> FileLineage:
        for statement in self._script.statements:
            self._line = statement.line
            self._variables = statement.variables
            self._tables = {}
            try:
                self._statement(statement)
            except Exception as error:  # noqa: BLE001 - an unexpected tree loses only its statement
                self._note("rejected", f"cannot be interpreted: {reason(error, statement.line)}")
        file_lineage = self._found
        follow_renames(file_lineage)
        for reader, relation in self._outcomes:  # now all columns of tables are known
            file_lineage.read_columns |= reader.read_origins(relation)
        for table in self._all_tables:
            if not table.complete and table.columns:
                known = file_lineage.learned.setdefault(table.unique_id, [])
                known += [name for name in table.columns.values() if name not in known]
        for (line, what), names in self._notes.items():
            shown = ", ".join(sorted(name for name in names if name))
            file_lineage.notes.append(Note("no-columns", line, f"{what}: {shown}" if shown else what))
        return file_lineage

    def _statement(self, parsed: Parsed) -> None:
        tree = parsed.tree
        if isinstance(tree, exp.Expr):
            tree = with_records(tree, self._records & parsed.variables)
        if parsed.record and isinstance(tree, exp.Query):
            self._records.add(parsed.record)
            self._temporaries.add(
                table_of_record(parsed.record), None, Temporary(parsed.record, *self._outcome(tree))
            )
            return
        if isinstance(tree, exp.Expr):
            parts = parts_of(tree, self._columns_of, by_name=self._platform in TSQL)
            for part in parts:
                self._part(part)
        else:
            self._part(tree)

    def _columns_of(self, table: exp.Table) -> tuple[list[str], bool]:
        shape = self._shape_of(table)
        return shape.names, shape.complete

    def _part(self, tree: Tree) -> None:
        match tree:
            case Unread(why, is_broken):
                self._note("rejected" if is_broken else "skipped", why)
            case Unload(query, path):
                self._into_path(query, path, "overwrite")
            case Moved(target, source):
                self._move(target, source)
            case Call(name):
                self._found.calls.append((self._line, name))
            case exp.Use():
                self._database = used_database(tree, self._platform) or self._database
            case exp.Create():
                self._create(tree)
            case exp.Cache():
                if tree.expression is not None:
                    self._add_temporary(tree.this, *self._outcome(tree.expression))
            case exp.Insert():
                self._insert(tree)
            case exp.MultitableInserts():
                self._several(tree)
            case exp.Merge() | exp.Update() | exp.Delete():
                self._change(tree)
            case exp.Declare():
                self._declare(tree)
            case exp.Copy(this=target, args={"kind": True, "files": [exp.Subquery(this=query)]}) if (
                isinstance(target.find(exp.Table), exp.Table)
                and not literal_of(target)
                and not stage_of(target)
            ):
                self._insert(exp.Insert(this=target, expression=query))
            case exp.Copy():
                self._copy(tree)
            case exp.LoadData():
                self._load(tree)
            case exp.Export():
                self._export(tree)
            case exp.Alter():
                self._alter(tree)
            case exp.Drop():
                self._drop(tree)
            case exp.TruncateTable():
                for table in tree.expressions:
                    self._empty(table)
            case exp.Query():
                self._query(tree)
            case _:
                self._note("skipped", f"unsupported statement: {tree.key.upper()}")

    def _query(self, query: exp.Query) -> None:
        into = query.args.get("into")
        relation, reads = self._outcome(query)
        if into is None:
            return
        if into.args.get("temporary") or self._is_temporary(into.this):
            self._add_temporary(into.this, relation, reads)
        else:
            self._build(into.this, relation, reads, "table")

    # ---- INSERT

    def _insert(self, insert: exp.Insert) -> None:
        query = insert.expression or insert.args.get("source")
        if not isinstance(query, exp.Expr):
            if not insert.args.get("default"):
                self._note("skipped", "unsupported statement: INSERT without a query")
            return
        replaces = insert.args.get("overwrite") or insert.args.get("where") is not None
        mode: Mode = "overwrite" if replaces else "append"
        if isinstance(insert.this, exp.Directory):
            path = insert.this.this.name
            is_local = insert.this.args.get("local") and ":" not in path
            self._into_path(query, f"file:{path}" if is_local else path, mode)
            return
        listed = insert.this.expressions if isinstance(insert.this, exp.Schema) else []
        if not isinstance(insert.this, exp.Table | exp.Schema) or any(
            isinstance(part, exp.Literal) for part in listed
        ):
            self._into_function(query, insert.this, mode)
            return
        relation, reads = self._outcome(query)
        table, key = self._named(insert.this)
        temporary = self._temporary(table)
        if temporary is None and key is None:
            return
        columns, assumed = self._assigned(insert, relation, [expression.name for expression in listed], table)
        influences = relation.influences
        if insert.args.get("conflict") is not None or insert.args.get("alternative"):
            changed = self._upsert(insert, columns, reads, key or "")
            columns = [*columns, *changed.columns]
            influences = merge_influences([influences, changed.influences])
        if temporary is not None:
            temporary.add_rows(columns, influences, reads, overwrite=mode == "overwrite")
        elif key is not None:
            merged = merge_columns(columns)
            write = Write(key, self._line, mode, None, reads, merged, influences, assumed=assumed)
            self._found.writes.append(write)

    def _upsert(
        self, insert: exp.Insert, columns: Columns, reads: Reads, key: str
    ) -> row_changes.ChangedColumns:
        """Return what an INSERT changes of rows that exist, and the columns of the keys that find them."""
        table = insert.find(exp.Table)
        shape = NOTHING if table is None else self._shape_of(table)
        conflict = insert.args.get("conflict")
        update = row_changes.update_of_upsert(insert, [name for name, _ in columns])
        changed = row_changes.ChangedColumns()
        if update is not None:
            relation, of_update = self._outcome(update.query)
            changed = row_changes.changed_columns(
                [(update, relation)], shape.names, key, complete=shape.complete
            )
            reads.include(of_update)
            if not changed.reads(key):
                reads.pop(key, None)
        given = conflict.args.get("conflict_keys") if conflict is not None else None
        keys = {fold(part.this.name if isinstance(part, exp.Ordered) else part.name) for part in given or ()}
        keys = keys or {fold(name) for name in shape.keys}
        by_key = (origin for name, made in columns if fold(name) in keys for origin in made)
        influences = merge_influences([changed.influences, influences_of(by_key, InfluenceKind.JOIN)])
        changed.influences = {o: kinds for o, kinds in influences.items() if o.dataset != key}
        return changed

    def _assigned(
        self, insert: exp.Insert, relation: Relation, given: list[str], table: exp.Table
    ) -> tuple[Columns, bool]:
        """Return the columns that an INSERT fills, and whether their names are assumed."""
        assumed = False
        shape = self._shape_of(table)
        partition = table.args.get("partition")
        partitions = partition.expressions if partition is not None else ()
        if insert.args.get("by_name"):
            columns, problem = by_name(relation, shape.names)
        elif given or shape.complete:
            fixed = {fold(part.this.name) for part in partitions if isinstance(part, exp.EQ)}
            names = given or [name for name in shape.names if fold(name) not in fixed]
            columns, problem = by_position(
                relation, names, may_be_fewer=not given and self._platform in POSTGRES
            )
        else:
            dynamic = [part.name for part in partitions if not isinstance(part, exp.EQ)]
            relation, columns = with_partition_columns(relation, dynamic)
            problem = ""
            derived = [item for item in relation.named if item.derivation]
            if self._assume_insert_names and self._temporary(table) is None:
                columns, problem = by_name(relation, shape.names)
                assumed = bool(columns)
                if not all(item.name for item in derived):
                    self._note("no-columns", notes.UNNAMED_COLUMNS)
            elif derived or relation.stars:
                name = ".".join(part.name for part in table.parts)
                problem = f"{notes.UNKNOWN_POSITIONS}, but those of {name} are unknown"
        if problem:
            self._note("no-columns", problem)
        return columns, assumed

    def _several(self, inserts: exp.MultitableInserts) -> None:
        """Read Hive's ``FROM ... INSERT ... INSERT ...``, and INSERT ALL of Oracle and Snowflake."""
        for insert in inserts_of(inserts):
            self._insert(insert)

    def _move(self, target: exp.Table, source: exp.Table) -> None:
        relation, reads = self._outcome(source)
        _, key = self._named(target)
        if key is not None:
            columns, _ = by_name(relation, self._known(key).names)
            self._found.writes.append(Write(key, self._line, "append", None, reads, merge_columns(columns)))

    # ---- existing rows

    def _change(self, tree: exp.Expr) -> None:
        if isinstance(tree, exp.Delete) and not (tree.args.get("where") or tree.args.get("using")):
            self._empty(tree.this or next(iter(tree.args.get("tables") or ()), tree))
        by_target: dict[exp.Expr, list[row_changes.Change]] = {}
        for change in row_changes.changes_of(tree, by_name=self._platform in TSQL):
            by_target.setdefault(change.target, []).append(change)
        for target, changes_of_target in by_target.items():
            self._change_table(target, changes_of_target, row_changes.operation_of(tree) or "")

    def _change_table(self, target: exp.Expr, changes: Iterable[row_changes.Change], mode: Mode) -> None:
        table, key = self._named(target)
        temporary = self._temporary(table)
        if temporary is None and key is None:
            return
        reads = Reads()
        outcomes = []
        for change in changes:
            relation, of_change = self._outcome(change.query)
            outcomes.append((change, relation))
            reads.include(of_change)
        shape = self._shape_of(table)
        changed = row_changes.changed_columns(outcomes, shape.names, key or "", complete=shape.complete)
        for problem in changed.problems:
            self._note("no-columns", problem)
        if temporary is not None:
            temporary.add_rows(changed.columns, changed.influences, reads, overwrite=False)
        elif key is not None:
            if not changed.reads(key):
                reads.pop(key, None)
            influences = {o: kinds for o, kinds in changed.influences.items() if o.dataset != key}
            self._found.writes.append(Write(key, self._line, mode, None, reads, changed.columns, influences))

    def _empty(self, table: exp.Expr) -> None:
        """Remove the rows of a temporary table."""
        temporary = self._temporary(table) if isinstance(table, exp.Table) else None
        if temporary is not None:
            temporary.add_rows([], {}, Reads(), overwrite=True)

    # ---- ALTER, DROP

    def _alter(self, alter: exp.Alter) -> None:
        table, key = alter.this, self._key(alter.this)
        for action in alter.args.get("actions") or ():
            if isinstance(action, exp.AlterRename):
                self._rename(table, action.this)
            elif isinstance(action, exp.SwapTable):
                self._rename(table, action.this)
                self._rename(action.this, table)
            elif isinstance(action, exp.AlterSet) and isinstance(action.args.get("location"), exp.Expr):
                at = self._path(action.args["location"].name)
                if key and at and not table.args.get("partition"):
                    self._found.created.append(Created(key, self._line, "table", NOTHING, at))
            elif key is not None:
                self._found.altered.append((key, action))

    def _rename(self, old: exp.Table, new: exp.Table) -> None:
        temporary = self._temporary(old)
        missing = len(old.parts) - len(new.parts)
        if missing > 0 and self._platform in _RENAMES_IN_PLACE:
            parts = [part.copy() for part in (*old.parts[:missing], *new.parts)]
            new = exp.Table(**dict(zip(("this", "db", "catalog"), reversed(parts), strict=False)))
        if temporary is not None:
            self._temporaries.add(new, self._key(new), temporary)
            return
        before, after = self._key(old), self._key(new)
        if before and after:
            self._found.renamed[before] = after

    def _drop(self, drop: exp.Drop) -> None:
        if drop.kind not in ("TABLE", "VIEW", "MATERIALIZED VIEW"):
            return
        for table in drop.args.get("tables") or ():
            key = self._key(table)
            is_temporary = self._temporaries.drop(table, key) and key not in self._dropped_later
            if not is_temporary and key is not None:
                self._found.dropped.add(key)

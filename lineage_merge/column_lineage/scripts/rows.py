"""Statements that add rows to tables or change them: INSERT, MERGE, UPDATE, DELETE. Pure."""

from collections.abc import Iterable

from sqlglot import exp

from lineage_merge.column_lineage.scripts.context import POSTGRES, FileState, Target
from lineage_merge.column_lineage.scripts.files import Files
from lineage_merge.column_lineage.scripts.shapes import NOTHING
from lineage_merge.column_lineage.scripts.writes import Mode, Reads, Write
from lineage_merge.column_lineage.sql import notes, row_changes
from lineage_merge.column_lineage.sql.platforms import TSQL
from lineage_merge.column_lineage.sql.scope import Relation
from lineage_merge.column_lineage.sql.sql_values import Columns, SqlRows
from lineage_merge.column_lineage.sql.tables import fold
from lineage_merge.column_lineage.sql.targets import match_by_name, match_by_position, name_partition_columns
from lineage_merge.column_lineage.transformations import InfluenceKind
from lineage_merge.column_lineage.value_graph import has_origin


class Rows:
    """Reads the statements of a file that write the rows of tables; INSERT may write `files` instead."""

    def __init__(self, state: FileState, files: Files, *, assume_insert_names: bool) -> None:
        self._state = state
        self._files = files
        self._assume_insert_names = assume_insert_names

    def insert(self, insert: exp.Insert) -> None:
        """Read an INSERT into a table, a folder or a function."""
        query = insert.expression or insert.args.get("source")
        if not isinstance(query, exp.Expr):
            if not insert.args.get("default"):
                self._state.note("skipped", "unsupported statement: INSERT without a query")
            return
        replaces = insert.args.get("overwrite") or insert.args.get("where") is not None
        mode: Mode = "overwrite" if replaces else "append"
        if isinstance(insert.this, exp.Directory):
            path = insert.this.this.name
            is_local = insert.this.args.get("local") and ":" not in path
            self._files.write_path(query, f"file:{path}" if is_local else path, mode)
            return
        listed = insert.this.expressions if isinstance(insert.this, exp.Schema) else []
        is_table = isinstance(insert.this, exp.Table | exp.Schema)
        if not is_table or any(isinstance(part, exp.Literal) for part in listed):
            self._files.write_function(query, insert.this, mode)
            return
        relation, reads = self._state.read_query(query)
        target = self._state.find_target(insert.this)
        if target.key is None and target.temporary is None:
            return
        key, line = target.key or "", self._state.line
        columns, assumed = self._assign(insert, relation, [part.name for part in listed], target)
        rows, changed_key = relation.rows, ""
        if insert.args.get("conflict") is not None or insert.args.get("alternative"):
            changed = self._upsert(insert, columns, reads, key)
            columns = [*columns, *changed.columns]
            rows, changed_key = SqlRows(of=(rows, changed.rows)), key
        write = Write(key, line, mode, None, reads, columns, rows, assumed=assumed, changed=changed_key)
        self._state.add_write(write, target.temporary)

    def _upsert(
        self, insert: exp.Insert, columns: Columns, reads: Reads, key: str
    ) -> row_changes.ChangedColumns:
        """Return what an INSERT changes of rows that exist, and the columns of the keys that find them."""
        table = insert.find(exp.Table)
        shape = NOTHING if table is None else self._state.find_shape(table)
        conflict = insert.args.get("conflict")
        update = row_changes.update_of_upsert(insert, [name for name, _ in columns])
        changed = row_changes.ChangedColumns()
        if update is not None:
            relation, of_update = self._state.read_query(update.query)
            outcome = [(update, relation)]
            changed = row_changes.collect_changes(outcome, shape.names, complete=shape.complete)
            reads.include(of_update)
            if not changed.reads(key):
                reads.pop(key, None)
        given = conflict.args.get("conflict_keys") if conflict is not None else None
        keys = {fold(part.this.name if isinstance(part, exp.Ordered) else part.name) for part in given or ()}
        keys = keys or {fold(name) for name in shape.keys}
        changed.rows.add(InfluenceKind.JOIN, *(value for name, value in columns if fold(name) in keys))
        return changed

    def _assign(
        self, insert: exp.Insert, relation: Relation, given: list[str], target: Target
    ) -> tuple[Columns, bool]:
        """Return the columns that an INSERT fills, and whether their names are assumed."""
        assumed = False
        shape = self._state.find_shape(target.table)
        partition = target.table.args.get("partition")
        partitions = partition.expressions if partition is not None else ()
        if insert.args.get("by_name"):
            columns, problem = match_by_name(relation, shape.names)
        elif given or shape.complete:
            fixed = {fold(part.this.name) for part in partitions if isinstance(part, exp.EQ)}
            names = given or [name for name in shape.names if fold(name) not in fixed]
            may_be_fewer = not given and self._state.platform in POSTGRES
            columns, problem = match_by_position(relation, names, may_be_fewer=may_be_fewer)
        else:
            dynamic = [part.name for part in partitions if not isinstance(part, exp.EQ)]
            relation, columns = name_partition_columns(relation, dynamic)
            problem = ""
            derived = [item for item in relation.named if has_origin(item.value)]
            if self._assume_insert_names and target.temporary is None:
                columns, problem = match_by_name(relation, shape.names)
                assumed = bool(columns)
                if not all(item.name for item in derived):
                    self._state.note_columns(notes.UNNAMED_COLUMNS)
            elif derived or relation.stars:
                name = ".".join(part.name for part in target.table.parts)
                problem = f"{notes.UNKNOWN_POSITIONS}, but those of {name} are unknown"
        self._state.note_columns(problem)
        return columns, assumed

    def move(self, target: exp.Table, source: exp.Table) -> None:
        """Read a statement that moves rows between tables."""
        relation, reads = self._state.read_query(source)
        if (key := self._state.find_target(target).key) is not None:
            columns, _ = match_by_name(relation, self._state.ask_shape(key).names)
            self._state.add_write(Write(key, self._state.line, "append", None, reads, columns))

    def change(self, tree: exp.Expr) -> None:
        """Read a MERGE, UPDATE or DELETE."""
        if isinstance(tree, exp.Delete) and not (tree.args.get("where") or tree.args.get("using")):
            self.empty(tree.this or next(iter(tree.args.get("tables") or ()), tree))
        by_target: dict[exp.Expr, list[row_changes.Change]] = {}
        for change in row_changes.changes_of(tree, by_name=self._state.platform in TSQL):
            by_target.setdefault(change.target, []).append(change)
        for target, changes_of_target in by_target.items():
            self._change_table(target, changes_of_target, row_changes.operation_of(tree) or "")

    def _change_table(self, node: exp.Expr, changes: Iterable[row_changes.Change], mode: Mode) -> None:
        target = self._state.find_target(node)
        if target.key is None and target.temporary is None:
            return
        reads = Reads()
        outcomes = []
        for change in changes:
            relation, of_change = self._state.read_query(change.query)
            outcomes.append((change, relation))
            reads.include(of_change)
        shape, key = self._state.find_shape(target.table), target.key or ""
        changed = row_changes.collect_changes(outcomes, shape.names, complete=shape.complete)
        for problem in changed.problems:
            self._state.note_columns(problem)
        if target.temporary is None and not changed.reads(key):
            reads.pop(key, None)
        write = Write(key, self._state.line, mode, None, reads, changed.columns, changed.rows, changed=key)
        self._state.add_write(write, target.temporary)

    def empty(self, table: exp.Expr) -> None:
        """Remove the rows of a temporary table."""
        temporary = self._state.find_temporary(table) if isinstance(table, exp.Table) else None
        if temporary is not None:
            temporary.add_rows([], SqlRows(), Reads(), overwrite=True)

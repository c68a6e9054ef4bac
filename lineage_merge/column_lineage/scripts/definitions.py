"""CREATE, ALTER and DROP: persistent and temporary tables and views that a file defines. Pure."""

from sqlglot import exp

from lineage_merge.column_lineage.scripts.clauses import location_of, uris_of
from lineage_merge.column_lineage.scripts.context import POSTGRES, FileState
from lineage_merge.column_lineage.scripts.results import Created
from lineage_merge.column_lineage.scripts.shapes import NOTHING, Shape, ShapeColumn, columns_of, read_declared
from lineage_merge.column_lineage.scripts.temporaries import Temporary
from lineage_merge.column_lineage.scripts.writes import Mode, Read, Reads, Write
from lineage_merge.column_lineage.sql import notes
from lineage_merge.column_lineage.sql.scope import NamedColumn, Relation
from lineage_merge.column_lineage.sql.sql_values import UNTRACED, merge_columns
from lineage_merge.column_lineage.sql.struct_types import type_text
from lineage_merge.column_lineage.sql.tables import AllColumns
from lineage_merge.column_lineage.sql.targets import match_by_name
from lineage_merge.model.elements import DatasetLabel

# The missing levels of a new name are those of the old one.
_RENAMES_IN_PLACE = POSTGRES | {"databricks", "spark", "spark2"}


class Definitions:
    """Reads the statements of a file that create, alter and drop tables and views."""

    def __init__(self, state: FileState) -> None:
        self._state = state

    def create(self, create: exp.Create) -> None:
        """Read CREATE of a table, a view or a stage."""
        table = create.find(exp.Table)
        if table is None:
            return
        if create.kind == "STAGE":
            if url := uris_of(create.find_all(exp.Property), ("url",)):
                self._state.add_stage(table.name, url[0])
            return
        target = create.find(exp.ToTableProperty)
        if target is not None and isinstance(create.expression, exp.Query):
            self._feed_by_view(table, target.this, create.expression)
            return
        if create.find(exp.ExecuteAsProperty) is not None and create.expression is None:
            self._state.note("skipped", f"creates {table.name} of a prepared statement")
            return
        label: DatasetLabel = "view" if create.kind == "VIEW" else "table"
        location = location_of(create)
        is_temporary = create.find(exp.TemporaryProperty) is not None or self._is_temporary(table)
        listed = create.this.expressions if isinstance(create.this, exp.Schema) else []
        query, clone = create.expression, create.args.get("clone")
        if not isinstance(query, exp.Query | exp.Values | exp.Table):
            query = clone.this if clone is not None else None
        if query is not None:
            relation, reads = self._state.read_query(query)
            names = [part.name for part in listed if isinstance(part, exp.Identifier | exp.ColumnDef)]
            relation = relation.rename_columns(names) if names else relation
            if is_temporary:
                self._add_temporary(table, relation, reads)
            else:
                self._build(table, relation, reads, label, location)
            return
        columns = read_declared(create, self._state.dialect)
        like = create.find(exp.LikeProperty)
        shape = Shape(columns, complete=bool(columns), declared=bool(columns))
        if like is not None:
            model = like.this if isinstance(like.this, exp.Table) else exp.to_table(like.this.name)
            shape = self._state.find_shape(model).with_columns(columns)
        if is_temporary:
            self._add_empty_temporary(table, shape, location)
        elif (key := self._state.find_target(table).key) is not None:
            self._state.create(key, label, shape, location)

    def cache(self, cache: exp.Cache) -> None:
        """Read Spark's CACHE TABLE: with a query, it creates a temporary view."""
        if cache.expression is not None:
            self._add_temporary(cache.this, *self._state.read_query(cache.expression))

    def declare(self, declare: exp.Declare) -> None:
        """Add the table variables of T-SQL."""
        for item in declare.expressions:
            if isinstance(item.args.get("kind"), exp.Schema):
                columns = columns_of(item.args["kind"], self._state.dialect)
                shape = Shape(columns, complete=bool(columns), declared=True)
                for variable in item.this:
                    table = exp.Table(this=exp.to_identifier(f"@{variable.name}", quoted=True))
                    self._add_empty_temporary(table, shape, "")

    def select(self, query: exp.Query) -> None:
        """Read a query, and the table that its INTO creates."""
        into = query.args.get("into")
        relation, reads = self._state.read_query(query)
        if into is None:
            return
        if into.args.get("temporary") or self._is_temporary(into.this):
            self._add_temporary(into.this, relation, reads)
        else:
            self._build(into.this, relation, reads, "table", "")

    def alter(self, alter: exp.Alter) -> None:
        """Read an ALTER TABLE or VIEW."""
        table, key = alter.this, self._state.find_key(alter.this)
        for action in alter.args.get("actions") or ():
            if isinstance(action, exp.AlterRename):
                self._rename(table, action.this)
            elif isinstance(action, exp.SwapTable):
                self._rename(table, action.this)
                self._rename(action.this, table)
            elif isinstance(action, exp.AlterSet) and isinstance(action.args.get("location"), exp.Expr):
                at = self._state.find_path(action.args["location"].name)
                if key and at and not table.args.get("partition"):
                    self._state.lineage.created.append(Created(key, self._state.line, "table", NOTHING, at))
            elif key is not None:
                self._state.lineage.altered.append((key, action))

    def drop(self, drop: exp.Drop) -> None:
        """Read a DROP of tables or views."""
        if drop.kind not in ("TABLE", "VIEW", "MATERIALIZED VIEW"):
            return
        for table in drop.args.get("tables") or ():
            key = self._state.find_key(table)
            is_temporary = self._state.temporaries.drop(table, key) and key not in self._state.dropped_later
            if not is_temporary and key is not None:
                self._state.lineage.dropped.add(key)

    def _feed_by_view(self, view: exp.Table, target: exp.Table, query: exp.Query) -> None:
        """Read ClickHouse's materialized view with a target: it has no rows of its own."""
        relation, reads = self._state.read_query(query)
        if (key := self._state.find_target(target).key) is None:
            return
        columns, problem = match_by_name(relation, self._state.ask_shape(key).names)
        self._state.note_columns(problem)
        write = Write(key, self._state.line, "append", None, reads, columns, relation.rows)
        self._state.add_write(write)
        self._add_temporary(
            view, Relation.from_table(self._state.find_table(key)), Reads({key: Read(rows=True)})
        )

    def _is_temporary(self, table: exp.Table) -> bool:
        return table.name.startswith("#") or self._state.find_key(table) in self._state.dropped_later

    def _add_temporary(self, table: exp.Table, relation: Relation, reads: Reads) -> None:
        relation = Relation(list(relation.items), relation.rows, None, relation.rest)
        state = self._state
        key = state.find_key(table)
        if state.platform in POSTGRES and not table.args.get("db") and key not in state.dropped_later:
            key = None  # of its session, in a schema that no name has
        state.temporaries.add(table, key, Temporary(table.name, relation, reads))

    def _add_empty_temporary(self, table: exp.Table, shape: Shape, location: str) -> None:
        at = self._state.find_path(location) if location else None
        if at is None:
            relation = Relation([NamedColumn(name, UNTRACED) for name in shape.names] or [AllColumns(None)])
            self._add_temporary(table, relation, Reads())
            return
        self._state.lineage.read.add(at)
        files = self._state.find_table(at)
        named = [NamedColumn(name, files.read(name)) for name in shape.names if files.assume(name)]
        self._add_temporary(table, Relation([*named] or [AllColumns(files)]), Reads({at: Read(rows=True)}))

    def _build(
        self, table: exp.Table, relation: Relation, reads: Reads, label: DatasetLabel, location: str
    ) -> None:
        """Add a table or view with the columns of a query."""
        if (key := self._state.find_target(table).key) is None:
            return
        # Columns that others reference are queried only if needed: a file that queries them is read again.
        columns, problem = match_by_name(
            relation, () if relation.closed else self._state.ask_shape(key).names
        )
        self._state.note_columns(problem)
        names = [item.name for item in relation.named]
        closed = relation.closed and all(names)
        if relation.closed and not closed:
            self._state.note_columns(notes.UNNAMED_COLUMNS)
        built = merge_columns(columns)
        shape_columns = (ShapeColumn(name, built_type=type_text(value)) for name, value in built)
        self._state.create(key, label, Shape(tuple(shape_columns), closed, declared=True), location)
        mode: Mode = "" if label == "view" else "overwrite"
        self._state.add_write(Write(key, self._state.line, mode, label, reads, built, relation.rows))

    def _rename(self, old: exp.Table, new: exp.Table) -> None:
        temporary = self._state.find_temporary(old)
        missing = len(old.parts) - len(new.parts)
        if missing > 0 and self._state.platform in _RENAMES_IN_PLACE:
            parts = [part.copy() for part in (*old.parts[:missing], *new.parts)]
            new = exp.Table(**dict(zip(("this", "db", "catalog"), reversed(parts), strict=False)))
        if temporary is not None:
            self._state.temporaries.add(new, self._state.find_key(new), temporary)
            return
        before, after = self._state.find_key(old), self._state.find_key(new)
        if before and after:
            self._state.lineage.renamed[before] = after

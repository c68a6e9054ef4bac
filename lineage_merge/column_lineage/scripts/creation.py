"""CREATE TABLE and CREATE VIEW: persistent and temporary objects that a file creates. Pure."""

from sqlglot import exp

from lineage_merge.column_lineage.scripts.clauses import location_of, uris_of
from lineage_merge.column_lineage.scripts.context import POSTGRES, Context
from lineage_merge.column_lineage.scripts.shapes import Shape, ShapeColumn, columns_of, declared
from lineage_merge.column_lineage.scripts.temporaries import Temporary
from lineage_merge.column_lineage.scripts.writes import Mode, Reads, Write
from lineage_merge.column_lineage.sql import notes
from lineage_merge.column_lineage.sql.derivation import itself, merge_columns
from lineage_merge.column_lineage.sql.scope import NamedColumn, Relation
from lineage_merge.column_lineage.sql.struct_types import type_text
from lineage_merge.column_lineage.sql.tables import AllColumns, fold
from lineage_merge.column_lineage.sql.targets import by_name
from lineage_merge.model.elements import DatasetLabel


class Creation(Context):
    """Reads the statements of a file that create tables and views."""

    def _create(self, create: exp.Create) -> None:
        table = create.find(exp.Table)
        if table is None:
            return
        if create.kind == "STAGE":
            if url := uris_of(create.find_all(exp.Property), ("url",)):
                self._stages[fold(table.name)] = url[0]
            return
        target = create.find(exp.ToTableProperty)
        if target is not None and isinstance(create.expression, exp.Query):
            self._feed_by_view(table, target.this, create.expression)
            return
        if create.find(exp.ExecuteAsProperty) is not None and create.expression is None:
            self._note("skipped", f"creates {table.name} of a prepared statement")
            return
        label: DatasetLabel = "view" if create.kind == "VIEW" else "table"
        location = location_of(create)
        is_temporary = create.find(exp.TemporaryProperty) is not None or self._is_temporary(table)
        listed = create.this.expressions if isinstance(create.this, exp.Schema) else []
        if isinstance(create.expression, exp.Query | exp.Values | exp.Table):
            relation, reads = self._outcome(create.expression)
            names = [
                expression.name
                for expression in listed
                if isinstance(expression, exp.Identifier | exp.ColumnDef)
            ]
            relation = relation.renamed(names) if names else relation
            if is_temporary:
                self._add_temporary(table, relation, reads)
            else:
                self._build(table, relation, reads, label, location)
            return
        clone = create.args.get("clone")
        if clone is not None:
            relation, reads = self._outcome(clone.this)
            if is_temporary:
                self._add_temporary(table, relation, reads)
            else:
                self._build(table, relation, reads, label, location)
            return
        columns = declared(create, self._dialect)
        like = create.find(exp.LikeProperty)
        shape = Shape(columns, complete=bool(columns), declared=bool(columns))
        if like is not None:
            model = like.this if isinstance(like.this, exp.Table) else exp.to_table(like.this.name)
            shape = self._shape_of(model).added(columns)
        if is_temporary:
            self._add_empty_temporary(table, shape, location)
            return
        _, key = self._named(table)
        if key is not None:
            self._made(key, label, shape, location)

    def _feed_by_view(self, view: exp.Table, target: exp.Table, query: exp.Query) -> None:
        """Read ClickHouse's materialized view with a target: it has no rows of its own."""
        relation, reads = self._outcome(query)
        _, key = self._named(target)
        if key is None:
            return
        columns, problem = by_name(relation, self._known(key).names)
        if problem:
            self._note("no-columns", problem)
        self._found.writes.append(
            Write(key, self._line, "append", None, reads, merge_columns(columns), relation.influences)
        )
        of_target = Reads()
        of_target.add(key)
        self._add_temporary(view, Relation.of(self._table(key)), of_target)

    def _declare(self, declare: exp.Declare) -> None:
        """Add the table variables of T-SQL."""
        for item in declare.expressions:
            if isinstance(item.args.get("kind"), exp.Schema):
                columns = columns_of(item.args["kind"], self._dialect)
                shape = Shape(columns, complete=bool(columns), declared=True)
                for variable in item.this:
                    table = exp.Table(this=exp.to_identifier(f"@{variable.name}", quoted=True))
                    self._add_empty_temporary(table, shape, "")

    def _is_temporary(self, table: exp.Table) -> bool:
        return table.name.startswith("#") or self._key(table) in self._dropped_later

    def _add_temporary(self, table: exp.Table, relation: Relation, reads: Reads) -> None:
        relation = Relation(list(relation.items), relation.influences, None, relation.rest)
        key = self._key(table)
        if self._platform in POSTGRES and not table.args.get("db") and key not in self._dropped_later:
            key = None  # of its session, in a schema that no name has
        self._temporaries.add(table, key, Temporary(table.name, relation, reads))

    def _add_empty_temporary(self, table: exp.Table, shape: Shape, location: str) -> None:
        at = self._path(location) if location else None
        if at is None:
            relation = Relation([NamedColumn(name, {}) for name in shape.names] or [AllColumns(None)])
            self._add_temporary(table, relation, Reads())
            return
        self._found.read.add(at)
        files = self._table(at)
        named = [NamedColumn(name, itself(files.origin(name))) for name in shape.names if files.assume(name)]
        reads = Reads()
        reads.add(at)
        self._add_temporary(table, Relation([*named] or [AllColumns(files)]), reads)

    def _build(
        self,
        table: exp.Table,
        relation: Relation,
        reads: Reads,
        label: DatasetLabel,
        location: str = "",
    ) -> None:
        """Add a table or view with the columns of a query."""
        _, key = self._named(table)
        if key is None:
            return
        # Columns that others reference are queried only if needed: a file that queries them is read again.
        columns, problem = by_name(relation, () if relation.closed else self._known(key).names)
        if problem:
            self._note("no-columns", problem)
        names = [item.name for item in relation.named]
        closed = relation.closed and all(names)
        if relation.closed and not closed:
            self._note("no-columns", notes.UNNAMED_COLUMNS)
        built = merge_columns(columns)
        shape_columns = (ShapeColumn(name, built_type=type_text(derivation)) for name, derivation in built)
        shape = Shape(tuple(shape_columns), closed, declared=True)
        self._made(key, label, shape, location)
        mode: Mode = "" if label == "view" else "overwrite"
        self._found.writes.append(Write(key, self._line, mode, label, reads, built, relation.influences))

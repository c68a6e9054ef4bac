"""Known columns of tables, from DDL, queries or a graph. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from sqlglot import Dialect, exp

from lineage_merge.column_lineage.sql.tables import KnownTable, fold


@dataclass(frozen=True, slots=True)
class ShapeColumn:
    """A column; `data_type` and `description` are "" if unknown.

    `built_type`: of a structure that a query builds, whose parts may have unknown types. `is_key`: of a
    primary key or a unique constraint.
    """

    name: str
    data_type: str = ""
    description: str = ""
    built_type: str = ""
    is_key: bool = False


@dataclass(frozen=True, slots=True)
class Shape:
    """The columns of a table in order. `complete`: there are no others.

    `declared`: from a statement that creates or writes the table, not only from queries that read it.
    """

    columns: tuple[ShapeColumn, ...] = ()
    complete: bool = False
    declared: bool = False

    @property
    def names(self) -> list[str]:
        """Return the names of the columns."""
        return [column.name for column in self.columns]

    @property
    def keys(self) -> list[str]:
        """Return the names of the columns that identify a row, as far as constraints are known."""
        return [column.name for column in self.columns if column.is_key]

    def types(self) -> Mapping[str, str]:
        """Return the data types of the columns by folded name, "" for unknown ones."""
        return {fold(column.name): column.data_type or column.built_type for column in reversed(self.columns)}

    def table(self, key: str) -> KnownTable:
        """Return the table in the form that query analysis needs."""
        names = {fold(name): name for name in reversed(self.names)}
        columns = {fold(name): names[fold(name)] for name in self.names}
        return KnownTable(key, columns, complete=self.complete, built=self.complete)

    def with_columns(self, columns: Iterable[ShapeColumn]) -> "Shape":
        """Return the shape with columns appended."""
        known = {fold(name) for name in self.names}
        return replace(
            self, columns=(*self.columns, *(column for column in columns if fold(column.name) not in known))
        )

    def drop_column(self, name: str) -> "Shape":
        """Return the shape without a column."""
        return replace(
            self, columns=tuple(column for column in self.columns if fold(column.name) != fold(name))
        )

    def rename_column(self, old: str, new: str) -> "Shape":
        """Return the shape with a column renamed."""
        columns = (
            replace(column, name=new) if fold(column.name) == fold(old) else column for column in self.columns
        )
        return replace(self, columns=tuple(columns))


Shapes = Mapping[str, Shape]
NOTHING = Shape()
# Of a table that is only known to be written.
WRITTEN = Shape(declared=True)
# Formats whose tables retain the column order; in others, partition columns come last.
_KEEP_ORDER = frozenset({"iceberg", "delta", "hudi"})


def read_declared(create: exp.Create, dialect: Dialect) -> tuple[ShapeColumn, ...]:
    """Return the columns in a CREATE TABLE, including partition columns."""
    columns = list(columns_of(create.this, dialect))
    partitions: list[ShapeColumn] = []
    partitioned = create.find(exp.PartitionedByProperty)
    within = partitioned.this.expressions if partitioned and isinstance(partitioned.this, exp.Schema) else []
    for expression in within:
        if isinstance(expression, exp.ColumnDef):
            partitions.append(shape_column(expression, dialect))
        elif isinstance(expression, exp.Identifier) and not _keeps_order(create):
            named = [column for column in columns if fold(column.name) == fold(expression.name)]
            columns = [column for column in columns if column not in named]
            partitions += named
    return (*columns, *partitions)


def columns_of(schema: exp.Expr, dialect: Dialect) -> tuple[ShapeColumn, ...]:
    """Return the columns in a column list; none of another expression."""
    listed = schema.expressions if isinstance(schema, exp.Schema) else []
    columns = (shape_column(part, dialect) for part in listed if isinstance(part, exp.ColumnDef))
    keys = {fold(name.name) for part in listed for name in _key_columns(part)}
    return tuple(replace(column, is_key=True) if fold(column.name) in keys else column for column in columns)


def _key_columns(part: exp.Expr) -> list[exp.Expr]:
    """Return the columns that a part of a column list declares as a key."""
    if isinstance(part, exp.ColumnDef):
        return [part] if part.find(exp.PrimaryKeyColumnConstraint, exp.UniqueColumnConstraint) else []
    if isinstance(part, exp.Constraint):
        return [column for inner in part.expressions for column in _key_columns(inner)]
    if isinstance(part, exp.UniqueColumnConstraint):
        return list(part.this.expressions) if isinstance(part.this, exp.Schema) else []
    return list(part.expressions) if isinstance(part, exp.PrimaryKey) else []


def shape_column(column: exp.ColumnDef, dialect: Dialect) -> ShapeColumn:
    """Return a column of its definition."""
    kind = column.args.get("kind")
    comment = column.find(exp.CommentColumnConstraint)
    return ShapeColumn(
        column.name,
        kind.sql(dialect=dialect).lower() if isinstance(kind, exp.Expr) else "",
        comment.this.name if comment is not None else "",
    )


def _keeps_order(create: exp.Create) -> bool:
    form = create.find(exp.FileFormatProperty)
    return form is not None and form.name.lower() in _KEEP_ORDER


def alter_shape(shape: Shape, action: exp.Expr, dialect: Dialect) -> Shape:
    """Return the columns of a table after an ALTER TABLE."""
    if isinstance(action, exp.ColumnDef):
        return shape.with_columns([shape_column(action, dialect)])
    if isinstance(action, exp.Schema):
        return shape.with_columns(
            shape_column(expression, dialect)
            for expression in action.expressions
            if isinstance(expression, exp.ColumnDef)
        )
    if isinstance(action, exp.Drop) and action.kind == "COLUMN":
        for table in action.args.get("tables") or ():
            shape = shape.drop_column(table.name)
        return shape
    if isinstance(action, exp.RenameColumn):
        return shape.rename_column(action.this.name, action.args["to"].name)
    if isinstance(action, exp.AlterColumn) and isinstance(action.args.get("dtype"), exp.Expr):
        kind = action.args["dtype"].sql(dialect=dialect).lower()
        columns = (
            ShapeColumn(column.name, kind, column.description)
            if fold(column.name) == fold(action.this.name)
            else column
            for column in shape.columns
        )
        return Shape(tuple(columns), shape.complete, shape.declared)
    return shape

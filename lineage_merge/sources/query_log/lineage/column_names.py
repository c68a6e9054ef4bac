"""Columns that have other names after a statement, which is read with the old ones. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from lineage_merge.column_lineage.scripts.shapes import Shape, Shapes
from lineage_merge.column_lineage.scripts.writes import Write
from lineage_merge.column_lineage.sql.sql_values import SqlColumn
from lineage_merge.model.elements import FIELD
from lineage_merge.sources.query_log.lineage.names import LoggedTables
from lineage_merge.sources.query_log.statements.catalog import TableName


@dataclass(frozen=True, slots=True)
class ColumnNames:
    """The new names of columns, by dataset and folded old name."""

    new: Mapping[str, Mapping[str, str]]

    def restore(self, shapes: Shapes) -> Shapes:
        """Return the columns of tables under their old names."""
        old = ColumnNames({key: {new: old for old, new in names.items()} for key, names in self.new.items()})
        return {**shapes, **{key: old.shape(key, shapes[key]) for key in self.new if key in shapes}}

    def find(self, dataset: str, column: str) -> str:
        """Return the new name of a column, or of a field of one."""
        name, *fields = column.split(FIELD)
        return FIELD.join([self.new.get(dataset, {}).get(name.casefold(), name), *fields])

    def write(self, write: Write) -> Write:
        """Return a write with the new names."""
        columns = [(self.find(write.target, name), value) for name, value in write.columns]
        renamed = replace(write, columns=columns)
        renamed.rename(lambda column: SqlColumn(column.source, self.find(*column)))
        return renamed

    def shape(self, dataset: str, shape: Shape) -> Shape:
        """Return the columns of a dataset with the new names."""
        return replace(
            shape,
            columns=tuple(replace(column, name=self.find(dataset, column.name)) for column in shape.columns),
        )


def column_names(renamed: Iterable[tuple[TableName, str, str]], datasets: LoggedTables) -> ColumnNames | None:
    """Return the new names of columns, None if there are none."""
    new: dict[str, dict[str, str]] = {}
    for table, old, name in renamed:
        new.setdefault(datasets.find_key(table), {})[old] = name
    return ColumnNames(new) if new else None

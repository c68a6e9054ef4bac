"""All files below one root: the lineage of each, with the columns that the other files define. Pure."""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import Dialect

from lineage_merge.column_lineage.scripts.datasets import Datasets
from lineage_merge.column_lineage.scripts.results import FileLineage
from lineage_merge.column_lineage.scripts.script import Reader
from lineage_merge.column_lineage.scripts.shapes import (
    NOTHING,
    WRITTEN,
    Shape,
    ShapeColumn,
    Shapes,
    alter_shape,
)
from lineage_merge.column_lineage.scripts.syntax import Script
from lineage_merge.column_lineage.scripts.writes import Note
from lineage_merge.column_lineage.sql.tables import fold

# Columns known only through a chain of SELECT * are resolved one step per round.
_ROUNDS = 10


@dataclass(frozen=True, slots=True)
class ProjectLineage:
    """The lineage of the files, ordered by name, and the final columns of tables.

    `locations`: the path of each table whose DDL has one, by key.
    """

    files: tuple[FileLineage, ...]
    shapes: Shapes
    datasets: Datasets
    locations: Mapping[str, str] = field(default_factory=dict)

    def only(self, names: Container[str]) -> "ProjectLineage":
        """Return the lineage of some of the files, with the same knowledge of all."""
        return replace(self, files=tuple(file for file in self.files if file.name in names))


def read_project(
    scripts: Iterable[Script],
    reader: Reader,
    *,
    schema: Sequence[Script] = (),
    known: Shapes | None = None,
) -> ProjectLineage:
    """Read the lineage of all files. `schema`: files used only for their DDL; `known`: columns by key.

    Precedence: the files' own DDL, then `schema`, then `known`.
    """
    ordered = sorted(scripts, key=lambda script: script.name)
    # DDL is fast to read, and saves most files a second reading.
    tables = [reader.ddl(script) for script in ordered]
    shapes: Shapes = _shapes(tables, [reader.ddl(script) for script in schema], reader.dialect, known or {})
    for _ in range(_ROUNDS):
        files = [reader.read(script, shapes) for script in ordered]
        described = [reader.read(script, shapes) for script in schema]
        learned = _shapes(files, described, reader.dialect, known or {})
        if learned == shapes:
            break
        shapes = learned
    locations = {
        item.key: item.location for file in (*described, *files) for item in file.created if item.location
    }
    procedures = {name for file in (*ordered, *schema) for name in file.procedures}
    noted = tuple(_note_unknown_calls(file, procedures) for file in files)
    return ProjectLineage(noted, shapes, reader.datasets, locations)


def _note_unknown_calls(file: FileLineage, procedures: Container[str]) -> FileLineage:
    """Return a file with a note on each call of a procedure that no file defines."""
    unknown = [
        Note("skipped", line, f"calls {name}, which no file defines")
        for line, name in file.calls
        if fold(name.rpartition(".")[2].strip('"`[]')) not in procedures
    ]
    return replace(file, notes=[*file.notes, *unknown]) if unknown else file


def _shapes(
    files: Sequence[FileLineage], schema: Sequence[FileLineage], dialect: Dialect, known: Shapes
) -> dict[str, Shape]:
    shapes: dict[str, Shape] = {}
    for created in (created for file in (*files, *schema) for created in file.created):
        before = shapes.get(created.key)
        # Of several statements that create a table, one with complete columns takes precedence, then the
        # first.
        better = before is None or (created.shape.complete and not before.complete)
        if created.shape.declared and better:
            shapes[created.key] = _add_types(created.shape, before)
    for file in (*schema, *files):
        for key, action in file.altered:
            shapes[key] = alter_shape(shapes.get(key, NOTHING), action, dialect)
        for old, new in file.renamed.items():
            if old in shapes and new not in shapes:
                shapes[new] = shapes[old]
    for key, shape in known.items():
        shapes.setdefault(key, shape)
    for write in (write for file in files for write in file.writes):
        shapes.setdefault(write.target, WRITTEN)
    for file in files:
        for key, names in file.learned.items():
            shape = shapes.get(key, NOTHING)
            if not shape.complete:
                shapes[key] = shape.with_columns(ShapeColumn(name) for name in names)
    return shapes


def _add_types(shape: Shape, before: Shape | None) -> Shape:
    """Return a shape with types of the same columns from another one."""
    types = {column.name: column for column in before.columns} if before else {}
    columns = (
        types[column.name] if not column.data_type and column.name in types else column
        for column in shape.columns
    )
    return replace(shape, columns=tuple(columns))

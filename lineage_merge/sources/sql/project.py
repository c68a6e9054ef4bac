"""All files of one root together: what each does, knowing which columns the others give to tables. Pure."""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import Dialect

from lineage_merge.sources.sql.names import Datasets
from lineage_merge.sources.sql.results import FileLineage
from lineage_merge.sources.sql.script import Reader
from lineage_merge.sources.sql.shapes import NOTHING, Shape, ShapeColumn, Shapes, alter_shape
from lineage_merge.sources.sql.syntax import Script

# Columns that only a chain of SELECT * tells are learned a step a round.
_ROUNDS = 10


@dataclass(frozen=True, slots=True)
class ProjectLineage:
    """What the files do, in order of their names, and what is known of the tables in the end.

    `locations`: the path of each table whose DDL tells it, by key.
    """

    files: tuple[FileLineage, ...]
    shapes: Shapes
    datasets: Datasets
    locations: Mapping[str, str] = field(default_factory=dict)

    def only(self, names: Container[str]) -> "ProjectLineage":
        """What some of the files do, all of them being known."""
        return replace(self, files=tuple(each for each in self.files if each.name in names))


def read_project(
    scripts: Iterable[Script],
    reader: Reader,
    *,
    schema: Sequence[Script] = (),
    known: Shapes | None = None,
) -> ProjectLineage:
    """What all files do. `schema`: files whose DDL counts, and nothing else; `known`: columns by key.

    Who is asked first: the files' own DDL, then `schema`, then `known`.
    """
    ordered = sorted(scripts, key=lambda each: each.name)
    # What DDL alone tells is quickly known, and spares most files a second reading.
    tables = [reader.ddl(each) for each in ordered]
    shapes: Shapes = _shapes(tables, [reader.ddl(each) for each in schema], reader.dialect, known or {})
    for _ in range(_ROUNDS):
        files = [reader.read(each, shapes) for each in ordered]
        described = [reader.read(each, shapes) for each in schema]
        learned = _shapes(files, described, reader.dialect, known or {})
        if learned == shapes:
            break
        shapes = learned
    locations = {
        each.key: each.location for file in (*described, *files) for each in file.created if each.location
    }
    return ProjectLineage(tuple(files), shapes, reader.datasets, locations)


def _shapes(
    files: Sequence[FileLineage], schema: Sequence[FileLineage], dialect: Dialect, known: Shapes
) -> dict[str, Shape]:
    found: dict[str, Shape] = {}
    for each in (each for file in (*files, *schema) for each in file.created):
        before = found.get(each.key)
        # Of several that make a table the one counts that tells all columns, then the first.
        better = before is None or (each.shape.complete and not before.complete)
        if each.shape.declared and better:
            found[each.key] = _typed(each.shape, before)
    for file in (*schema, *files):
        for key, action in file.altered:
            found[key] = alter_shape(found.get(key, NOTHING), action, dialect)
        for old, new in file.renamed.items():
            if old in found and new not in found:
                found[new] = found[old]
    for key, shape in known.items():
        found.setdefault(key, shape)
    for file in files:
        for key, names in file.learned.items():
            shape = found.get(key, NOTHING)
            if not shape.complete:
                found[key] = shape.added(ShapeColumn(name) for name in names)
    return found


def _typed(shape: Shape, before: Shape | None) -> Shape:
    """A shape with the types that another one tells of the same columns."""
    types = {each.name: each for each in before.columns} if before else {}
    columns = (
        types[each.name] if not each.data_type and each.name in types else each for each in shape.columns
    )
    return replace(shape, columns=tuple(columns))

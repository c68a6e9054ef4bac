"""Lineage of a unit of statements. Pure but for JSONPaths files and manifests."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial

from sqlglot import Dialect, exp

from lineage_merge.column_lineage.scripts import copying
from lineage_merge.column_lineage.scripts.clauses import location_of
from lineage_merge.column_lineage.scripts.elements import column_of, write_elements
from lineage_merge.column_lineage.scripts.results import FileLineage
from lineage_merge.column_lineage.scripts.script import Reader
from lineage_merge.column_lineage.scripts.shapes import Shape, Shapes
from lineage_merge.column_lineage.scripts.statements import Unread
from lineage_merge.column_lineage.scripts.syntax import Moved, Parsed, Script, Tree, Unload, parse
from lineage_merge.column_lineage.scripts.variables import Variables
from lineage_merge.column_lineage.scripts.writes import Note, Write
from lineage_merge.model.elements import (
    Alias,
    Authority,
    Dataset,
    Element,
    JobKey,
    Problem,
    Reference,
    Scalar,
)
from lineage_merge.sources.query_log.lineage.column_names import column_names
from lineage_merge.sources.query_log.lineage.manifests import ManifestFiles
from lineage_merge.sources.query_log.lineage.names import LoggedTables
from lineage_merge.sources.query_log.statements.catalog import Catalog, ExternalTable
from lineage_merge.sources.query_log.statements.units import Unit

# Name of the rule on vertices and in reports: an external table and the path of its files are one dataset.
EXTERNAL_RULE = "external-table"
_FINGERPRINT = 8
_WORDS = 3
# Parts of a statement that reads or writes rows.
_WITH_ROWS = (exp.Query, exp.DML, exp.Values)
# A column of a PIVOT that is named after a value without a name, such as ``?`` or ``?_total``.
_UNNAMED = re.compile(r"'?\?")
_UNNAMED_COLUMNS = "PIVOT names columns after values that are not plain identifiers: name them with AS"


@dataclass(frozen=True, slots=True)
class Warehouse:
    """What is needed to interpret the statements of a log."""

    dialect: str
    namespace: str
    job_type: str
    resolve_id: Callable[[Reference], str]
    read_paths: copying.ReadPaths
    catalog: Catalog
    read_manifest: Callable[[str], ManifestFiles]


@dataclass(frozen=True, slots=True)
class Interpreted:
    """The lineage of a unit's statement; `unread`: why it, or one that it depends on, has none."""

    writes: tuple[Write, ...]
    created: Mapping[str, Shape]
    notes: tuple[Note, ...]
    datasets: LoggedTables
    unread: str = ""


def interpret(unit: Unit, warehouse: Warehouse, shapes: Shapes) -> Interpreted:
    """Return the lineage of a unit, with the known columns of tables."""
    datasets = _tables(unit, warehouse)
    names = column_names(unit.renamed_columns, datasets)
    if names is not None:
        shapes = names.restore(shapes)
    line = unit.target + 1
    notes: list[Note] = []
    statements = [
        _insert_files(replace(parsed, line=position), files, warehouse, notes)
        for position, (text, files) in enumerate(zip(unit.statements, unit.sources, strict=True), 1)
        for parsed in parse_statements(text, warehouse.dialect)
    ]
    load_columns = partial(copying.columns_of, warehouse.read_paths)
    script = Script("", tuple(statements), Variables())
    lineage = Reader(Dialect.get_or_raise(warehouse.dialect), datasets, load_columns=load_columns).read(
        script, shapes
    )
    reported = {note.message for note in notes}
    unread = next(
        (
            statement.tree.why
            for statement in statements
            if isinstance(statement.tree, Unread)
            and (statement.tree.is_broken or (statement.line == line and statement.tree.why not in reported))
        ),
        "",
    )
    notes += [note for note in lineage.notes if note.kind in ("no-columns", "not-joined")]
    writes = [write for write in lineage.writes if write.line == line]
    created = {
        table.key: table.shape for table in lineage.created if table.line == line and table.shape.complete
    }
    if any(_names_columns_after_values(statement.tree) for statement in statements):
        writes = [_drop_unnamed(write, notes) for write in writes]
        created = {key: shape for key, shape in created.items() if not any(map(_UNNAMED.match, shape.names))}
    if names is not None:
        writes = [names.write(write) for write in writes]
        created = {key: names.shape(key, shape) for key, shape in created.items()}
    if not writes and not any(table.line == line for table in lineage.created):
        unread = unread or _reason(lineage, "skipped", line, reported)
        if not (unread or notes or lineage.calls) and _may_write(statements, line):
            text = unit.statements[unit.target]
            unread = f"unsupported statement: {' '.join(text.split()[:_WORDS])} ..."
    return Interpreted(
        tuple(writes), created, tuple(notes), datasets, unread or _reason(lineage, "rejected", line)
    )


def _may_write(statements: Sequence[Parsed], line: int) -> bool:
    """Return whether a statement without lineage is more than a query or a definition without rows."""
    trees = [statement.tree for statement in statements if statement.line == line]
    return not trees or any(map(_may_write_rows, trees))


def _may_write_rows(tree: Tree) -> bool:
    if isinstance(tree, Unload | Moved):
        return True
    if not isinstance(tree, exp.Expr) or isinstance(tree, exp.Grant | exp.Revoke | exp.Comment | exp.Drop):
        return False
    if isinstance(tree, exp.Insert) and tree.args.get("default"):
        return False
    within = tree.find_all(exp.DML) if isinstance(tree, exp.Query) else tree.find_all(*_WITH_ROWS)
    return any(not isinstance(part, exp.Query) or part is not tree for part in within)


def _reason(lineage: FileLineage, kind: str, line: int, reported: Collection[str] = ()) -> str:
    """Return the first note of a kind on a statement that is not `reported` otherwise, "" without one."""
    messages = (note.message for note in lineage.notes if note.kind == kind and note.line == line)
    return next((message for message in messages if message not in reported), "")


@lru_cache(maxsize=20_000)
def parse_statements(text: str, dialect: str) -> tuple[Parsed, ...]:
    """Return a parsed template."""
    return parse("", text, Dialect.get_or_raise(dialect), {}).statements


def _tables(unit: Unit, warehouse: Warehouse) -> LoggedTables:
    return LoggedTables(
        warehouse.namespace,
        warehouse.resolve_id,
        warehouse.catalog,
        unit.database,
        unit.search_path,
        dict(unit.renamed),
    )


def find_created_view(unit: Unit, warehouse: Warehouse) -> Iterator[str]:
    """Yield the dataset of the view that a unit's statement creates."""
    datasets = _tables(unit, warehouse)
    for parsed in parse_statements(unit.statements[unit.target], warehouse.dialect):
        tree = parsed.tree
        table = tree.find(exp.Table) if isinstance(tree, exp.Create) and tree.kind == "VIEW" else None
        if table is not None and (key := datasets.name_table(table, (), Variables())) is not None:
            yield key


def find_created_location(unit: Unit, warehouse: Warehouse) -> Iterator[ExternalTable]:
    """Yield the external table that a unit's statement creates, with its path."""
    datasets = _tables(unit, warehouse)
    for parsed in parse_statements(unit.statements[unit.target], warehouse.dialect):
        tree = parsed.tree
        if not isinstance(tree, exp.Create) or tree.kind != "TABLE":
            continue
        table = tree.find(exp.Table)
        if table is not None and ":/" in (location := location_of(tree)):
            yield ExternalTable(*datasets.whole_name(table), location)


def _insert_files(parsed: Parsed, files: tuple[str, ...], warehouse: Warehouse, notes: list[Note]) -> Parsed:
    copy = parsed.tree
    if isinstance(copy, Unload) and len(files) == 1:
        return replace(parsed, tree=replace(copy, path=files[0]))
    if not isinstance(copy, exp.Copy):
        return parsed
    if copying.options_of(copy).is_remote:
        problem = "COPY over SSH: its data are the output of commands"
        notes.append(Note("not-joined", parsed.line, problem))
        return replace(parsed, tree=Unread(problem, is_broken=False))
    manifest = "" if files else copying.manifest_of(copy)
    if manifest:
        files, problem = warehouse.read_manifest(manifest)
        if problem:
            notes.append(Note("not-joined", parsed.line, problem))
            return replace(parsed, tree=Unread(problem, is_broken=False))
    return replace(parsed, tree=copying.replace_files(copy, files))


def _names_columns_after_values(tree: object) -> bool:
    """Return whether a statement has a PIVOT over values that its template lacks."""
    if not isinstance(tree, exp.Expr):
        return False
    return any(
        isinstance(value, exp.Placeholder) or (isinstance(value, exp.Literal) and value.name == "?")
        for pivot in tree.find_all(exp.Pivot)
        if not pivot.args.get("unpivot")
        for field in pivot.args.get("fields") or ()
        for value in field.expressions
    )


def _drop_unnamed(write: Write, notes: list[Note]) -> Write:
    columns = [(name, value) for name, value in write.columns if not _UNNAMED.match(name)]
    if len(columns) < len(write.columns):
        notes.append(Note("no-columns", write.line, _UNNAMED_COLUMNS))
    return replace(write, columns=columns)


# ---- elements


def job_name(unit: Unit, interpreted: Interpreted) -> str:
    """Return the job's name: the given one, else the targets and the fingerprint."""
    if unit.job:
        return unit.job
    targets = sorted({_title(interpreted.datasets, write.target) for write in interpreted.writes})
    return f"{'+'.join(targets)} #{unit.fingerprint[:_FINGERPRINT]}"


def elements(unit: Unit, interpreted: Interpreted, warehouse: Warehouse, shapes: Shapes) -> Iterator[Element]:
    """Yield the elements of a unit's lineage."""
    name = job_name(unit, interpreted) if interpreted.writes else f"#{unit.fingerprint}"
    job = JobKey(warehouse.job_type, name)
    references = interpreted.datasets.references
    for note in interpreted.notes:
        yield Problem(note.kind, f"{warehouse.job_type} job {name}", "", note.message)
    described: set[str] = set()
    for write in interpreted.writes:
        yield from write_elements(write, None, job, references)
        described.update((write.target, *write.reads))
    for key in sorted(described):
        if (table := interpreted.datasets.external.get(key)) is not None:
            called: dict[str, Scalar] = {"qualified_name": table.name, "name": table.name.rpartition(".")[2]}
            yield Dataset(references[key], Authority.CATALOG, "table", called)
            yield Alias(table, references[key], EXTERNAL_RULE)
    for write in interpreted.writes:
        shape = shapes.get(write.target)
        written = {name.casefold() for name, _ in write.columns}
        for position, column in enumerate(shape.columns if shape is not None else ()):
            if column.name.casefold() in written:
                known = column_of(references[write.target], column, position)
                yield known._replace(authority=Authority.CATALOG)


def _title(datasets: LoggedTables, key: str) -> str:
    reference = datasets.external.get(key) or datasets.references[key]
    if not reference.namespace:
        return reference.name.rstrip("/")
    database = f"{datasets.database}."
    *_, name = datasets.resolve_id(reference).split("|")
    if name == reference.name.lower():  # in any case, they are the same table
        reference = reference._replace(name=name)
    return reference.name.removeprefix(database) if datasets.database else reference.name

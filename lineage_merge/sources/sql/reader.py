"""Reader of SQL folders: one folder per partition, because its files depend on each other."""

from collections.abc import Iterable, Iterator
from functools import partial

from sqlglot import Dialect

from lineage_merge.column_lineage.scripts.copying import columns_of
from lineage_merge.column_lineage.scripts.project import read_project
from lineage_merge.column_lineage.scripts.script import Reader
from lineage_merge.column_lineage.scripts.syntax import Script, parse
from lineage_merge.config import Config
from lineage_merge.infra.engine.rows import Engine, Rows
from lineage_merge.model.elements import Count, Element
from lineage_merge.model.records import Record
from lineage_merge.sources.resolver import Resolver
from lineage_merge.sources.sql import files
from lineage_merge.sources.sql.files import SqlText
from lineage_merge.sources.sql.names import NamedTables
from lineage_merge.sources.sql.settings import SqlFiles
from lineage_merge.sources.sql.translator import translate


def read_sql(engine: Engine, config: Config, resolver: Resolver) -> Rows[Record]:
    """Read all configured folders as records."""
    folders: tuple[SqlFiles, ...] = config.sources["sql"]
    return engine.rows(folders, len(folders)).flat_map(
        lambda folder: resolver.records(elements(folder, resolver))
    )


def elements(folder: SqlFiles, resolver: Resolver) -> Iterator[Element]:
    """Yield the elements of one folder. Raises `SourceError` if it cannot be read."""
    scripts = parse_files(files.read(files.find(folder.path).items()), folder)
    yield Count("SQL files", len(scripts))
    project = read_project(scripts, reader_of(folder, resolver), schema=schema_of(folder))
    yield from translate(project, folder.project, folder.dialect, folder.path)


def parse_files(texts: Iterable[SqlText], folder: SqlFiles) -> list[Script]:
    """Parse files; a job is named after the folder and the file's name in it."""
    dialect = Dialect.get_or_raise(folder.dialect)
    return [parse(text.name, text.text, dialect, folder.variables) for text in texts]


def schema_of(folder: SqlFiles) -> list[Script]:
    """Return the files that only define columns."""
    return parse_files(
        [text for path in folder.schema for text in files.read(files.find(path).items())], folder
    )


def reader_of(folder: SqlFiles, resolver: Resolver) -> Reader:
    """Return the reader of a folder's files."""
    datasets = NamedTables(folder.namespace, resolver.resolve_id)
    dialect = Dialect.get_or_raise(folder.dialect)
    # Files of JSONPaths are not read: they may be of any time.
    load_columns = partial(columns_of, lambda path: None)
    return Reader(
        dialect, datasets, assume_insert_names=folder.assume_insert_names, load_columns=load_columns
    )

"""Reader of SQL folders: one folder per partition, because its files depend on each other."""

from lineage_merge.config import Config
from lineage_merge.infra.engine.rows import Engine, Rows
from lineage_merge.model.records import Record
from lineage_merge.sources.source import Resolver
from lineage_merge.sources.sql.root import elements
from lineage_merge.sources.sql.settings import SqlFiles


def read_sql(engine: Engine, config: Config, resolver: Resolver) -> Rows[Record]:
    """Read all configured folders as records."""
    folders: tuple[SqlFiles, ...] = config.sources["sql"]
    return engine.rows(folders, len(folders)).flat_map(
        lambda folder: resolver.records(elements(folder, resolver))
    )

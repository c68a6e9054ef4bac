"""Reader of SQL folders: one folder per partition, because its files depend on each other."""

from lineage_merge.config import Config
from lineage_merge.infra.engine.rows import Engine, Rows
from lineage_merge.merge.dataset_resolver import DatasetResolver
from lineage_merge.merge.records import Record, records
from lineage_merge.sources.sql.root import elements
from lineage_merge.sources.sql.settings import SqlFiles


def read_sql(engine: Engine, config: Config, names: DatasetResolver) -> Rows[Record]:
    """Read all configured folders as records."""
    folders: tuple[SqlFiles, ...] = config.sources["sql"]
    return engine.rows(folders, len(folders)).flat_map(lambda folder: records(elements(folder, names), names))

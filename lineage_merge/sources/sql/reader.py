"""Folders of SQL, read and translated: a folder a partition, for its files explain each other."""

from lineage_merge.config import Config
from lineage_merge.infra.engine.rows import Engine, Rows
from lineage_merge.merge.dataset_resolver import DatasetResolver
from lineage_merge.merge.records import Record, records
from lineage_merge.sources.sql.root import elements
from lineage_merge.sources.sql.settings import SqlFiles


def read_sql(engine: Engine, config: Config, names: DatasetResolver) -> Rows[Record]:
    """All folders of the configuration as records."""
    folders: tuple[SqlFiles, ...] = config.sources["sql"]
    return engine.rows(folders, len(folders)).flat_map(lambda folder: records(elements(folder, names), names))

"""Reader of Glue catalogs: one database per partition."""

from collections.abc import Iterator
from contextlib import nullcontext

from lineage_merge.config import Config
from lineage_merge.infra.engine.rows import Engine, Rows
from lineage_merge.merge.catalog_filter import CatalogRecord, catalog_records
from lineage_merge.merge.dataset_resolver import DatasetResolver
from lineage_merge.merge.records import records
from lineage_merge.model.elements import Count, Problem
from lineage_merge.model.errors import SourceDenied
from lineage_merge.sources.glue import client
from lineage_merge.sources.glue.lake_formation import NO_TAGS, open_tags
from lineage_merge.sources.glue.settings import GlueCatalog
from lineage_merge.sources.glue.translator import translate

MAX_TASKS = 64


def read_glue(engine: Engine, config: Config, names: DatasetResolver) -> Rows[CatalogRecord]:
    """Read all tables of the selected databases.

    The driver lists the databases, so that a wrong region or wrong credentials fail before any task starts.
    """
    wanted: list[tuple[GlueCatalog, str]] = []
    missing: list[Problem] = []
    for catalog in config.sources["glue"]:
        databases = client.all_databases(catalog)
        wanted.extend((catalog, database) for database in client.selected(catalog, databases))
        missing += client.unmatched(catalog, databases)
    tables = engine.rows(wanted, MAX_TASKS).flat_map(lambda entry: database_rows(*entry, names))
    return tables.union(engine.rows(catalog_records(None, records(missing, names)), 1))


def database_rows(catalog: GlueCatalog, database: str, names: DatasetResolver) -> Iterator[CatalogRecord]:
    """Yield the rows of one database, each with the table that it is about."""
    number = 0
    denied: list[Problem] = []
    with open_tags(catalog) if catalog.lf_tags else nullcontext() as read_tags:
        for table in client.tables(catalog, database):
            number += 1
            tags = NO_TAGS
            if read_tags and not denied:
                try:
                    tags = read_tags(database, str(table.get("Name") or ""))
                except SourceDenied as error:
                    denied.append(Problem("notice", str(catalog), "lf_tags", error.message))
            about = f"{catalog}|{database}|{table.get('Name')}"
            yield from catalog_records(about, records(translate(table, database, catalog, tags), names))
    yield from catalog_records(None, records([Count("Glue tables", number), *denied], names))

"""Reader of Glue catalogs: one database per partition."""

from collections.abc import Iterator
from contextlib import nullcontext

from lineage_merge.config import Config
from lineage_merge.infra.engine.rows import Engine, Rows
from lineage_merge.model.elements import Count, Problem
from lineage_merge.model.errors import SourceDenied
from lineage_merge.model.records import CatalogEntry
from lineage_merge.sources.glue import client
from lineage_merge.sources.glue.client import NO_TAGS, open_tags
from lineage_merge.sources.glue.settings import GlueCatalog
from lineage_merge.sources.glue.translator import translate
from lineage_merge.sources.resolver import Resolver

MAX_TASKS = 64


def read_glue(engine: Engine, config: Config, resolver: Resolver) -> Rows[CatalogEntry]:
    """Read all tables of the selected databases.

    The driver lists the databases, so that a wrong region or wrong credentials fail before any task starts.
    """
    wanted: list[tuple[GlueCatalog, str]] = []
    missing: list[Problem] = []
    for catalog in config.sources["glue"]:
        databases = client.all_databases(catalog)
        wanted.extend((catalog, database) for database in client.select_databases(catalog, databases))
        missing += client.report_unmatched(catalog, databases)
    tables = engine.rows(wanted, MAX_TASKS).flat_map(lambda entry: database_entries(*entry, resolver))
    return tables.union(engine.rows([CatalogEntry(None, tuple(resolver.records(missing)))], 1))


def database_entries(catalog: GlueCatalog, database: str, resolver: Resolver) -> Iterator[CatalogEntry]:
    """Yield the tables of one database."""
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
            yield CatalogEntry(about, tuple(resolver.records(translate(table, database, catalog, tags))))
    yield CatalogEntry(None, tuple(resolver.records([Count("Glue tables", number), *denied])))

"""Glue catalogs, fetched and translated by Spark's workers, one database a task."""

from collections.abc import Iterator

from pyspark.sql import DataFrame, SparkSession

from lineage_merge.config import Config
from lineage_merge.merge.mentioned import DESCRIBED_DDL, described
from lineage_merge.merge.names import Names
from lineage_merge.model import Count, Problem
from lineage_merge.records import Record, records
from lineage_merge.sources.glue import client
from lineage_merge.sources.glue.settings import GlueCatalog
from lineage_merge.sources.glue.translate import translate

MOST_TASKS = 64


def read_glue(spark: SparkSession, config: Config, names: Names) -> DataFrame:
    """All tables of the wanted databases, as rows of `DESCRIBED_DDL`.

    The driver lists the databases, so a wrong region or password is known before any task starts.
    """
    wanted: list[tuple[GlueCatalog, str]] = []
    missing: list[Problem] = []
    for catalog in config.sources["glue"]:
        found = client.database_names(catalog)
        wanted.extend((catalog, database) for database in found)
        if not found:
            globs = ", ".join(catalog.databases) or "*"
            missing.append(Problem("not-joined", str(catalog), "", f"no database matches {globs}"))

    def rows(entry: tuple[GlueCatalog, str]) -> Iterator[Record]:
        return database_rows(*entry, names)

    tasks = max(1, min(len(wanted), MOST_TASKS))
    fetched = spark.sparkContext.parallelize(wanted, tasks).flatMap(rows)
    told = spark.sparkContext.parallelize(list(described(None, records(missing, names))), 1)
    return spark.createDataFrame(spark.sparkContext.union([fetched, told]), DESCRIBED_DDL, verifySchema=False)


def database_rows(catalog: GlueCatalog, database: str, names: Names) -> Iterator[Record]:
    """The rows of one database, each with the table that it is about."""
    number = 0
    for table in client.tables(catalog, database):
        number += 1
        about = f"{catalog}|{database}|{table.get('Name')}"
        yield from described(about, records(translate(table, database, catalog), names))
    yield from described(None, records([Count("Glue tables", number)], names))

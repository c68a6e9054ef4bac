"""The ``hive`` configuration section, and the kind of documents that are read."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from lineage_merge import naming
from lineage_merge.config.section import locations, namespace
from lineage_merge.model.errors import ConfigError, ErrorCollector, NamingError
from lineage_merge.sources.kafka_landing.settings import Kafka, kafka
from lineage_merge.sources.kinds import Kind
from lineage_merge.sources.settings import NamespaceSetting, RunSelection, run_selection


@dataclass(frozen=True, slots=True)
class Hive(RunSelection):
    """Where lineage logs are read from (`log`: files or folders; `kafka`), and which queries are selected.

    `metastore`: the namespace of its tables ("": Spark's catalog name). `warehouse`: the folder of its tables
    ("": unknown). `spark_catalogs`: its names in Spark. `jobs`: globs, default: all. `job_name_from`: what a
    query's job is named after.
    """

    log: tuple[str, ...] = ()
    kafka: Kafka | None = None
    metastore: str = ""
    warehouse: str = ""
    spark_catalogs: tuple[str, ...] = ("spark_catalog",)
    jobs: tuple[str, ...] = ()
    job_name_from: Literal["target", "statement", "user"] = "target"

    @property
    def namespace(self) -> str:
        """Return the namespace of its tables."""
        return self.metastore or self.spark_catalogs[0]

    @property
    def namespace_setting(self) -> NamespaceSetting:
        """Return the namespace as a setting. Only that of a metastore can have names in Spark."""
        catalogs = self.spark_catalogs if self.metastore else None
        return NamespaceSetting(
            "hive.metastore", self.namespace, "hive", {}, "metastore", spark_catalogs=catalogs
        )


def parse(settings: Mapping[str, Any]) -> Hive:
    """Parse settings that fit the schema. Raises `ConfigError`."""
    if not settings.keys() & {"log", "kafka"}:
        raise ConfigError("hive", "give log or kafka")
    metastore = settings.get("metastore", "")
    errors = ErrorCollector()
    hive = Hive(
        log=locations(settings.get("log", ())),
        kafka=errors.get(lambda: kafka("hive", settings), None),
        metastore=errors.get(lambda: namespace("hive.metastore", metastore) if metastore else "", ""),
        warehouse=errors.get(lambda: _warehouse(settings.get("warehouse", "").rstrip("/")), ""),
        spark_catalogs=tuple(settings.get("spark_catalogs", ("spark_catalog",))),
        jobs=tuple(settings.get("jobs", ())),
        job_name_from=settings.get("job_name_from", "target"),
        **run_selection("hive", settings, errors),
    )
    errors.raise_errors()
    return hive


def _warehouse(folder: str) -> str:
    try:
        is_folder = not folder or naming.name_uri(f"{folder}/t").label == "file"
    except NamingError as error:
        raise ConfigError("hive.warehouse", error.message) from None
    if not is_folder:
        raise ConfigError(
            "hive.warehouse", "expected a folder such as hdfs://nameservice/user/hive/warehouse"
        )
    return folder


LINEAGE = Kind(
    "lineage of Hive queries",
    "give the log as hive.log",
    (("edges", "vertices"),),
    pattern=re.compile(r'LineageLogger|"edgeType\\?"\s*:'),
)

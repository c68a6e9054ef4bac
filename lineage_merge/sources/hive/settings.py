"""The ``hive`` configuration section, and the kind of documents that are read."""

import re
from dataclasses import dataclass
from typing import Literal

from lineage_merge import naming
from lineage_merge.config.section import Namespace
from lineage_merge.infra.setting import Form, Texts, declare
from lineage_merge.model.errors import ConfigError, NamingError
from lineage_merge.sources.kafka_landing.settings import Kafka
from lineage_merge.sources.kinds import Kind
from lineage_merge.sources.settings import CatalogName, NamespaceSetting, RunSelection, declare_spark_catalogs

_WAREHOUSE_EXAMPLE = "hdfs://nameservice/user/hive/warehouse"


def _parse_warehouse(text: str, key: str) -> str:
    folder = text.rstrip("/")
    try:
        is_folder = naming.name_uri(f"{folder}/t").label == "file"
    except NamingError as error:
        raise ConfigError(key, error.message) from None
    if not is_folder:
        raise ConfigError(key, f"expected a folder such as {_WAREHOUSE_EXAMPLE}")
    return folder


@dataclass(frozen=True, slots=True)
class Hive(RunSelection):
    """Where lineage logs are read from, and which queries are selected.

    `metastore` "": Spark's catalog name. `warehouse` "": unknown.
    """

    log: Texts = declare(
        "files or folders (local or s3://) of Hive's logs, or of Cloudera's lineage files",
        (),
        "/var/log/hive",
        is_path=True,
    )
    kafka: Kafka | None = declare("Kafka topic with the log's lines", None)
    metastore: Namespace = declare(
        "namespace of Hive's tables: thrift://host:9083, or arn:aws:glue:region:account",
        "",
        "thrift://host:9083",
        "the first of spark_catalogs",
    )
    warehouse: str = declare(
        f"folder of Hive's tables, such as {_WAREHOUSE_EXAMPLE}: db.table is warehouse/db.db/table unless "
        f"another source has its path",
        "",
        _WAREHOUSE_EXAMPLE,
        form=Form(
            "^[A-Za-z][A-Za-z0-9+.-]*:/[^\\s]*$",
            f"a URI such as {_WAREHOUSE_EXAMPLE}",
            parse=_parse_warehouse,
        ),
    )
    spark_catalogs: tuple[CatalogName, ...] = declare_spark_catalogs(minItems=1)
    jobs: tuple[str, ...] = declare(
        "jobs to read, by name (such as dw.*), globs allowed", (), ["dw.*"], "all"
    )
    job_name_from: Literal["target", "statement", "user"] = declare(
        "name of a query's job: target (the tables it fills), statement (targets and a hash of its lineage), "
        "or user (who runs it)",
        "target",
    )

    def complete(self, key: str) -> "Hive":
        """Check that lineage is given."""
        if not (self.log or self.kafka):
            raise ConfigError(key, "give log or kafka")
        return self

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


LINEAGE = Kind(
    "lineage of Hive queries",
    "give the log as hive.log",
    (("edges", "vertices"),),
    pattern=re.compile(r'LineageLogger|"edgeType\\?"\s*:'),
)

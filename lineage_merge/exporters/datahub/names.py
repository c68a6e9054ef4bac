"""What DataHub calls datasets, columns, DAGs and jobs: its URNs.

A dataset's name is what DataHub's own source for the platform calls it, so that both describe one dataset:
https://docs.datahub.com/docs/what/urn and the pages of the sources.
"""

import fnmatch
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from datahub.emitter import mce_builder
from datahub.metadata.schema_classes import FabricTypeClass
from datahub.metadata.urns import DashboardUrn, DataFlowUrn, DataJobUrn

from lineage_merge.exporters.graph_batches import Job
from lineage_merge.model.elements import JobKey
from lineage_merge.model.errors import ConfigError
from lineage_merge.query.elements import Vertex, dataset_of, name_parts

# Schemes of OpenLineage's namespaces that DataHub calls otherwise.
_PLATFORMS = {
    "abfss": "abs",
    "awsathena": "athena",
    "gs": "gcs",
    "spark_catalog": "hive",
    "viewfs": "hdfs",
    "wasbs": "abs",
}
_BUCKETS = frozenset({"s3", "gcs", "abs", "oss"})
_FABRICS = {
    "development": "DEV",
    "int": "EI",
    "integration": "EI",
    "preprod": "PRE",
    "preproduction": "PRE",
    "production": "PROD",
    "stage": "STG",
    "staging": "STG",
    "testing": "TEST",
}
_KNOWN_FABRICS = frozenset(
    value for name, value in vars(FabricTypeClass).items() if name.isupper() and isinstance(value, str)
)
_CATALOG_OF_ATHENA = "awsdatacatalog."


class DatasetName(NamedTuple):
    """Platform, name in it, and platform instance ("": none)."""

    platform: str
    name: str
    instance: str = ""


@dataclass(frozen=True)
class Names:
    """URNs, as the settings of ``exporters.datahub`` want them. Mappings go by globs on namespaces."""

    fabrics: Mapping[str, str]
    platforms: Mapping[str, str]
    instances: Mapping[str, str]
    lowercase: tuple[str, ...]
    orchestrator: str

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> "Names":
        """The names that settings ask for."""
        return cls(
            settings.get("fabrics", {}),
            settings.get("platforms", {}),
            settings.get("instances", {}),
            tuple(settings.get("lowercase", ("snowflake*",))),
            settings.get("orchestrator", "airflow"),
        )

    def fabric(self, environment: str) -> str:
        """``PROD`` of ``prod``. Raises `ConfigError` for an environment that stands for none."""
        word = environment.lower()
        found = self.fabrics.get(environment) or _FABRICS.get(word) or word.upper().replace("-", "_")
        if found in _KNOWN_FABRICS:
            return found
        known = ", ".join(sorted(_KNOWN_FABRICS))
        raise ConfigError(
            "sinks.datahub.fabrics",
            f"which of DataHub's environments is {environment}? Give {{{environment}: ...}}, of {known}",
        )

    def distinct(self, environments: list[str]) -> None:
        """Raises `ConfigError` where two environments would be one in DataHub, and their datasets meet."""
        seen: dict[str, str] = {}
        for each in environments:
            found = self.fabric(each)
            other = seen.setdefault(found, each)
            if other != each:
                raise ConfigError(
                    "sinks.datahub.fabrics",
                    f"{other} and {each} are both {found}: export one of them, with --environment",
                )

    def of_dataset(self, namespace: str, name: str) -> DatasetName:
        """What DataHub calls a dataset of this namespace and name."""
        scheme, separator, authority = namespace.partition("://")
        if namespace.startswith("arn:aws"):
            # arn:aws:glue:region:account, and table/database/table
            scheme, name = "glue", name.removeprefix("table/").replace("/", ".", 1)
        elif not separator:
            scheme = namespace.partition(":")[0]
        platform = _globbed(self.platforms, namespace) or _PLATFORMS.get(scheme, scheme)
        if platform in _BUCKETS:
            name = f"{authority.partition('@')[0]}/{name.lstrip('/')}".rstrip("/")
        elif platform == "athena":
            name = name.removeprefix(_CATALOG_OF_ATHENA)
        if any(fnmatch.fnmatchcase(namespace, glob) for glob in self.lowercase):
            name = name.lower()
        return DatasetName(platform, name, _globbed(self.instances, namespace))

    def dataset(self, identifier: str) -> str:
        """The URN of a dataset by its id in the graph."""
        environment, namespace, name = name_parts(identifier)
        found = self.of_dataset(namespace, name)
        return mce_builder.make_dataset_urn_with_platform_instance(
            found.platform, found.name, found.instance or None, self.fabric(environment)
        )

    def column(self, column: Vertex) -> str:
        """The URN of a column, under the name that it is spelled with."""
        return mce_builder.make_schema_field_urn(self.dataset(dataset_of(column.id)), column.name)

    def dag(self, environment: str, dag: str) -> str:
        """The URN of a DAG: that of DataHub's Airflow plugin, if its cluster is the environment."""
        return str(DataFlowUrn(self.orchestrator, dag, self.fabric(environment).lower()))

    def job(self, job: Job) -> str:
        """The URN of a job. Its id holds the type too, so that two types of one name stay two."""
        return str(DataJobUrn(self.dag(job.environment, job.dag), job_name(job.key)))

    def exposure(self, unique_id: str) -> str:
        """The URN of a dbt exposure, as DataHub's dbt source names it."""
        return str(DashboardUrn("dbt", unique_id))


def job_name(key: JobKey) -> str:
    """``spark.tickit_sales_ingest``: a job's name within its DAG."""
    return f"{key.job_type}.{key.name}"


def _globbed(values: Mapping[str, str], namespace: str) -> str:
    """The value of the first glob that the namespace fits; "" of none."""
    return next((value for glob, value in values.items() if fnmatch.fnmatchcase(namespace, glob)), "")

"""DataHub URNs of datasets, columns, DAGs and jobs.

Dataset names are those of DataHub's own source for the platform, so that both describe the same dataset:
https://docs.datahub.com/docs/what/urn and the pages of the sources.
"""

import fnmatch
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from datahub.emitter import mce_builder
from datahub.metadata.schema_classes import FabricTypeClass, OwnershipTypeClass
from datahub.metadata.urns import DashboardUrn, DataFlowUrn, DataJobUrn, DataProcessInstanceUrn

from lineage_merge.exporters.graph_batches import JobLineage
from lineage_merge.graph_format.elements import Vertex, name_parts
from lineage_merge.model.elements import DBT_NAMESPACE, JobKey, dataset_of
from lineage_merge.model.errors import ConfigError

# OpenLineage schemes with a different platform name in DataHub.
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


class DatahubName(NamedTuple):
    """Platform, name in the platform, and platform instance ("": none)."""

    platform: str
    name: str
    instance: str = ""


@dataclass(frozen=True)
class Names:
    """URNs by the settings ``exporters.datahub``.

    `platforms` and `instances` are by glob on the namespace; `groups` are globs on owners.
    """

    fabrics: Mapping[str, str]
    platforms: Mapping[str, str]
    instances: Mapping[str, str]
    lowercase: tuple[str, ...]
    orchestrator: str
    groups: tuple[str, ...] = ()
    owner_type: str = OwnershipTypeClass.TECHNICAL_OWNER

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> "Names":
        """Return the names for these settings."""
        return cls(
            settings.get("fabrics", {}),
            settings.get("platforms", {}),
            settings.get("instances", {}),
            tuple(settings.get("lowercase", ("snowflake*",))),
            settings.get("orchestrator", "airflow"),
            tuple(settings.get("groups", ())),
            settings.get("owner_type", OwnershipTypeClass.TECHNICAL_OWNER),
        )

    def fabric(self, environment: str) -> str:
        """Return the fabric of an environment: ``PROD`` of ``prod``. Raises `ConfigError` if unknown."""
        word = environment.lower()
        fabric = self.fabrics.get(environment) or _FABRICS.get(word) or word.upper().replace("-", "_")
        if fabric in _KNOWN_FABRICS:
            return fabric
        known = ", ".join(sorted(_KNOWN_FABRICS))
        raise ConfigError(
            "exporters.datahub.fabrics",
            f"no DataHub fabric for environment {environment}: set {{{environment}: ...}} to one of {known}",
        )

    def check_distinct_fabrics(self, environments: list[str]) -> None:
        """Raise `ConfigError` if two environments have the same fabric: DataHub would join their datasets."""
        seen: dict[str, str] = {}
        for environment in environments:
            fabric = self.fabric(environment)
            other = seen.setdefault(fabric, environment)
            if other != environment:
                raise ConfigError(
                    "exporters.datahub.fabrics",
                    f"{other} and {environment} are both {fabric}: export one of them, with --environment",
                )

    def name_dataset(self, namespace: str, name: str) -> DatahubName:
        """Return DataHub's name of a dataset."""
        scheme, separator, authority = namespace.partition("://")
        if namespace.startswith("arn:aws"):
            # arn:aws:glue:region:account, and table/database/table
            scheme = namespace.split(":")[2]
            name = name.removeprefix("table/").replace("/", ".", 1) if scheme == "glue" else name
        elif not separator:
            scheme = namespace.partition(":")[0]
        platform = _match_glob(self.platforms, namespace) or _PLATFORMS.get(scheme, scheme)
        if platform in _BUCKETS:
            name = f"{authority.partition('@')[0]}/{name.lstrip('/')}".rstrip("/")
        elif platform == "athena":
            name = name.removeprefix(_CATALOG_OF_ATHENA)
        if any(fnmatch.fnmatchcase(namespace, glob) for glob in self.lowercase):
            name = name.lower()
        return DatahubName(platform, name, _match_glob(self.instances, namespace))

    def dataset(self, identifier: str) -> str:
        """Return the URN of a dataset by its id in the graph."""
        environment, namespace, name = name_parts(identifier)
        dataset = self.name_dataset(namespace, name)
        return mce_builder.make_dataset_urn_with_platform_instance(
            dataset.platform, dataset.name, dataset.instance or None, self.fabric(environment)
        )

    def column(self, column: Vertex, path: str) -> str:
        """Return the URN of a column with a `FieldPaths` path."""
        return mce_builder.make_schema_field_urn(self.dataset(dataset_of(column.id)), path)

    def dag(self, environment: str, dag: str) -> str:
        """Return the URN of a DAG: that of DataHub's Airflow plugin, if its cluster is the environment."""
        return str(DataFlowUrn(self.orchestrator, dag, self.fabric(environment).lower()))

    def job(self, job: JobLineage) -> str:
        """Return the URN of a job. Its id contains the job type, so that jobs of two types stay distinct."""
        return str(DataJobUrn(self.dag(job.environment, job.dag), job_name(job.key)))

    def exposure(self, unique_id: str) -> str:
        """Return the URN of a dbt exposure, as DataHub's dbt source names it."""
        return str(DashboardUrn("dbt", unique_id))

    def is_of_tool(self, exposure: str) -> bool:
        """Return whether an exposure is a dashboard that its tool describes, and not only dbt."""
        return not name_parts(exposure)[1].startswith(DBT_NAMESPACE)

    def dashboard(self, identifier: str) -> str:
        """Return the URN of a tool's dashboard. DataHub's own source of Superset has numbers as ids."""
        dashboard = self.name_dataset(*name_parts(identifier)[1:])
        return mce_builder.make_dashboard_urn(
            dashboard.platform, dashboard.name.partition("/")[2], dashboard.instance or None
        )

    def chart(self, visual: Vertex) -> str:
        """Return the URN of a visual: one chart on two dashboards is two."""
        dashboard = self.name_dataset(*name_parts(dataset_of(visual.id))[1:])
        name = f"{dashboard.name.partition('/')[2]}.{visual.properties.get('visual_id', visual.name)}"
        return mce_builder.make_chart_urn(dashboard.platform, name, dashboard.instance or None)

    def run(self, job_id: str, run_id: str) -> str:
        """Return the URN of a run of a job."""
        return str(DataProcessInstanceUrn(mce_builder.datahub_guid({"job": job_id, "run": run_id})))

    def assertion(self, assertion_id: str, dataset: str) -> str:
        """Return the URN of a check of a dataset: DataHub's assertions have one dataset each.

        It differs from that of DataHub's dbt source, whose assertions are on datasets of the platform dbt.
        """
        return mce_builder.make_assertion_urn(
            mce_builder.datahub_guid({"assertion": assertion_id, "dataset": dataset})
        )

    def owner(self, name: str) -> str:
        """Return the URN of an owner: a group if a glob of `groups` matches, otherwise a user."""
        if any(fnmatch.fnmatchcase(name, glob) for glob in self.groups):
            return mce_builder.make_group_urn(name)
        return mce_builder.make_user_urn(name)


def job_name(key: JobKey) -> str:
    """``spark.tickit_sales_ingest``: a job's name within its DAG."""
    return f"{key.job_type}.{key.name}"


def _match_glob(values: Mapping[str, str], namespace: str) -> str:
    """Return the value of the first glob that matches the namespace, or ""."""
    return next((value for glob, value in values.items() if fnmatch.fnmatchcase(namespace, glob)), "")

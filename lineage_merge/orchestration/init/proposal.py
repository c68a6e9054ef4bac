"""Proposal of a configuration from what was found in the sources. Pure."""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from lineage_merge.orchestration.init import warehouse
from lineage_merge.orchestration.init.findings import Findings
from lineage_merge.orchestration.init.sources import Sources, located
from lineage_merge.orchestration.init.warehouse import Choice, DefaultSchema
from lineage_merge.sources.dbt.inspection import ManifestFindings

_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_.~+-]+")


class Project(NamedTuple):
    """A dbt manifest and the namespace of its tables; `target` distinguishes manifests of one project."""

    manifest: ManifestFindings
    choice: Choice
    target: str = ""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A proposed configuration.

    `default_schemas` are by namespace; `sql_namespace` "": that of the dialect.
    """

    dag_name: str
    environment: str
    sources: Sources
    projects: tuple[Project, ...] = ()
    default_schemas: Mapping[str, DefaultSchema] = field(default_factory=dict)
    sql_namespace: str = ""
    gremlin_endpoint: str = ""

    def settings(self, folder: Path | None = None) -> dict[str, Any]:
        """Return the settings as in a configuration file in `folder`; None: with paths as they were given."""
        settings: dict[str, Any] = {"dag_name": self.dag_name, "environment": self.environment}
        settings |= self.sources.job_settings(folder)
        if self.projects:
            settings["dbt"] = [_entry(project, folder) for project in self.projects]
        if self.sources.sql:
            namespace = {"namespace": self.sql_namespace} if self.sql_namespace else {}
            dialect = self.sources.sql_dialect
            settings["sql"] = [
                {"path": located(each, folder), "dialect": dialect, **namespace} for each in self.sources.sql
            ]
        if self.default_schemas:
            schemas = {namespace: each.schema for namespace, each in self.default_schemas.items()}
            settings["merge"] = {"default_schemas": schemas}
        if self.gremlin_endpoint:
            settings["gremlin"] = {"endpoint": self.gremlin_endpoint}
        return settings


def propose(
    sources: Sources,
    findings: Findings,
    *,
    dag_name: str = "",
    environment: str = "",
    namespace: str = "",
    gremlin_endpoint: str = "",
    folder_name: str = "",
) -> Proposal:
    """Propose a configuration. What is given takes precedence over what is derived from the findings."""
    targets = _targets(findings.manifests)
    projects = tuple(
        Project(manifest, _choice(manifest, findings, namespace), targets.get(manifest.location, ""))
        for manifest in findings.manifests
    )
    proposal = Proposal(
        dag_name=dag_name or default_dag_name(findings, folder_name),
        environment=environment or "dev",
        sources=sources,
        projects=projects,
        sql_namespace=namespace,
        gremlin_endpoint=gremlin_endpoint,
    )
    return with_namespaces(proposal, findings, [project.choice for project in projects])


def with_namespaces(proposal: Proposal, findings: Findings, choices: Sequence[Choice]) -> Proposal:
    """Return the proposal with other namespaces, and the default schemas that they need."""
    projects = tuple(
        each._replace(choice=choice) for each, choice in zip(proposal.projects, choices, strict=True)
    )
    by_namespace: dict[str, list[ManifestFindings]] = defaultdict(list)
    for project in projects:
        by_namespace[project.choice.namespace].append(project.manifest)
    schemas = {
        namespace: warehouse.default_schema(namespace, manifests, findings.jobs)
        for namespace, manifests in by_namespace.items()
    }
    return replace(
        proposal,
        projects=projects,
        default_schemas={namespace: each for namespace, each in schemas.items() if each},
        sql_namespace=_sql_namespace(proposal, projects),
    )


def given_choice(manifest: ManifestFindings, findings: Findings, namespace: str) -> Choice:
    """Return the choice of a namespace that was given."""
    return warehouse.given(namespace, manifest, findings.jobs)


def default_dag_name(findings: Findings, folder_name: str) -> str:
    """Return a name for the DAG: dbt's project, the only job, or the folder."""
    projects = [manifest.project for manifest in findings.manifests if manifest.project]
    jobs = [job.name for job in findings.jobs.jobs]
    names = [*projects[:1], *(jobs if len(jobs) == 1 else ()), folder_name]
    return next((text for name in names if (text := _NOT_IN_A_NAME.sub("_", name).strip("_"))), "lineage")


def _choice(manifest: ManifestFindings, findings: Findings, namespace: str) -> Choice:
    if namespace:
        return given_choice(manifest, findings, namespace)
    return warehouse.choose(manifest, findings.jobs)


def _sql_namespace(proposal: Proposal, projects: Sequence[Project]) -> str:
    """Return the namespace of SQL files: that of the dbt project with the same platform, or the given one."""
    dialect = proposal.sources.sql_dialect
    same = (project.choice.namespace for project in projects if project.manifest.adapter == dialect)
    return next(same, "" if dialect in ("hive", "spark") else proposal.sql_namespace)


def _entry(project: Project, folder: Path | None) -> dict[str, str]:
    manifest = project.manifest
    entry = {
        "manifest": located(manifest.location, folder),
        "namespace": project.choice.namespace,
        "catalog": located(manifest.catalog, folder) if manifest.catalog else "",
        "run_results": located(manifest.run_results, folder) if manifest.run_results else "",
        "sources": located(manifest.freshness, folder) if manifest.freshness else "",
        "target": project.target,
    }
    return {key: value for key, value in entry.items() if value}


def _targets(manifests: Sequence[ManifestFindings]) -> dict[str, str]:
    """Return a target for each manifest whose project other manifests build elsewhere, from its folder."""
    number = Counter(manifest.project for manifest in manifests)
    targets: dict[str, str] = {}
    for project, count in number.items():
        found = [manifest for manifest in manifests if manifest.project == project]
        if count < 2 or not project or len({manifest.built for manifest in found}) == 1:
            continue
        paths = [manifest.location.rpartition("/")[0].split("/") for manifest in found]
        for each, path in zip(found, paths, strict=True):
            own = [
                part for part in reversed(path) if all(part not in other for other in paths if other != path)
            ]
            name = _NOT_IN_A_NAME.sub("_", own[0]).strip("_") if own else ""
            targets[each.location] = name.replace("~", "_").replace("+", "_")
    return {location: name for location, name in targets.items() if name}

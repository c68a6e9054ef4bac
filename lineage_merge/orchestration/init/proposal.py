"""Proposal of a configuration from what was found in the sources. Pure."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from lineage_merge.infra.batches import gather
from lineage_merge.orchestration.init import warehouse
from lineage_merge.orchestration.init.discovery import Inputs
from lineage_merge.orchestration.init.findings import Findings
from lineage_merge.orchestration.init.warehouse import Choice, DefaultSchema
from lineage_merge.sources.discovery import ProjectFindings, locate_from
from lineage_merge.sources.registry import SOURCES
from lineage_merge.sources.source import Source

_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_.~+-]+")


class Project(NamedTuple):
    """A project and the namespace of its tables; `target` distinguishes several of one name.

    `findings` are those in its document, of which `key` names the location in the configuration.
    """

    source: Source[Any]
    findings: ProjectFindings
    choice: Choice
    target: str = ""

    @property
    def key(self) -> str:
        """Return the key of its location."""
        return self.source.discovery().locations[0].key


@dataclass(frozen=True, slots=True)
class Proposal:
    """A proposed configuration.

    `default_schemas` are by namespace; `namespace`: the given one.
    """

    dag_name: str
    environment: str
    inputs: Inputs
    projects: tuple[Project, ...] = ()
    default_schemas: Mapping[str, DefaultSchema] = field(default_factory=dict)
    namespace: str = ""
    gremlin_endpoint: str = ""

    @property
    def namespaces(self) -> dict[str, str]:
        """Return the namespaces of projects by platform, and of "" the given one."""
        projects = reversed(self.projects)
        return {"": self.namespace} | {
            project.findings.platform: project.choice.namespace for project in projects
        }

    def checks(self) -> Iterator[tuple[Source[Any], list[str]]]:
        """Yield the sources that are neither jobs nor projects, with what to check of each location."""
        for source in SOURCES:
            discovery = source.discovery()
            if (source_input := self.inputs.get(source.key)) and not (
                discovery.line_key or discovery.describes_projects
            ):
                check = discovery.check(source_input, self.namespaces)
                yield source, [check] * len(source_input.locations)

    def settings(self, folder: Path | None = None) -> dict[str, Any]:
        """Return the settings as in a configuration file in `folder`; None: with paths as they were given."""
        settings: dict[str, Any] = {"dag_name": self.dag_name, "environment": self.environment}
        for source in SOURCES:
            entries = [_entry(project, folder) for project in self.projects if project.source is source]
            if entries:
                settings[source.key] = entries
            elif source_input := self.inputs.get(source.key):
                settings[source.key] = source.discovery().settings(source_input, folder, self.namespaces)
        if self.default_schemas:
            schemas = {namespace: default.schema for namespace, default in self.default_schemas.items()}
            settings["merge"] = {"default_schemas": schemas}
        if self.gremlin_endpoint:
            settings["gremlin"] = {"endpoint": self.gremlin_endpoint}
        return settings


def propose(
    inputs: Inputs,
    findings: Findings,
    *,
    dag_name: str = "",
    environment: str = "",
    namespace: str = "",
    gremlin_endpoint: str = "",
    folder_name: str = "",
) -> Proposal:
    """Propose a configuration. What is given takes precedence over what is derived from the findings."""
    targets = _targets(findings.projects)
    by_key = {source.key: source for source in SOURCES}
    projects = tuple(
        Project(
            by_key[project.source],
            project,
            _choice(project, findings, namespace),
            targets.get(project.location, ""),
        )
        for project in findings.projects
    )
    proposal = Proposal(
        dag_name=dag_name or default_dag_name(findings, folder_name),
        environment=environment or "dev",
        inputs=inputs,
        projects=projects,
        namespace=namespace,
        gremlin_endpoint=gremlin_endpoint,
    )
    return with_namespaces(proposal, findings, [project.choice for project in projects])


def with_namespaces(proposal: Proposal, findings: Findings, choices: Sequence[Choice]) -> Proposal:
    """Return the proposal with other namespaces, and the default schemas that they need."""
    projects = tuple(
        project._replace(choice=choice) for project, choice in zip(proposal.projects, choices, strict=True)
    )
    by_namespace = gather((project.choice.namespace, project.findings) for project in projects)
    schemas = {
        namespace: warehouse.default_schema(namespace, within, findings.jobs)
        for namespace, within in by_namespace.items()
    }
    return replace(
        proposal,
        projects=projects,
        default_schemas={namespace: schema for namespace, schema in schemas.items() if schema},
    )


def default_dag_name(findings: Findings, folder_name: str) -> str:
    """Return a name for the DAG: a project, the only job, or the folder."""
    projects = [project.project for project in findings.projects if project.project]
    jobs = [job.name for job in findings.jobs.jobs]
    names = [*projects[:1], *(jobs if len(jobs) == 1 else ()), folder_name]
    return next((text for name in names if (text := _NOT_IN_A_NAME.sub("_", name).strip("_"))), "lineage")


def _choice(project: ProjectFindings, findings: Findings, namespace: str) -> Choice:
    if namespace:
        return warehouse.choose_given(namespace, project, findings.jobs)
    return warehouse.choose(project, findings.jobs)


def _entry(project: Project, folder: Path | None) -> dict[str, str]:
    findings = project.findings
    entry = {project.key: locate_from(findings.location, folder), "namespace": project.choice.namespace}
    entry |= {key: locate_from(location, folder) for key, location in findings.beside.items()}
    return entry | ({"target": project.target} if project.target else {})


def _targets(projects: Sequence[ProjectFindings]) -> dict[str, str]:
    """Return a target for each project that other documents build elsewhere, from its folder."""
    number = Counter(project.project for project in projects)
    targets: dict[str, str] = {}
    for name, count in number.items():
        same = [project for project in projects if project.project == name]
        if count < 2 or not name or len({project.built for project in same}) == 1:
            continue
        paths = [project.location.rpartition("/")[0].split("/") for project in same]
        for project, path in zip(same, paths, strict=True):
            own = [
                part for part in reversed(path) if all(part not in other for other in paths if other != path)
            ]
            target = _NOT_IN_A_NAME.sub("_", own[0]).strip("_") if own else ""
            targets[project.location] = target.replace("~", "_").replace("+", "_")
    return targets

"""The ``dbt`` configuration section: one entry per project."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from lineage_merge.config.section import locations, namespace
from lineage_merge.infra.redaction import redact
from lineage_merge.model.errors import ErrorCollector
from lineage_merge.sources.settings import NamespaceSetting

What = Literal["manifest", "catalog", "run results file", "sources file"]


@dataclass(frozen=True, slots=True)
class DbtProject:
    """A dbt project: its manifest, the namespace of its tables, optionally its other artifacts.

    `run_results` may be several files: `dbt test` overwrites that of `dbt run`. `sources` is the result of
    `dbt source freshness`. `target` distinguishes several manifests of one project. `project`: the only
    project whose manifest is accepted ("": any).
    """

    manifest: str
    namespace: str
    catalog: str = ""
    run_results: tuple[str, ...] = ()
    target: str = ""
    sources: str = ""
    project: str = ""

    @property
    def files(self) -> tuple[str, ...]:
        """The manifest and the other artifacts."""
        return (self.manifest, *(file for file, _ in self.side_files))

    @property
    def side_files(self) -> tuple[tuple[str, What], ...]:
        """The artifacts that may be missing, with what they are."""
        run_results: list[tuple[str, What]] = [(file, "run results file") for file in self.run_results]
        files: list[tuple[str, What]] = [
            (self.catalog, "catalog"),
            *run_results,
            (self.sources, "sources file"),
        ]
        return tuple(file for file in files if file[0])


def namespaces(projects: Sequence[DbtProject]) -> list[NamespaceSetting]:
    """Return the namespaces of the projects."""
    settings = []
    for index, project in enumerate(projects):
        manifest = redact(project.manifest)
        entry = {"manifest": manifest}
        settings.append(
            NamespaceSetting(f"dbt[{index}].namespace", project.namespace, "dbt", entry, manifest=manifest)
        )
    return settings


def parse(settings: Sequence[Any]) -> tuple[DbtProject, ...]:
    """Parse settings that fit the schema. Raises `ConfigError`."""
    errors = ErrorCollector()
    dbt_projects = [
        DbtProject(
            entry["manifest"],
            errors.get(partial(namespace, f"dbt[{index}].namespace", entry["namespace"]), ""),
            entry.get("catalog", ""),
            locations(entry.get("run_results", ())),
            entry.get("target", ""),
            entry.get("sources", ""),
            entry.get("project", ""),
        )
        for index, entry in enumerate(settings)
    ]
    errors.raise_errors()
    return tuple(dbt_projects)

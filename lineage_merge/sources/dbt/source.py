"""The dbt source."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from lineage_merge.sources.dbt import settings as section
from lineage_merge.sources.dbt.settings import KINDS, DbtProject
from lineage_merge.sources.settings import NamespaceSetting
from lineage_merge.sources.source import ModelJob, Source

if TYPE_CHECKING:
    from lineage_merge.config import Config
    from lineage_merge.infra.engine.rows import Engine, Rows
    from lineage_merge.model.records import Record
    from lineage_merge.sources.diagnosis import SourceCheck
    from lineage_merge.sources.discovery import SourceDiscovery
    from lineage_merge.sources.resolver import Resolver

Projects = tuple[DbtProject, ...]


class DbtSource(Source[Projects]):
    """Reads the artefacts of dbt projects."""

    name, key = "dbt", "dbt"
    settings = Projects
    description = "dbt projects"
    kinds = KINDS
    job_types = ("dbt",)
    by_project = True
    without_sqlglot = "no column lineage of dbt models"

    def read(self, engine: "Engine", config: "Config", resolver: "Resolver") -> "Rows[Record]":
        from lineage_merge.sources.dbt.reader import read_dbt

        return read_dbt(engine, config, resolver)

    def files(self, settings: Projects) -> Iterable[str]:
        return [file for project in settings for file in project.files]

    def size(self, settings: Projects) -> int | None:
        from lineage_merge.sources.dbt import reader

        return reader.size(settings)

    def checks(self) -> "Sequence[SourceCheck]":
        from lineage_merge.sources.dbt.doctor import CHECKS

        return CHECKS

    def model_jobs(self, engine: "Engine", settings: Projects) -> "Rows[ModelJob]":
        from lineage_merge.sources.dbt import reader

        return reader.model_jobs(engine, settings)

    def namespaces(self, settings: Projects) -> Iterable[NamespaceSetting]:
        return section.namespaces(settings)

    def list_stated_projects(self, settings: Projects) -> Iterable[str]:
        return [project.project for project in settings if project.project]

    def discovery(self) -> "SourceDiscovery":
        from lineage_merge.sources.dbt.discovery import DbtDiscovery

        return DbtDiscovery()


DBT = DbtSource()

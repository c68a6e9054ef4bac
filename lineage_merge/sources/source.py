"""The protocol of a source: what it reads, and what it offers to other parts. Imports no Spark."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from lineage_merge.infra import setting
from lineage_merge.sources.kinds import Kind
from lineage_merge.sources.settings import NamespaceSetting

if TYPE_CHECKING:
    from lineage_merge.config import Config
    from lineage_merge.infra.engine.rows import Engine, Rows
    from lineage_merge.infra.storage import Slice
    from lineage_merge.model.elements import Reference
    from lineage_merge.sources.airflow_support import AirflowSupport
    from lineage_merge.sources.diagnosis import SourceCheck
    from lineage_merge.sources.discovery import SourceDiscovery
    from lineage_merge.sources.resolver import Resolver

Settings = TypeVar("Settings")


class ModelJob(NamedTuple):
    """The job of a node that dbt builds; `target`: the configured one of its manifest."""

    node: str
    target: str
    name: str
    dataset: "Reference"


class Source(Generic[Settings]):
    """A source: its display `name`, its `key` in the configuration, and how it is read.

    `settings` is the type of its settings, a dataclass or a tuple of them, and `description` that of its part
    of the configuration, with an `example` if the keys have none. These and `read` are required, the others
    are what a source may have. Methods import what they need when they are called: the configuration and
    ``--help`` load every source.

    `kinds`: the documents that it recognizes, for messages about another source's input. `job_types` are
    those whose jobs it describes; `usual_job_types` those of most jobs, of a source whose documents have
    their own. `by_project`: it describes them project by project, and what a project no longer contains is
    retired at once, unless a document of the source was rejected. `reports_runs`: it reports all runs of its
    jobs. `is_catalog`: it only describes datasets that other sources reference. `has_raw_uris`: its datasets
    are raw URIs, which rules match. `precedence`: of sources that read what different clients in one job may
    have reported, the smallest counts; 0 for others. `without_sqlglot`: what is missing where sqlglot is not
    installed.
    """

    name: str
    key: str
    settings: Any
    description: str
    example: Any = None
    kinds: tuple[Kind, ...] = ()
    job_types: tuple[str, ...] = ()
    usual_job_types: tuple[str, ...] = ()
    by_project = False
    reports_runs = False
    is_catalog = False
    has_raw_uris = False
    precedence = 0
    without_sqlglot = ""

    def parse(self, written: Any) -> Settings:
        """Return settings that fit the schema as the object in ``Config.sources``. Raises `ConfigError`."""
        parsed: Settings = setting.parse(self.settings, written, self.key)
        return parsed

    def read(self, engine: "Engine", config: "Config", resolver: "Resolver") -> "Rows[Any]":
        """Return the records of the source; of a catalog, its entries (`model.records.CatalogEntry`)."""
        raise NotImplementedError

    # The input

    def files(self, _settings: Settings) -> Iterable[str]:
        """Return the files that it reads."""
        return ()

    def size(self, _settings: Settings) -> int | None:
        """List the input without Spark; return its bytes, or None if only reading shows them.

        Raises the errors of reading.
        """
        return None

    def preflight(self, _settings: Settings) -> None:
        """Check before Spark starts whether the source can be read. Raises `SourceError`."""

    def checks(self) -> "Sequence[SourceCheck]":
        """Return the sections of `doctor`; without any, `preflight` is the only check."""
        return ()

    def needs_aws(self, _settings: Settings) -> bool:
        """Return whether it needs AWS credentials for more than files in S3."""
        return False

    def with_secrets(self, settings: Settings) -> Settings:
        """Return the settings with the secrets of the driver's environment, for Spark's executors."""
        return settings

    # Names and jobs

    def catalogs(self, _settings: Settings) -> Mapping[str, str]:
        """Return the namespaces of Spark's catalogs, by name."""
        return {}

    def namespaces(self, _settings: Settings) -> Iterable[NamespaceSetting]:
        """Return the namespaces that are configured for its tables."""
        return ()

    def retire_after(self, settings: Settings) -> int:
        """Return after how many successful runs of a job without a write its target is retired (0: never)."""
        return int(getattr(settings, "retire_after", 0))

    def list_stated_projects(self, _settings: Settings) -> Iterable[str]:
        """Return the projects that the configuration names."""
        return ()

    def model_jobs(self, engine: "Engine", _settings: Settings) -> "Rows[ModelJob]":
        """Return the jobs of what it builds in warehouses, whose logs have their statements."""
        return engine.empty()

    # Other parts

    def discovery(self) -> "SourceDiscovery":
        """Return what `init` does for the source."""
        from lineage_merge.sources.discovery import SourceDiscovery

        return SourceDiscovery()

    def airflow(self) -> "AirflowSupport | None":
        """Return what Airflow does for a source with a server."""
        return None

    @property
    def described_job_types(self) -> tuple[str, ...]:
        """Return the types of the jobs that it describes, as far as declared; else its key."""
        return self.job_types or self.usual_job_types or (self.key,)


class FileSource(Source[Settings]):
    """A source of `files` of lines, and perhaps of a Kafka topic."""

    def find(self, settings: Settings) -> "list[Slice]":
        """List the files, cut into slices. Raises `SourceMissing` for a location without files."""
        from lineage_merge.sources import line_files

        return line_files.find(self.files(settings))

    def size(self, settings: Settings) -> int | None:
        """Return the stored bytes of the files, None with a Kafka topic. Raises `SourceError`."""
        if getattr(settings, "kafka", None):
            return None
        return sum(part.end - part.start for part in self.find(settings))

    def preflight(self, settings: Settings) -> None:
        """Check that the files can be listed. Raises `SourceError`."""
        self.find(settings)

"""The ``dbt`` configuration section: one entry per project."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lineage_merge.sources.settings import locations, namespace


@dataclass(frozen=True, slots=True)
class DbtProject:
    """A dbt project: its manifest, the namespace of its tables, optionally its other artifacts.

    `run_results` may be several files: `dbt test` overwrites that of `dbt run`. `sources` is the result of
    `dbt source freshness`. `target` distinguishes several manifests of one project.
    """

    manifest: str
    namespace: str
    catalog: str = ""
    run_results: tuple[str, ...] = ()
    target: str = ""
    sources: str = ""

    @property
    def files(self) -> tuple[str, ...]:
        """The manifest and the other artifacts."""
        return tuple(filter(None, (self.manifest, *self.side_files)))

    @property
    def side_files(self) -> tuple[str, ...]:
        """The artifacts that may be missing."""
        return tuple(filter(None, (self.catalog, *self.run_results, self.sources)))


def parse(settings: Sequence[Any]) -> tuple[DbtProject, ...]:
    """Parse settings that fit the schema. Raises `ConfigError`."""
    return tuple(
        DbtProject(
            entry["manifest"],
            namespace(f"dbt[{index}].namespace", entry["namespace"]),
            entry.get("catalog", ""),
            locations(entry.get("run_results", ())),
            entry.get("target", ""),
            entry.get("sources", ""),
        )
        for index, entry in enumerate(settings)
    )

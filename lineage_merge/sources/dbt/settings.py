"""``dbt`` in the configuration: one entry a project."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lineage_merge.sources.settings import namespace


@dataclass(frozen=True, slots=True)
class DbtProject:
    """One dbt project: its manifest, the namespace of its tables, its catalog and run results if given.

    `target` distinguishes several manifests of one project.
    """

    manifest: str
    namespace: str
    catalog: str = ""
    run_results: str = ""
    target: str = ""


def parse(settings: Sequence[Any]) -> tuple[DbtProject, ...]:
    """What the schema has passed. Raises `ConfigError`."""
    return tuple(
        DbtProject(
            entry["manifest"],
            namespace(f"dbt[{index}].namespace", entry["namespace"]),
            entry.get("catalog", ""),
            entry.get("run_results", ""),
            entry.get("target", ""),
        )
        for index, entry in enumerate(settings)
    )

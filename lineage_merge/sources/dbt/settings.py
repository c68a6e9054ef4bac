"""The ``dbt`` configuration section: one entry per project."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from lineage_merge.infra.error_collection import ErrorCollector
from lineage_merge.sources.settings import namespace


@dataclass(frozen=True, slots=True)
class DbtProject:
    """A dbt project: its manifest, the namespace of its tables, optionally its catalog and run results.

    `target` distinguishes several manifests of one project.
    """

    manifest: str
    namespace: str
    catalog: str = ""
    run_results: str = ""
    target: str = ""


def parse(settings: Sequence[Any]) -> tuple[DbtProject, ...]:
    """Parse settings that fit the schema. Raises `ConfigError`."""
    errors = ErrorCollector()
    found = [
        DbtProject(
            entry["manifest"],
            errors.get(partial(namespace, f"dbt[{index}].namespace", entry["namespace"]), ""),
            entry.get("catalog", ""),
            entry.get("run_results", ""),
            entry.get("target", ""),
        )
        for index, entry in enumerate(settings)
    ]
    errors.raise_errors()
    return tuple(found)

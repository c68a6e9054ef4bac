"""Locations of sources, and their settings in the structure of the configuration file."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lineage_merge.sources.dbt.source import DBT
from lineage_merge.sources.registry import SOURCES
from lineage_merge.sources.source import Source
from lineage_merge.sources.spline.source import SPLINE

# Sources that report jobs of a cluster.
JOB_SOURCES = tuple(source for source in SOURCES if source.line_files.key)


@dataclass(frozen=True, slots=True)
class Sources:
    """Locations of the sources of one configuration; `arango` are the settings of Spline's database.

    `line_files`: the locations of `Source.line_files`, by the key of the source.
    """

    spline_export: str = ""
    arango: Mapping[str, str] = field(default_factory=dict)
    line_files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sql: tuple[str, ...] = ()
    sql_dialect: str = ""
    dbt: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Return whether there is no source at all."""
        return not (self.job_settings() or self.sql or self.dbt)

    def with_found(self, found: "Sources") -> "Sources":
        """Return these sources, and those found elsewhere of which these have none."""
        has_spline = bool(self.spline_export or self.arango or self.line_files.get(SPLINE.key))
        line_files = {**found.line_files, **self.line_files}
        if has_spline and SPLINE.key not in self.line_files:
            line_files.pop(SPLINE.key, None)
        return replace(
            self,
            spline_export=self.spline_export if has_spline else found.spline_export,
            line_files=line_files,
            dbt=self.dbt or found.dbt,
        )

    def document_of(self, source: Source) -> str:
        """Return the flag and the first location of a dbt manifest or an export of Spline, or ""."""
        if source is SPLINE and self.spline_export:
            return f"{SPLINE.flags['export']} {self.spline_export}"
        return f"{DBT.flags['manifest']} {self.dbt[0]}" if source is DBT and self.dbt else ""

    def job_settings(self, folder: Path | None = None) -> dict[str, Any]:
        """Return the settings of the sources that report jobs, except SQL and dbt.

        Locations are relative to `folder` if they are below it.
        """
        settings: dict[str, Any] = {}
        for source in JOB_SOURCES:
            if source is SPLINE and self.spline_export:
                settings[source.key] = {"export": located(self.spline_export, folder)}
            elif source is SPLINE and self.arango:
                settings[source.key] = {"arango": dict(self.arango)}
            elif locations := self.line_files.get(source.key):
                settings[source.key] = {source.line_files.key: _one_or_several(locations, folder)}
        return settings


def located(location: str, folder: Path | None) -> str:
    """Return a location as a configuration file in `folder` has it; None: unchanged.

    A local path below the folder becomes relative, another one absolute.
    """
    if folder is None or "://" in location:
        return location
    # Links are not resolved: a link below the folder is below it.
    path = Path(location).expanduser().absolute()
    path, root = (Path(os.path.normpath(each)) for each in (path, folder.absolute()))
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)


def _one_or_several(locations: tuple[str, ...], folder: Path | None) -> str | list[str]:
    found = [located(location, folder) for location in locations]
    return found[0] if len(found) == 1 else found


def arango_settings(
    url: str, database: str = "", username: str = "", password_env: str = ""
) -> dict[str, str]:
    """Return the settings of Spline's database, without those that have their default."""
    optional = {"username": username, "password_env": password_env}
    given = {name: value for name, value in optional.items() if value}
    return {"hosts": url.rstrip("/"), "database": database or "spline", **given}

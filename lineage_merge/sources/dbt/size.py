"""Input size of dbt projects, without reading their files."""

from collections.abc import Sequence
from contextlib import suppress

from lineage_merge.model.errors import SourceMissing
from lineage_merge.sources.dbt import artefact
from lineage_merge.sources.dbt.settings import DbtProject


def size(projects: Sequence[DbtProject]) -> int:
    """Return the stored bytes of all manifests and other artifacts. Raises `SourceError`."""
    return sum(map(_of_project, projects))


def _of_project(project: DbtProject) -> int:
    found = artefact.size(project.manifest, "manifest")
    for file, what in project.side_files:
        with suppress(SourceMissing):  # reported later, and not an error
            found += artefact.size(file, what)
    return found

"""Input size of dbt projects, without reading their files."""

from collections.abc import Sequence
from contextlib import suppress

from lineage_merge.infra.storage import size_of
from lineage_merge.model.errors import SourceMissing
from lineage_merge.sources.dbt.settings import DbtProject


def size(projects: Sequence[DbtProject]) -> int:
    """Return the stored bytes of all manifests and other artifacts. Raises `SourceError`."""
    return sum(map(_of_project, projects))


def _of_project(project: DbtProject) -> int:
    found = size_of(project.manifest)
    for file in project.side_files:
        with suppress(SourceMissing):  # reported later, and not an error
            found += size_of(file)
    return found

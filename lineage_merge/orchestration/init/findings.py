"""What an inspection finds in sources. Pure types."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from lineage_merge.model.elements import Reference
from lineage_merge.sources.discovery import ProjectFindings


class ObservedJob(NamedTuple):
    """A job, the key of its source, and the time of its last run (ms since 1970, 0: unknown)."""

    source: str
    name: str
    newest: int = 0


@dataclass(frozen=True, slots=True)
class JobFindings:
    """What sources report that have files of lines, or a database.

    `references` are the datasets of their jobs, as the sources name them. `catalogs`: namespaces by Spark's
    catalog names. `versions`: those of what wrote the input, by the key of the source. `is_sample`: the input
    is large and was read in part.
    """

    jobs: tuple[ObservedJob, ...] = ()
    references: frozenset[Reference] = frozenset()
    catalogs: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    is_sample: bool = False


@dataclass(frozen=True, slots=True)
class Findings:
    """What an inspection found in all sources."""

    jobs: JobFindings = JobFindings()
    projects: tuple[ProjectFindings, ...] = ()

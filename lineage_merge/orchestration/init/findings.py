"""What an inspection finds in sources. Pure types."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from lineage_merge.model.elements import Reference


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
class ManifestFindings:
    """What a dbt manifest contains. `sources` and `built` are the names of its datasets in the warehouse.

    `schemas` are its ``database.schema``, the most frequent first. `catalog`, `run_results` and
    `freshness` (`sources.json`) are files beside the manifest, "" if missing.
    """

    location: str
    project: str
    adapter: str
    dbt_version: str = ""
    generated_at: int = 0
    nodes: int = 0
    sources: frozenset[str] = frozenset()
    built: frozenset[str] = frozenset()
    schemas: tuple[str, ...] = ()
    catalog: str = ""
    run_results: str = ""
    freshness: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Findings:
    """What an inspection found in all sources."""

    jobs: JobFindings = JobFindings()
    manifests: tuple[ManifestFindings, ...] = ()

"""Declaration of the OpenLineage source. Its job types are those in the events."""

from lineage_merge.sources.openlineage.settings import parse
from lineage_merge.sources.source import LineFiles, Source

OPENLINEAGE = Source(
    "OpenLineage",
    "openlineage",
    "lineage_merge.sources.openlineage",
    parse,
    "lineage_merge.sources.openlineage.reader:read_openlineage",
    size="lineage_merge.sources.openlineage.files:size",
    paths=("events", "kafka.landing"),
    preflight="lineage_merge.sources.openlineage.files:preflight",
    checks="lineage_merge.sources.openlineage.doctor:CHECKS",
    files=lambda openlineage: openlineage.events,
    retire_after=lambda openlineage: openlineage.retire_after,
    usual_job_types=("spark",),
    flags={"events": "--openlineage"},
    line_files=LineFiles(
        "events",
        "OpenLineage events",
        "lineage_merge.sources.openlineage.files:has_events",
        # A JSON line that is no event is skipped.
        rejects=("rejected", "skipped"),
    ),
)

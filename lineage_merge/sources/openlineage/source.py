"""Declaration of the OpenLineage source. Its job types are those in the events."""

import re

from lineage_merge.sources.openlineage.settings import parse
from lineage_merge.sources.source import Kind, LineFiles, Source, files_option

EVENTS = Kind(
    "OpenLineage events",
    "give them as openlineage.events",
    tuple(("eventTime", "producer", subject) for subject in ("run", "job", "dataset")),
    pattern=re.compile(r'"eventTime\\?"\s*:.{0,4000}?"(?:producer|schemaURL)\\?"\s*:', re.DOTALL),
)

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
    kinds=(EVENTS,),
    options=(files_option("--openlineage", "events", "OpenLineage events"),),
    line_files=LineFiles(
        "events",
        "lineage_merge.sources.openlineage.files:has_events",
        # A JSON line that is no event is skipped.
        rejects=("rejected", "skipped"),
    ),
)

"""Declaration of the Spline source: the server's database, exported or live, or the agents' files."""

from lineage_merge.sources.source import LineFiles, Source
from lineage_merge.sources.spline.settings import LOCATION_KEYS, parse

SPLINE = Source(
    "Spline",
    "spline",
    "lineage_merge.sources.spline",
    parse,
    "lineage_merge.sources.spline.reader:read_spline",
    size="lineage_merge.sources.spline.inspection:size",
    paths=("export", "agent", "kafka.landing"),
    preflight="lineage_merge.sources.spline.inspection:preflight",
    checks="lineage_merge.sources.spline.doctor:CHECKS",
    files=lambda spline: (spline.export, *spline.agent),
    needs_aws=lambda spline: bool(spline.arango and spline.arango.password_secret),
    with_secrets=lambda spline: spline.with_secrets(),
    has_raw_uris=True,
    retire_after=lambda spline: spline.retire_after,
    job_types=("spark",),
    flags={"export": "--spline-export", "agent": "--spline-agent"},
    line_files=LineFiles(
        "agent", "files of Spline's agent", "lineage_merge.sources.spline.inspection:has_messages"
    ),
    job_word="application",
    selected_by="applications",
    version="lineage_merge.sources.spline.inspection:version",
    sample="lineage_merge.sources.spline.inspection:sample",
    how_to_create=(
        "export Spline's database with arangoexport --type jsonl, one file per collection, into this folder"
    ),
    location_keys=LOCATION_KEYS,
    connection="arangodb_default",
)

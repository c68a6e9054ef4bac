"""Spline as a source: its server's database, exported or live, or what its agents wrote."""

from lineage_merge.sources.source import Source
from lineage_merge.sources.spline.settings import PLACES, parse

SPLINE = Source(
    "Spline",
    "spline",
    "lineage_merge.sources.spline",
    parse,
    "lineage_merge.sources.spline.reader:read_spline",
    size="lineage_merge.sources.spline.size:size",
    paths=("export", "agent", "kafka.landing"),
    look="lineage_merge.sources.spline.preflight:look",
    checks=(
        ("ArangoDB", "lineage_merge.orchestration.doctor.arango:examine"),
        ("Spline export", "lineage_merge.orchestration.doctor.exports:examine_export"),
        ("Spline agent", "lineage_merge.orchestration.doctor.agent:examine"),
    ),
    files=lambda spline: (spline.export, *spline.agent),
    needs_aws=lambda spline: bool(spline.arango and spline.arango.password_secret),
    with_secrets=lambda spline: spline.with_secrets(),
    retire_after=lambda spline: spline.retire_after,
    job_types=("spark",),
    places=PLACES,
    connection="arangodb_default",
)

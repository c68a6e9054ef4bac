"""Declaration of the Spline source: the server's database, exported or live, or the agents' files."""

from lineage_merge.sources.source import Source
from lineage_merge.sources.spline.settings import LOCATION_KEYS, parse

SPLINE = Source(
    "Spline",
    "spline",
    "lineage_merge.sources.spline",
    parse,
    "lineage_merge.sources.spline.reader:read_spline",
    size="lineage_merge.sources.spline.preflight:size",
    paths=("export", "agent", "kafka.landing"),
    preflight="lineage_merge.sources.spline.preflight:preflight",
    checks="lineage_merge.sources.spline.doctor:CHECKS",
    files=lambda spline: (spline.export, *spline.agent),
    needs_aws=lambda spline: bool(spline.arango and spline.arango.password_secret),
    with_secrets=lambda spline: spline.with_secrets(),
    has_raw_uris=True,
    retire_after=lambda spline: spline.retire_after,
    job_types=("spark",),
    location_keys=LOCATION_KEYS,
    connection="arangodb_default",
)

"""Declaration of the AWS Glue source: a catalog with the paths of tables that other sources reference."""

from lineage_merge.sources.glue.settings import parse
from lineage_merge.sources.source import Source, Suggestion

_SUGGESTION = """\
# Glue's catalog joins dbt's tables with the paths that Spark writes:
# glue:
#   - region: us-east-1"""

GLUE = Source(
    "the Glue catalog",
    "glue",
    "lineage_merge.sources.glue",
    parse,
    "lineage_merge.sources.glue.reader:read_glue",
    size="lineage_merge.sources.glue.client:size",
    checks="lineage_merge.sources.glue.doctor:CHECKS",
    needs_aws=lambda _: True,
    is_catalog=True,
    # dbt adapters whose tables are files in S3, listed in Glue's catalog.
    suggestion=Suggestion(("athena", "glue"), _SUGGESTION),
)

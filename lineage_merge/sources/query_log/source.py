"""Declaration of the query log source."""

from lineage_merge.sources.query_log.settings import JOB_TYPES, namespaces, parse, retire_after
from lineage_merge.sources.source import InitOption, Kind, Source

STATEMENTS = Kind(
    "a query log",
    "give its folder as query_log[].path",
    (("id", "session", "statement", "started"),),
)
VIEW = Kind(
    "an export of Redshift's system views",
    "give its folder as query_log[].path",
    (("query_id", "session_id", "query_text"),),
)

QUERY_LOG = Source(
    "query log",
    "query_log",
    "lineage_merge.sources.query_log",
    parse,
    "lineage_merge.sources.query_log.reader:read_query_log",
    size="lineage_merge.sources.query_log.doctor:size",
    paths=("path",),
    preflight="lineage_merge.sources.query_log.doctor:preflight",
    checks="lineage_merge.sources.query_log.doctor:CHECKS",
    files=lambda logs: [log.path for log in logs if log.path],
    needs_aws=lambda logs: any(not log.path for log in logs),
    namespaces=namespaces,
    retire_after=retire_after,
    job_types=tuple(JOB_TYPES.values()),
    kinds=(STATEMENTS, VIEW),
    options=(
        InitOption(
            "--query-log",
            "path",
            "folder with Redshift's exported system views",
            "query logs",
            is_repeatable=True,
        ),
    ),
    discovery="lineage_merge.sources.query_log.discovery:QueryLogDiscovery",
    job_word="statement",
)

"""Declaration of the dbt source."""

from lineage_merge.sources.dbt.settings import namespaces, parse
from lineage_merge.sources.source import Source

DBT = Source(
    "dbt",
    "dbt",
    "lineage_merge.sources.dbt",
    parse,
    "lineage_merge.sources.dbt.reader:read_dbt",
    size="lineage_merge.sources.dbt.reader:size",
    paths=("manifest", "catalog", "run_results", "sources"),
    checks="lineage_merge.sources.dbt.doctor:CHECKS",
    files=lambda projects: [file for project in projects for file in project.files],
    without_sqlglot="no column lineage of dbt models",
    namespaces=namespaces,
    by_project=True,
    job_types=("dbt",),
    how_to_create="run dbt compile, and give target/manifest.json",
    flags=dict.fromkeys(("manifest", "catalog", "run_results"), "--dbt"),
)

"""Declaration of the SQL file source."""

from lineage_merge.sources.source import Source
from lineage_merge.sources.sql.settings import namespaces, parse

SQL = Source(
    "SQL files",
    "sql",
    "lineage_merge.sources.sql",
    parse,
    "lineage_merge.sources.sql.reader:read_sql",
    size="lineage_merge.sources.sql.files:size",
    paths=("path", "schema"),
    preflight="lineage_merge.sources.sql.files:preflight",
    files=lambda folders: [path for folder in folders for path in (folder.path, *folder.schema)],
    namespaces=namespaces,
    by_project=True,
    job_types=("sql",),
    flags={"path": "--sql"},
)

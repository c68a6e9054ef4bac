"""Declaration of the SQL file source."""

import re

from lineage_merge.sources.source import InitOption, Kind, Source
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
    kinds=(
        Kind(
            "a SQL file",
            "give its folder as sql[].path",
            pattern=re.compile(r"(?i)\A(?:\s|--[^\n]*\n)*(?:select|insert|create|with|merge|use)\s"),
        ),
    ),
    options=(
        InitOption("--sql", "path", "folder of SQL files", "SQL files", is_repeatable=True),
        InitOption("--sql-dialect", "dialect", "their dialect", metavar="NAME", default="spark"),
    ),
    discovery="lineage_merge.sources.sql.discovery:SqlDiscovery",
)

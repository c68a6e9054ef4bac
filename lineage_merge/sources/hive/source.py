"""Declaration of the Hive source."""

import re

from lineage_merge.sources.hive.settings import parse
from lineage_merge.sources.source import Kind, LineFiles, Source, files_option

LINEAGE = Kind(
    "lineage of Hive queries",
    "give the log as hive.log",
    (("edges", "vertices"),),
    pattern=re.compile(r'LineageLogger|"edgeType\\?"\s*:'),
)

HIVE = Source(
    "Hive",
    "hive",
    "lineage_merge.sources.hive",
    parse,
    "lineage_merge.sources.hive.reader:read_hive",
    size="lineage_merge.sources.hive.preflight:size",
    paths=("log", "kafka.landing"),
    preflight="lineage_merge.sources.hive.preflight:preflight",
    checks="lineage_merge.sources.hive.doctor:CHECKS",
    files=lambda hive: hive.log,
    catalogs=lambda hive: dict.fromkeys(hive.spark_catalogs, hive.namespace),
    namespaces=lambda hive: hive.namespaces(),
    retire_after=lambda hive: hive.retire_after,
    job_types=("hive",),
    kinds=(LINEAGE,),
    options=(files_option("--hive", "log", "logs with Hive's lineage"),),
    line_files=LineFiles("log", "lineage_merge.sources.hive.preflight:has_lineage"),
)

"""Check of Hive's logs: they exist and contain lineage."""

from collections.abc import Iterator

from lineage_merge.infra.storage import Slice
from lineage_merge.model.elements import Problem
from lineage_merge.sources import line_files, log_diagnosis
from lineage_merge.sources.diagnosis import Diagnosis, SourceCheck
from lineage_merge.sources.hive.log import Found, documents
from lineage_merge.sources.hive.query import read_query
from lineage_merge.sources.hive.settings import Hive
from lineage_merge.sources.hive.source import LINEAGE

LOG = "Hive log"
_HOOK = "set hive.exec.post.hooks=org.apache.hadoop.hive.ql.hooks.LineageLogger, and its logger to INFO"


def _examine(hive: Hive) -> Iterator[Diagnosis]:
    """Check the files of each location, and the last one for a line with lineage."""
    return log_diagnosis.examine(LOG, "hive.log", hive.log, _inspect, _HOOK, LINEAGE)


def _inspect(part: Slice) -> tuple[bool, Problem | None]:
    """Return whether there is a valid line, else the problem of the first one."""
    return log_diagnosis.validity(documents(line_files.numbered(part)), _problem)


def _problem(document: Found) -> Problem | None:
    query = read_query(document)
    return query if isinstance(query, Problem) else None


CHECKS = (SourceCheck(LOG, _examine),)

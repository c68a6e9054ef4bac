"""Check of Hive's logs: they exist and contain lineage."""

from collections.abc import Iterator
from itertools import islice

from lineage_merge.config import Config
from lineage_merge.infra.storage import Slice
from lineage_merge.model.elements import Problem
from lineage_merge.orchestration.doctor import logs
from lineage_merge.orchestration.doctor.finding import Finding
from lineage_merge.sources import document_kind, line_files
from lineage_merge.sources.hive.log import Found, documents
from lineage_merge.sources.hive.query import read_query
from lineage_merge.sources.hive.settings import Hive

LOG = "Hive log"
_HOOK = "set hive.exec.post.hooks=org.apache.hadoop.hive.ql.hooks.LineageLogger, and its logger to INFO"


def examine(config: Config) -> Iterator[Finding]:
    """Check the files of each location, and the last one for a line with lineage."""
    hive = config.of(Hive)
    return logs.examine(LOG, "hive.log", hive.log if hive else (), _inspect, _HOOK, document_kind.HIVE)


def _inspect(part: Slice) -> tuple[bool, Problem | None]:
    """Return whether there is a valid line, else the problem of the first one."""
    problem: Problem | None = None
    for found in islice(line_files.until_damage(documents(line_files.numbered(part))), 100):
        query = read_query(found) if isinstance(found, Found) else found
        if not isinstance(query, Problem):
            return True, None
        problem = problem or query
    return False, problem

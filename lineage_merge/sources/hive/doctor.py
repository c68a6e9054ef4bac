"""Checks of Hive's logs without Spark: they exist and contain lineage; how `init` finds them."""

from collections.abc import Iterator

from lineage_merge.infra.storage import Slice, StoredFile
from lineage_merge.model.elements import Problem
from lineage_merge.sources import line_files
from lineage_merge.sources.diagnosis import Diagnosis, SourceCheck, examine_lines, validity
from lineage_merge.sources.discovery import SourceDiscovery, files_option
from lineage_merge.sources.hive.log import Found, documents
from lineage_merge.sources.hive.query import read_query
from lineage_merge.sources.hive.settings import LINEAGE, Hive

LOG = "Hive log"
_HOOK = "set hive.exec.post.hooks=org.apache.hadoop.hive.ql.hooks.LineageLogger, and its logger to INFO"


def _examine(hive: Hive) -> Iterator[Diagnosis]:
    """Check the files of each location, and the last one for a line with lineage."""
    return examine_lines(LOG, "hive.log", hive.log, _inspect, _HOOK, LINEAGE, times_of=_times)


def _inspect(part: Slice) -> tuple[bool, Problem | None]:
    """Return whether there is a valid line, else the problem of the first one."""
    return validity(documents(line_files.number_lines(part)), _problem)


def _problem(document: Found) -> Problem | None:
    query = read_query(document)
    return query if isinstance(query, Problem) else None


def _times(part: Slice) -> Iterator[int]:
    for found in line_files.stop_at_damage(documents(line_files.number_lines(part))):
        query = found if isinstance(found, Problem) else read_query(found)
        if not isinstance(query, Problem) and query.at is not None:
            yield query.at


CHECKS = (SourceCheck(LOG, _examine),)


class HiveDiscovery(SourceDiscovery):
    """Logs with lineage."""

    options = (files_option("--hive", "log", "logs with Hive's lineage"),)
    line_key = "log"

    def has_documents(self, file: StoredFile) -> bool:
        """Return whether the first lines of a file contain lineage. Raises `SourceError`."""
        lineage = (
            document for document in documents(line_files.first_lines(file)) if isinstance(document, Found)
        )
        # Other documents have edges, too.
        return any(document.document.keys() >= {"edges", "vertices"} for document in lineage)

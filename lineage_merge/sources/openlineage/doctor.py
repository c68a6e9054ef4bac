"""Check of OpenLineage events: they exist and are valid; how `init` finds them."""

from collections.abc import Iterator
from itertools import islice

from lineage_merge.infra.storage import Slice, StoredFile
from lineage_merge.model.elements import Problem
from lineage_merge.sources.diagnosis import Diagnosis, SourceCheck, examine_lines
from lineage_merge.sources.discovery import SourceDiscovery, files_option
from lineage_merge.sources.openlineage import files, settings
from lineage_merge.sources.openlineage.documents import moment
from lineage_merge.sources.openlineage.settings import OpenLineage

EVENTS = "OpenLineage"
_EVENTS = 200
_TRANSPORT = "set openlineage.events to the log of a file or console transport, or a folder of them"


def _examine(openlineage: OpenLineage) -> Iterator[Diagnosis]:
    """Check the files of each location, and the events at the end of the last one."""
    return examine_lines(
        EVENTS,
        "openlineage.events",
        openlineage.events,
        _inspect,
        _TRANSPORT,
        settings.EVENTS,
        files.find,
        _times,
    )


def _inspect(part: Slice) -> tuple[bool, Problem | None]:
    """Return whether there is a valid event, and the problem of the first invalid one."""
    events = list(islice(files.events(part), _EVENTS))
    broken = (problem for problem in events if isinstance(problem, Problem) and problem.kind == "rejected")
    return any(not isinstance(event, Problem) for event in events), next(broken, None)


def _times(part: Slice) -> Iterator[int]:
    return (moment(event.document) for event in files.events(part) if not isinstance(event, Problem))


CHECKS = (SourceCheck(EVENTS, _examine),)


class OpenLineageDiscovery(SourceDiscovery):
    """Files of lines with events."""

    options = (files_option("--openlineage", "events", "OpenLineage events"),)
    line_key = "events"
    # A JSON line that is no event is skipped.
    rejects = ("rejected", "skipped")

    def has_documents(self, file: StoredFile) -> bool:
        """Return whether the beginning of a file contains events. Raises `SourceError`."""
        return files.has_events(file)

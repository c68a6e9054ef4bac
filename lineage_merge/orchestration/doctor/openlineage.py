"""Are OpenLineage's events there, and do they fit?"""

from collections.abc import Iterator
from itertools import islice

from lineage_merge.config import Config
from lineage_merge.infra.storage import Slice
from lineage_merge.model.elements import Problem
from lineage_merge.orchestration.doctor import logs
from lineage_merge.orchestration.doctor.finding import Finding
from lineage_merge.sources.openlineage import files
from lineage_merge.sources.openlineage.settings import OpenLineage

EVENTS = "OpenLineage"
_EVENTS = 200
_GIVE = "give the file or console transport's log of a producer, or a folder of them"


def examine(config: Config) -> Iterator[Finding]:
    """The files of each location, and the events at the end of the last one."""
    openlineage = config.of(OpenLineage)
    events = openlineage.events if openlineage else ()
    return logs.examine(EVENTS, "openlineage.events", events, _look, _GIVE, files.find)


def _look(part: Slice) -> tuple[bool, Problem | None]:
    """Whether there is an event that fits, and what is wrong with the first that does not."""
    found = list(islice(files.events(part), _EVENTS))
    broken = (each for each in found if isinstance(each, Problem) and each.kind == "rejected")
    return any(not isinstance(each, Problem) for each in found), next(broken, None)

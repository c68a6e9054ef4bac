"""Check of the files of Spline agents: they exist and contain plans or events."""

from collections.abc import Iterator
from itertools import islice

from lineage_merge.config import Config
from lineage_merge.infra.storage import Slice
from lineage_merge.model.elements import Problem
from lineage_merge.orchestration.doctor import logs
from lineage_merge.orchestration.doctor.finding import Finding
from lineage_merge.sources import document_kind, line_files
from lineage_merge.sources.spline.agent import checks
from lineage_merge.sources.spline.agent.messages import messages
from lineage_merge.sources.spline.settings import Spline

AGENT = "Spline agent"
_DISPATCHER = "set spark.spline.lineageDispatcher=logging, or console, and its logger to INFO"


def examine(config: Config) -> Iterator[Finding]:
    """Check the files of each location, and the last one for a plan or an event."""
    spline = config.of(Spline)
    files = spline.agent if spline else ()
    return logs.examine(AGENT, "spline.agent", files, _inspect, _DISPATCHER, document_kind.AGENT)


def _inspect(part: Slice) -> tuple[bool, Problem | None]:
    """Return whether there is a valid message, else the problem of the first one."""
    problem: Problem | None = None
    for found in islice(line_files.until_damage(messages(line_files.numbered(part))), 100):
        wrong = found if isinstance(found, Problem) else checks.problem(found)
        if wrong is None:
            return True, None
        problem = problem or wrong
    return False, problem

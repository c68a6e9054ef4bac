"""Are the files there that Spline agents wrote, and is there a plan or an event in them?"""

from collections.abc import Iterator
from itertools import islice

from lineage_merge.config import Config
from lineage_merge.infra.storage import Slice
from lineage_merge.model.elements import Problem
from lineage_merge.orchestration.doctor import logs
from lineage_merge.orchestration.doctor.finding import Finding
from lineage_merge.sources import line_files
from lineage_merge.sources.spline.agent import checks
from lineage_merge.sources.spline.agent.messages import messages

AGENT = "Spline agent"
_DISPATCHER = "set spark.spline.lineageDispatcher=logging, or console, and its logger to INFO"


def examine(config: Config) -> Iterator[Finding]:
    """The files of each location, and a plan or an event in the last one."""
    files = config.spline.agent if config.spline else ()
    return logs.examine(AGENT, "spline.agent", files, _look, _DISPATCHER)


def _look(part: Slice) -> tuple[bool, Problem | None]:
    """Whether there is a good message; without one, what is wrong with the first."""
    problem: Problem | None = None
    for found in islice(line_files.until_damage(messages(line_files.numbered(part))), 100):
        wrong = found if isinstance(found, Problem) else checks.problem(found)
        if wrong is None:
            return True, None
        problem = problem or wrong
    return False, problem

"""Reader of event logs into records, distributed by log over the engine."""

import json
from collections.abc import Iterator
from functools import partial

from lineage_merge.config import Config
from lineage_merge.infra.engine.rows import Engine, Rows
from lineage_merge.model.elements import Problem
from lineage_merge.model.records import Record
from lineage_merge.sources import line_files
from lineage_merge.sources.resolver import Resolver
from lineage_merge.sources.spline.agent.plans import header
from lineage_merge.sources.spline.agent.reader import AgentEvent, AgentPlan, make_input
from lineage_merge.sources.spline.document_rows import Context
from lineage_merge.sources.spline.event_log.log_files import EventLogFiles, find_logs
from lineage_merge.sources.spline.event_log.read_logs import read_log
from lineage_merge.sources.spline.event_log.settings import LINES, EventLog
from lineage_merge.sources.spline.plan_selection import read_records

_SHARE = 16
_MOST_TASKS = 10_000


def read_event_logs(engine: Engine, config: Config, resolver: Resolver) -> Rows[Record]:
    """Read everything about the selected applications, as records."""
    settings = config.of(EventLog)
    if settings is None:
        return engine.empty()
    context = Context(settings.as_agent(), resolver, config.merge.collapse_run_local)
    logs = find_logs(settings.logs)
    parts = [part for log in logs for part in log.parts]
    # Nearly all of a log is about tasks and stages.
    engine.reserve(line_files.estimate_unpacked_bytes(parts) // _SHARE)
    numbered = [(number << 32, log) for number, log in enumerate(logs)]
    messages = engine.rows(numbered, max(engine.parallelism, min(len(logs), _MOST_TASKS))).flat_map(
        partial(_read_log, settings.cache)
    )
    named = ("Spark event logs", "logs", LINES)
    return read_records(make_input(engine, context, messages, parts, named=named))


def _read_log(cache: str, numbered: tuple[int, EventLogFiles]) -> Iterator[AgentPlan | AgentEvent | Problem]:
    """Yield the plans and events of a log, whose position is given."""
    start, log = numbered
    for number, write in enumerate(read_log(log, cache)):
        if isinstance(write, Problem):
            yield write
            continue
        plan, event = write
        text = partial(json.dumps, separators=(",", ":"))
        yield AgentPlan(plan["id"], 2, text(plan), log.location, start + number, header(plan))
        yield AgentEvent(plan["id"], event["timestamp"], text(event), log.location)

"""The events of a log that matter: the application; executions with plans, times and outcomes. Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from lineage_merge.infra.document_decoder import loads
from lineage_merge.model.elements import Problem

_SQL = "org.apache.spark.sql.execution.ui.SparkListener"
# In the lines that are parsed: nearly all others are of tasks and stages.
_WANTED = re.compile(
    rb'"Event":"(?:SparkListener(?:LogStart|ApplicationStart|ApplicationEnd|EnvironmentUpdate)'
    rb"|org\.apache\.spark\.sql\.execution\.ui\.SparkListener"
    rb'(?:SQLExecutionStart|SQLExecutionEnd|DriverAccumUpdates|SQLAdaptiveExecutionUpdate))"'
)
_ERROR = re.compile(r"^(?:[\w$]+\.)+(?P<name>[\w$]+)(?::|\s|$)")
_ERROR_CLASS = re.compile(r"^\[(?P<name>[A-Z][A-Z0-9_.]+)\]")
_METRICS = {
    "number of output rows": "numOutputRows",
    "number of written files": "numFiles",
    "written output": "numOutputBytes",
}


@dataclass(slots=True)
class Application:
    """What a log says of its application."""

    app_id: str = ""
    name: str = ""
    user: str = ""
    version: str = ""
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Execution:
    """An execution: `root` is the id of the outermost one; times in ms since 1970, None if it has not ended.

    `error` is the class of its exception, `locations` the paths of scans by their text in the plan.
    """

    id: int
    root: int
    plan: str
    started: int
    ended: int | None = None
    error: str = ""
    is_outcome_known: bool = True
    locations: dict[str, str] = field(default_factory=dict)
    metrics: dict[int, str] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Log:
    """An application, and its executions that have not ended, by id."""

    application: Application = field(default_factory=Application)
    executions: dict[int, Execution] = field(default_factory=dict)


def read_executions(lines: Iterable[tuple[str, bytes]], log: Log) -> Iterator[Execution | Problem]:
    """Yield the executions of a log as they end, and problems; `log` has what is open at that time.

    An outer execution ends after those inside of it. A last line that is cut is left out.
    """
    damaged: list[Problem] = []
    for location, line in lines:
        if not _WANTED.search(line[:200]):
            continue
        yield from damaged
        damaged = []
        try:
            event = loads(line.decode("utf-8"))
        except (ValueError, RecursionError):
            # Of an application that runs or was killed; reported if others follow.
            damaged = [Problem("rejected", location, "", "not JSON")]
            continue
        if isinstance(event, dict):
            try:
                ended = _add(log, event)
            except (TypeError, ValueError, KeyError):
                yield Problem("rejected", location, "", "an event without the fields that it must have")
                continue
            if ended is not None:
                yield ended
                del log.executions[ended.id]


def _add(log: Log, event: Mapping[str, Any]) -> Execution | None:
    """Add an event; return the execution that it ends."""
    kind = str(event.get("Event")).removeprefix(_SQL).removeprefix("SparkListener")
    application = log.application
    if kind == "LogStart":
        application.version = str(event.get("Spark Version") or "")
    elif kind == "ApplicationStart":
        application.app_id = str(event.get("App ID") or "")
        application.name = str(event.get("App Name") or "")
        application.user = str(event.get("User") or "")
    elif kind == "EnvironmentUpdate":
        properties = event.get("Spark Properties")
        application.properties = properties if isinstance(properties, dict) else {}
    elif kind == "SQLExecutionStart":
        identifier = int(event["executionId"])
        root = event.get("rootExecutionId")
        execution = log.executions[identifier] = Execution(
            identifier,
            int(root) if isinstance(root, int) else identifier,
            str(event.get("physicalPlanDescription") or ""),
            int(event.get("time") or 0),
        )
        _read_info(execution, event.get("sparkPlanInfo"))
    elif (known := log.executions.get(int(event.get("executionId", -1)))) is not None:
        _update(known, kind, event)
        return known if known.ended is not None else None
    return None


def _update(execution: Execution, kind: str, event: Mapping[str, Any]) -> None:
    if kind == "SQLExecutionEnd":
        execution.ended = int(event.get("time") or 0)
        execution.is_outcome_known = "errorMessage" in event
        if message := event.get("errorMessage"):
            # Without the message, which may contain rows.
            text = str(message).strip()
            matched = _ERROR.match(text) or _ERROR_CLASS.match(text)
            execution.error = matched["name"] if matched else "failed"
    elif kind == "SQLAdaptiveExecutionUpdate":
        _read_info(execution, event.get("sparkPlanInfo"))
    elif kind == "DriverAccumUpdates":
        for update in event.get("accumUpdates") or ():
            if isinstance(update, list) and len(update) == 2 and update[0] in execution.metrics:
                execution.counts[execution.metrics[update[0]]] = int(update[1])


def _read_info(execution: Execution, info: object) -> None:
    """Read the whole locations of scans, and the metrics of the write, from the tree of a plan."""
    for node in _nodes(info):
        location = (node.get("metadata") or {}).get("Location")
        if isinstance(location, str):
            first = location.partition(", ")[0].rstrip("]")
            execution.locations[first] = location
        if str(node.get("nodeName")).startswith("Execute "):
            for metric in node.get("metrics") or ():
                if metric.get("name") in _METRICS:
                    execution.metrics[int(metric["accumulatorId"])] = _METRICS[metric["name"]]


def _nodes(info: object) -> Iterator[Mapping[str, Any]]:
    waiting = [info]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield node
            waiting.extend(node.get("children") or ())

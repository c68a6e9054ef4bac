"""The events of a log that matter: the application, executions with plans and outcomes, streams. Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lineage_merge.infra.document_decoder import loads
from lineage_merge.model.elements import Problem
from lineage_merge.naming import redact
from lineage_merge.sources.spline.event_log.formatted_plan import is_cut

# In the lines that are parsed: nearly all others are of tasks and stages.
_WANTED = re.compile(
    rb'"Event":"(?:SparkListener(?:LogStart|ApplicationStart|ApplicationEnd|EnvironmentUpdate)'
    rb"|org\.apache\.spark\.sql\.execution\.ui\.SparkListener"
    rb"(?:SQLExecutionStart|SQLExecutionEnd|DriverAccumUpdates|SQLAdaptiveExecutionUpdate)"
    rb"|org\.apache\.spark\.sql\.streaming\.StreamingQueryListener\$Query(?:Progress|Terminated)Event"
    rb'|org\.apache\.spark\.sql\.catalyst\.catalog\.CreateTableEvent|SparkListenerJobStart)"'
)
_JOB = b'"SparkListenerJobStart"'
_JOB_OF_EXECUTION = re.compile(rb'"spark\.sql\.execution\.id":"(\d+)"')
# The last stage of a job that saves an RDD: by Hadoop's formats, or by a writer of Glue's.
_SAVING = re.compile(rb'"Stage Name":"(?:runJob|save\w*) at (?:SparkHadoopWriter|\w+Writer)\.scala')
_BATCH = re.compile(r"^runId = (?P<run>\S+)\nbatch = (?P<batch>\d+)", re.MULTILINE)
# The class of an exception: of a cause, of the task that failed, at the beginning; then Python's in a trace.
_EXCEPTIONS = (
    re.compile(r"^Caused by: (?:[\w$]+\.)+(?P<name>[\w$]+)", re.MULTILINE),
    re.compile(r"most recent failure: Lost task [^\n]*?: (?:[\w$]+\.)+(?P<name>[\w$]+)(?=:|\s)"),
    re.compile(r"\A(?:[\w$]+\.)+(?P<name>[\w$]+)(?=:|\s|$)"),
    re.compile(r"\A\[(?P<name>[A-Z][A-Z0-9_.]+)\]"),
)
_OF_PYTHON = re.compile(r"^(?P<name>[A-Za-z_][\w.]*(?:Error|Exception))(?=:|$)", re.MULTILINE)
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

    `error` is the class of its exception, `locations` the paths of scans by their text in the plan, `stream`
    the run of the streaming query whose batch this is, `rdds` the paths in the names of the RDDs of its jobs,
    `info` the operations of a plan whose text is cut.
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
    stream: str = ""
    rdds: dict[str, None] = field(default_factory=dict)
    info: Mapping[str, Any] | None = None


class Progress(NamedTuple):
    """What a streaming query says of a batch that has ended: its sources and its sink, as text.

    Without a sink: the query has ended.
    """

    stream: str
    sources: tuple[str, ...] = ()
    sink: str = ""


@dataclass(slots=True)
class Log:
    """An application, its executions that have not ended, by id, and the databases of created tables."""

    application: Application = field(default_factory=Application)
    executions: dict[int, Execution] = field(default_factory=dict)
    databases: dict[str, str] = field(default_factory=dict)


Event = Execution | Progress | Problem


def read_events(lines: Iterable[tuple[str, bytes]], log: Log) -> Iterator[Event]:
    """Yield the executions of a log as they end, batches of streams, and problems; `log` has what is open.

    An outer execution ends after those inside of it. A last line that is cut is left out.
    """
    damaged: list[Problem] = []
    for location, line in lines:
        if not _WANTED.search(line[:200]) or (_JOB in line[:60] and not _is_wanted_job(line, log)):
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
            if isinstance(ended, Problem):
                yield ended._replace(document=location)
            elif ended is not None:
                yield ended
                if isinstance(ended, Execution):
                    del log.executions[ended.id]


def _is_wanted_job(line: bytes, log: Log) -> bool:
    """Return whether a job saves an RDD, or is of an execution that reads one."""
    matched = _JOB_OF_EXECUTION.search(line)
    if matched is None:
        return _SAVING.search(line) is not None
    execution = log.executions.get(int(matched[1]))
    return execution is not None and "ExistingRDD" in execution.plan


def _add(log: Log, event: Mapping[str, Any]) -> Event | None:
    """Add an event; return the execution that it ends, or what else it says."""
    kind = str(event.get("Event")).rpartition(".")[2].removeprefix("SparkListener")
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
        batch = _BATCH.search(str(event.get("description")))
        execution = log.executions[identifier] = Execution(
            identifier,
            int(root) if isinstance(root, int) else identifier,
            str(event.get("physicalPlanDescription") or ""),
            int(event.get("time") or 0),
            stream=batch["run"] if batch else "",
        )
        _read_info(execution, event.get("sparkPlanInfo"))
        if is_cut(execution.plan):
            execution.info = event.get("sparkPlanInfo")
    elif kind == "CreateTableEvent":
        log.databases[str(event.get("name"))] = str(event.get("database") or "")
    elif kind == "JobStart":
        return _add_job(log, event)
    elif kind == "StreamingQueryListener$QueryTerminatedEvent":
        return Progress(str(event.get("runId")))
    elif kind == "StreamingQueryListener$QueryProgressEvent":
        return _read_progress(event.get("progress") or {})
    elif (known := log.executions.get(int(event.get("executionId", -1)))) is not None:
        _update(known, kind, event)
        return known if known.ended is not None else None
    return None


def _read_progress(progress: Mapping[str, Any]) -> Progress:
    sources = tuple(str(source.get("description")) for source in progress.get("sources") or ())
    sink = progress.get("sink") or {}
    return Progress(str(progress.get("runId")), sources, str(sink.get("description") or ""))


def _add_job(log: Log, event: Mapping[str, Any]) -> Problem | None:
    """Add the paths that RDDs have as their names, or return that a job saves one, to an unknown target."""
    stages = event.get("Stage Infos") or ()
    rdds = [rdd for stage in stages for rdd in stage.get("RDD Info") or ()]
    paths = dict.fromkeys(name for rdd in rdds if "/" in (name := str(rdd.get("Name"))))
    execution = log.executions.get(int((event.get("Properties") or {}).get("spark.sql.execution.id") or -1))
    if execution is not None:
        execution.rdds |= paths
        return None
    # The names of stages have the function and a line of code.
    saving = next((site for rdd in rdds if (site := str(rdd.get("Callsite"))).startswith("save")), "a save")
    of_paths = f" of {', '.join(map(redact, paths))}" if paths else ""
    what = f"{saving.partition(' at ')[0]} of an RDD{of_paths}: event logs do not have its target"
    return Problem("not-joined", "", "RDD", what)


def _update(execution: Execution, kind: str, event: Mapping[str, Any]) -> None:
    if kind == "SQLExecutionEnd":
        execution.ended = int(event.get("time") or 0)
        execution.is_outcome_known = "errorMessage" in event
        if message := event.get("errorMessage"):
            execution.error = _read_exception(str(message).strip())
    elif kind == "SQLAdaptiveExecutionUpdate":
        _read_info(execution, event.get("sparkPlanInfo"))
    elif kind == "DriverAccumUpdates":
        for update in event.get("accumUpdates") or ():
            if isinstance(update, list) and len(update) == 2 and update[0] in execution.metrics:
                execution.counts[execution.metrics[update[0]]] = int(update[1])


def _read_exception(message: str) -> str:
    """Return the class of an exception, without its message, which may contain rows."""
    found = next((last for each in _EXCEPTIONS for last in [*each.finditer(message)][-1:]), None)
    if found is not None and found["name"] == "PythonException":
        found = next(iter([*_OF_PYTHON.finditer(message)][-1:]), found)
    return found["name"] if found else "failed"


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

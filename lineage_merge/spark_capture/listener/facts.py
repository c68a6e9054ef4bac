"""Facts of an application and of an execution beside its plan: ids, start, counts, error classes."""

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_METRIC = re.compile(r"(\w+) -> \w+\(id: \d+, name: .*?, value: (-?\d+)\)")
# The counts that Spline's agent reports of a write, as Spark names them.
_COUNTS = ("numOutputRows", "numOutputBytes", "numFiles", "numParts")
# Plans that wrap the one that writes: the field with what they wrap.
_WRAPPED = {"AdaptiveSparkPlanExec": "executedPlan", "CommandResultExec": "commandPhysicalPlan"}
_PHASE = re.compile(r"PhaseSummary\((\d+),")
_ERROR_CLASS = re.compile(r"\[([A-Z][A-Z0-9_.]+)\]")
_MAX_CAUSES = 5
_GLUE = {"JOB_NAME": "glueJobName", "JOB_RUN_ID": "glueJobRunId"}


@dataclass(frozen=True, slots=True)
class Application:
    """The Spark application: its id; `glue` has the name and the run id of its Glue job, if it is one."""

    app_id: str
    glue: Mapping[str, str]


def application_of(spark: Any) -> Application:
    """Return the facts of a session's application."""
    context = spark.sparkContext
    configured = {name: context.getConf().get(f"spark.glue.{name}") for name in _GLUE}
    return Application(str(context.applicationId), glue_job(sys.argv, configured))


def glue_job(arguments: Sequence[str], configured: Mapping[str, str | None]) -> dict[str, str]:
    """Return name and run id of a Glue job: of its arguments, else of Spark's configuration; empty elsewhere.

    Glue starts a script with ``--JOB_NAME sales --JOB_RUN_ID jr_0123``, and sets ``spark.glue.JOB_NAME``.
    """
    named = {name: _argument(arguments, f"--{name}") or configured.get(name) for name in _GLUE}
    return {_GLUE[name]: value for name, value in named.items() if value}


def _argument(arguments: Sequence[str], flag: str) -> str:
    for position, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if name == flag:
            return value if equals else next(iter(arguments[position + 1 :]), "")
    return ""


def find_start_ms(query: Any) -> int | None:
    """Return when Spark began with an execution, in ms since 1970; None if it does not say."""
    return first_phase(str(query.tracker().phases().toString()))


def first_phase(text: str) -> int | None:
    """Return the start of the first phase in the text of Spark's phases. Pure."""
    return min(map(int, _PHASE.findall(text)), default=None)


def counts_of(query: Any) -> dict[str, int]:
    """Return the counts of a successful write: rows, bytes, files, partitions, as far as Spark has them."""
    plan = query.executedPlan()
    while field := _WRAPPED.get(str(plan.getClass().getSimpleName())):
        plan = getattr(plan, field)()
    # One call, however many metrics.
    return counts(str(plan.metrics().toString()))


def counts(text: str) -> dict[str, int]:
    """Return the counts of a write in the text of Spark's metrics. Pure."""
    values = {name: int(value) for name, value in _METRIC.findall(text)}
    return {name: values[name] for name in _COUNTS if values.get(name, -1) >= 0}


def error_text(error: Any) -> str:
    """Return the classes of a Java exception and its causes, with Spark's error classes.

    Messages are left out: they may contain rows (``The value 'x' cannot be cast``).
    """
    shown: list[str] = []
    while error is not None and len(shown) < _MAX_CAUSES:
        name = str(error.getClass().getSimpleName())
        error_class = _ERROR_CLASS.match(str(error.getMessage() or ""))
        shown.append(f"{name} [{error_class[1]}]" if error_class else name)
        error = error.getCause()
    return ", caused by ".join(shown)

"""Entry point of a stage as a job of a Spark cluster: AWS Glue 5, EMR Serverless, spark-submit.

Arguments are pairs ``--name value``: `--step`, `--folder`, `--config` (a path or s3://), and a flag for each
configuration key, as on the command line. Passwords are not arguments: the configuration refers to a secret.
Other arguments, such as those of Glue (``--JOB_NAME``), are ignored.

A failed step raises, so that the cluster marks the run as failed. Skipped invalid documents are no failure,
except with ``strict``.
"""

import json
import logging
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from lineage_merge.config import Config
from lineage_merge.infra import storage
from lineage_merge.infra.telemetry import running
from lineage_merge.model.errors import (
    ConfigError,
    DocumentError,
    ExportDenied,
    GraphDenied,
    GraphUnsupported,
    LineageMergeError,
    PolicyViolated,
    RetireRefused,
    SourceDenied,
    SourceError,
    TooFewJoined,
)
from lineage_merge.orchestration import policy_check, stages
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.orchestration.stages import Step

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FAILED = "failed.json"
# Errors that a repetition of the step does not resolve.
_PERMANENT = (
    ConfigError,
    DocumentError,
    SourceDenied,
    GraphDenied,
    GraphUnsupported,
    RetireRefused,
    ExportDenied,
    TooFewJoined,
    PolicyViolated,
)

log = logging.getLogger("lineage_merge.orchestration.cluster_entrypoint")


class JobArguments(NamedTuple):
    """Arguments of a job. `flags` maps dotted configuration keys to texts.

    `attempt`: unique name of this run, under which the folder stores the reason of a failure. `others`:
    names of ignored arguments.
    """

    step: Step
    folder: str
    config: str
    flags: dict[str, str]
    attempt: str
    others: tuple[str, ...]


class Failure(NamedTuple):
    """Reason of a failed step, in one line. `permanent`: a repetition fails too.

    `exit_code`: that of the error.
    """

    message: str
    permanent: bool
    exit_code: int = LineageMergeError.exit_code


def arguments(
    step: Step, folder: str, settings: Mapping[str, Any], config_file: str = "", attempt: str = ""
) -> dict[str, str]:
    """Return the arguments of a step. `settings` maps dotted keys to values.

    Raises `ConfigError` for an unknown key.
    """
    keys = {key.dotted: key for key in CONFIGURATION.settable}
    given = {"--step": step, "--folder": folder, "--config": config_file, "--attempt": attempt}
    for dotted, value in settings.items():
        if dotted not in keys:
            raise ConfigError(dotted, "is not a known key")
        given[keys[dotted].flag] = as_text(value)
    return {name: text for name, text in given.items() if text}


def as_text(value: Any) -> str:
    """Return a configuration value as the text of a flag."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and [*value] == ["since"]:
        return f"since {value['since']}"  # `spline.runs`, as in YAML
    text = json.dumps(value, default=str)
    # YARN replaces double braces, which only occur in strings, by its variables.
    return text.replace("}}", "}\\u007d").replace("{{", "{\\u007b")


def parse_arguments(words: Sequence[str]) -> JobArguments:
    """Parse the arguments of the script. Raises `ConfigError`."""
    given = dict(_pairs(words))
    flags = {key.dotted: given.pop(key.flag) for key in CONFIGURATION.settable if key.flag in given}
    step = given.pop("--step", "")
    if step not in stages.STEPS:
        raise ConfigError("", f"--step: must be {' or '.join(stages.STEPS)}, not {step or 'empty'}")
    folder = given.pop("--folder", "")
    if not folder:
        raise ConfigError("", "--folder: is missing; it is the folder of node and edge files")
    file, attempt = given.pop("--config", ""), given.pop("--attempt", "")
    return JobArguments(step, folder, file, flags, attempt, tuple(sorted(given)))


def _pairs(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    name = ""
    for word in words:
        if word.startswith("--"):
            if name:
                yield name, ""
            name, has_value, value = word.partition("=")
            if has_value:
                yield name, value
                name = ""
        elif name:
            yield name, word
            name = ""
    if name:
        yield name, ""


def main(words: Sequence[str]) -> None:
    """Run the step in the arguments, and print its outcome as one JSON object.

    Raises `LineageMergeError`, whose message is one line.
    """
    given = parse_arguments(words)
    try:
        settings = CONFIGURATION.load(
            given.config or None,
            flags=given.flags,
            needs_source=given.step == "build",
            needs_scope=given.step != "load",
        )
        with _logging(settings), running(settings) as run:
            if given.others:
                log.info("ignored arguments: %s", ", ".join(given.others))
            result = _run(given, settings)
            scope = {"dag_name": run.dag_name, "environment": run.environment}
            outcome = {"step": given.step, **scope, "folder": given.folder, **result}
    except LineageMergeError as error:
        _record_failure(given, error)
        raise
    sys.stdout.write(json.dumps(outcome, ensure_ascii=False) + "\n")


def _run(given: JobArguments, settings: Config) -> dict[str, Any]:
    if given.step == "check":
        return {"policies": policy_check.check(settings, given.folder, log.info)}
    stages.check(given.step, settings)
    with _session(settings) as spark:
        if given.step == "build":
            report = stages.build(spark, settings, given.folder, log.info)
            if report["totals"].get("rejected"):
                log.warning("%s invalid documents were skipped", report["totals"]["rejected"])
            return {name: report[name] for name in ("read", "nodes", "edges", "totals")}
        return {"written": stages.load(spark, settings, given.folder, log.info)}


@contextmanager
def _session(settings: Config) -> Iterator["SparkSession"]:
    """Yield the cluster's session; with `spark.master` a new one."""
    if settings.spark.master:
        from lineage_merge.infra.spark_session import session

        with session(settings.spark) as spark:
            yield spark
        return
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.appName("lineage_merge").getOrCreate()
    if settings.spark.partitions:
        spark.conf.set("spark.sql.shuffle.partitions", str(settings.spark.partitions))
    yield spark


@contextmanager
def _logging(settings: Config) -> Iterator[None]:
    if settings.log.format == "json":
        from lineage_merge.infra import telemetry

        with telemetry.as_json():
            yield
        return
    own = logging.getLogger("lineage_merge")
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    level = own.level
    own.addHandler(handler)
    own.setLevel(logging.INFO)
    try:
        yield
    finally:
        own.removeHandler(handler)
        own.setLevel(level)


def is_permanent(error: LineageMergeError) -> bool:
    """Whether a repetition of the step fails too."""
    return isinstance(error, _PERMANENT)


def _record_failure(given: JobArguments, error: LineageMergeError) -> None:
    """Store the reason in the folder: the state of a cluster's run does not contain it."""
    if not given.attempt:
        return
    failure = {
        "attempt": given.attempt,
        "step": given.step,
        **Failure(error.message, is_permanent(error), error.exit_code)._asdict(),
    }
    with suppress(SourceError):  # the log contains the reason too
        storage.write_text(f"{given.folder.rstrip('/')}/{FAILED}", json.dumps(failure) + "\n")


def failure(folder: str, attempt: str) -> Failure | None:
    """Return the failure of an attempt, if the folder contains its reason."""
    try:
        outcome = json.loads(storage.read_text(f"{folder.rstrip('/')}/{FAILED}"))
    except (SourceError, ValueError):
        return None
    if not isinstance(outcome, dict) or outcome.get("attempt") != attempt:
        return None
    code = outcome.get("exit_code")
    return Failure(
        str(outcome.get("message")),
        bool(outcome.get("permanent")),
        code if isinstance(code, int) else LineageMergeError.exit_code,
    )

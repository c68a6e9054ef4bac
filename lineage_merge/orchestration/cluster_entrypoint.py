"""One step of a merge as a job of a Spark cluster: AWS Glue 5, EMR Serverless, spark-submit.

What the job is told are its arguments, in pairs ``--name value``: `--step`, `--folder`, `--config`
(a path or s3://), and a flag for every key of the configuration, as the command line has them.
Passwords are no arguments: the configuration names a secret. Glue hands over arguments of its
own too (``--JOB_NAME``), which are passed over.

A step that fails raises, so that the cluster calls the run failed. Broken documents that were
left out are no failure, unless ``strict`` says so.
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
    RetireRefused,
    SourceDenied,
    SourceError,
)
from lineage_merge.orchestration import stages
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.orchestration.stages import Step

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FAILED = "failed.json"
# What is wrong here is still wrong when the step is repeated.
_PERMANENT = (
    ConfigError,
    DocumentError,
    SourceDenied,
    GraphDenied,
    GraphUnsupported,
    RetireRefused,
    ExportDenied,
)

log = logging.getLogger("lineage_merge.orchestration.cluster_entrypoint")


class JobArguments(NamedTuple):
    """A job's arguments. `flags` maps dotted keys of the configuration to texts.

    `attempt` is a name of this very run, under which the folder keeps why it failed. `others` are
    the names of arguments that mean nothing here.
    """

    step: Step
    folder: str
    config: str
    flags: dict[str, str]
    attempt: str
    others: tuple[str, ...]


class Failure(NamedTuple):
    """Why a step failed, in one line; `permanent`: it will fail again when it is only repeated.

    `exit_code`: that of the error, by which it is known.
    """

    message: str
    permanent: bool
    exit_code: int = LineageMergeError.exit_code


def arguments(
    step: Step, folder: str, settings: Mapping[str, Any], config_file: str = "", attempt: str = ""
) -> dict[str, str]:
    """The arguments of a step, as `JobArguments` understands them. `settings` maps dotted keys to values.

    Raises `ConfigError` for a key that there is not.
    """
    keys = {key.dotted: key for key in CONFIGURATION.settable}
    given = {"--step": step, "--folder": folder, "--config": config_file, "--attempt": attempt}
    for dotted, value in settings.items():
        if dotted not in keys:
            raise ConfigError(dotted, "is not a known key")
        given[keys[dotted].flag] = as_text(value)
    return {name: text for name, text in given.items() if text}


def as_text(value: Any) -> str:
    """A value of the configuration as the text of a flag."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and [*value] == ["since"]:
        return f"since {value['since']}"  # `spline.runs`, as YAML holds it
    text = json.dumps(value, default=str)
    # Doubled braces stand inside strings only, and YARN replaces them by variables of its own.
    return text.replace("}}", "}\\u007d").replace("{{", "{\\u007b")


def parse_arguments(words: Sequence[str]) -> JobArguments:
    """What the words behind the script's name say. Raises `ConfigError`."""
    given = dict(_pairs(words))
    flags = {key.dotted: given.pop(key.flag) for key in CONFIGURATION.settable if key.flag in given}
    step = given.pop("--step", "")
    if step not in stages.STEPS:
        raise ConfigError("", f"--step: expected {' or '.join(stages.STEPS)}, found {step or 'none'}")
    folder = given.pop("--folder", "")
    if not folder:
        raise ConfigError("", "--folder: is missing; it is where node and edge files go")
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
    """Run the step that the arguments tell, and print what it did as one JSON object.

    Raises `LineageMergeError`, whose message is one line.
    """
    given = parse_arguments(words)
    try:
        settings = CONFIGURATION.load(given.config or None, flags=given.flags)
        with _logging(settings), running(settings):
            if given.others:
                log.info("arguments that are not for lineage_merge: %s", ", ".join(given.others))
            outcome = _run(given, settings)
    except LineageMergeError as error:
        _record_failure(given, error)
        raise
    sys.stdout.write(json.dumps(outcome, ensure_ascii=False) + "\n")


def _run(given: JobArguments, settings: Config) -> dict[str, Any]:
    what: dict[str, Any] = {
        "step": given.step,
        "dag_name": settings.dag_name,
        "environment": settings.environment,
        "folder": given.folder,
    }
    stages.check(given.step, settings)
    with _session(settings) as spark:
        if given.step == "build":
            report = stages.build(spark, settings, given.folder, log.info)
            what |= {name: report[name] for name in ("read", "nodes", "edges", "totals")}
            if report["totals"].get("rejected"):
                log.warning("%s broken documents were left out", report["totals"]["rejected"])
        else:
            what |= {"written": stages.load(spark, settings, given.folder, log.info)}
    return what


@contextmanager
def _session(settings: Config) -> Iterator["SparkSession"]:
    """The cluster's session, as it is configured there; with `spark.master` one of our own."""
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
        from lineage_merge.infra.telemetry import logs

        with logs.as_json():
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
    """Whether the same step will fail again when it is only repeated."""
    return isinstance(error, _PERMANENT)


def _record_failure(given: JobArguments, error: LineageMergeError) -> None:
    """Leave the reason in the folder: of a cluster's run others see little more than that it failed."""
    if not given.attempt:
        return
    failure = {
        "attempt": given.attempt,
        "step": given.step,
        **Failure(error.message, is_permanent(error), error.exit_code)._asdict(),
    }
    with suppress(SourceError):  # it is told in the log too, and hides no other error
        storage.write_text(f"{given.folder.rstrip('/')}/{FAILED}", json.dumps(failure) + "\n")


def failure(folder: str, attempt: str) -> Failure | None:
    """Why that attempt failed, if it could leave the reason in the folder."""
    try:
        found = json.loads(storage.read_text(f"{folder.rstrip('/')}/{FAILED}"))
    except (SourceError, ValueError):
        return None
    if not isinstance(found, dict) or found.get("attempt") != attempt:
        return None
    code = found.get("exit_code")
    return Failure(
        str(found.get("message")),
        bool(found.get("permanent")),
        code if isinstance(code, int) else LineageMergeError.exit_code,
    )

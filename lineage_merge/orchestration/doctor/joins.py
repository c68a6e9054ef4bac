"""Check of joins: reads small sources in this process, without Spark, and reports near misses."""

from collections.abc import Iterator

from lineage_merge.config import Config
from lineage_merge.merge.report import NearMiss, Report
from lineage_merge.merge.report_builder import SAME_NAME
from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import InputTooLarge, LineageMergeError, TooFewJoined
from lineage_merge.orchestration import read_sources
from lineage_merge.orchestration.read_sources import input_bytes, list_configured_sources
from lineage_merge.sources import registry
from lineage_merge.sources.diagnosis import Diagnosis, ok, report_failure, report_skipped, warning
from lineage_merge.sources.kafka_landing import broker_check

JOINS = "joins"
# Less than the limit of `examination`: slow sources are no failure.
SECONDS = 15.0
_MAX_LISTED = 3
_MAX_NOTICES = 5
_BUILD = "lineage-merge build reports joins and near misses"
_SEE_LOG = (
    "search the driver's log for errors of the client, or call lineage_merge.capture.install in the job"
)
_CHECK_NAMES = "correct the namespaces or add merge.rules; lineage-merge build lists sources without producer"


LATE = report_skipped(JOINS, f"reading the sources takes longer than {SECONDS:.0f} s; {_BUILD}")


def examine(config: Config) -> Iterator[Diagnosis]:
    """Merge the sources without loading them, and report notices, joins, near misses and expectations."""
    if not [*registry.list_configured(config)]:
        return
    reason = _why_skipped(config)
    report = None
    try:
        if not reason:
            report = read_sources.merge(config).report
    except InputTooLarge:
        reason = "the input is larger than spark.distribute_above_mb unpacked"
    except LineageMergeError:
        # The check of the source reports it.
        reason = "a source cannot be read"
    if report is None:
        yield report_skipped(JOINS, f"{reason}; {_BUILD}")
        return
    notices = report.select_kind("notice")
    yield from _notices(notices)
    yield from _silent(report.select_kind("silent"))
    yield _finding(report, _list_unjoined(config, report), has_notices=bool(notices))


def _why_skipped(config: Config) -> str:
    limit = config.spark.distribute_above_mb
    if not limit:
        return "spark.distribute_above_mb is 0"
    if any(broker_check.list_topics(config)):
        return "a Kafka topic is not read by doctor"
    try:
        listed = input_bytes(config)
    except LineageMergeError:
        return "a source cannot be read"
    if listed is None:
        return "the size of the input is unknown before it is read"
    if listed > limit << 20:
        return f"the input is larger than spark.distribute_above_mb ({limit} MB)"
    return ""


def _notices(problems: list[Problem]) -> Iterator[Diagnosis]:
    """Yield what a run would print as notices, such as a pattern that matches no application."""
    for problem in problems[:_MAX_NOTICES]:
        place = ": ".join(filter(None, (problem.document, problem.field)))
        yield warning(JOINS, f"{place}: {problem.message}", "")
    number = len(problems) - _MAX_NOTICES
    if number > 0:
        yield warning(JOINS, f"{number} more notice{'s' * (number > 1)}", _BUILD)


def _silent(problems: list[Problem]) -> Iterator[Diagnosis]:
    """Yield the writes that a client may no longer report."""
    for problem in problems[:_MAX_LISTED]:
        yield warning(JOINS, f"{problem.field}: {_short(problem.document)}: {problem.message}", _SEE_LOG)
    number = len(problems) - _MAX_LISTED
    if number > 0:
        yield warning(
            JOINS, f"{number} more write{'s' * (number > 1)} that later runs did not report", _BUILD
        )


def _list_unjoined(config: Config, report: Report) -> str:
    """Return the sources between which nothing is joined, "" if something is.

    Sources that describe the same types of jobs may have no dataset in common: "" if there are no others.
    """
    if any(joined.rule == SAME_NAME and joined.datasets for joined in report.joined):
        return ""
    sources = [source for source in list_configured_sources(config) if not source.is_catalog]
    if len({source.described_job_types for source in sources}) < 2:
        return ""
    *first, last = (source.name for source in sources)
    return f"{', '.join(first)} and {last}"


def _finding(report: Report, unjoined: str, *, has_notices: bool) -> Diagnosis:
    joined = report.datasets_joined
    text = f"joined {joined} datasets" if joined != 1 else "joined 1 dataset"
    fix = _fix(report.near_misses)
    if report.unmet:
        error = TooFewJoined(f"merge.expect: {'; '.join(report.unmet)}")
        return report_failure(
            JOINS, error, fix or "correct the configuration; lineage-merge build lists what is not joined"
        )
    if not report.near_misses:
        if unjoined:
            return warning(JOINS, f"{text}; nothing joins {unjoined}", "" if has_notices else _CHECK_NAMES)
        return ok(JOINS, text)
    number = len(report.near_misses)
    pairs = "; ".join(
        f"written {_short(miss.written)}, read {_short(miss.read)}"
        for miss in report.near_misses[:_MAX_LISTED]
    )
    more = f"; and {number - _MAX_LISTED} more" if number > _MAX_LISTED else ""
    return warning(JOINS, f"{text}; {number} near miss{'es' * (number > 1)}: {pairs}{more}", fix)


def _fix(near_misses: tuple[NearMiss, ...]) -> str:
    """Return the fixes of the best near misses, each on lines of its own, as YAML to paste."""
    fixes = list(dict.fromkeys(near_miss.fix for near_miss in near_misses if near_miss.fix))[:_MAX_LISTED]
    if not fixes:
        return "correct the names in the jobs or the project" if near_misses else ""
    return "change the configuration:\n" + "".join(fixes).rstrip()


def _short(identifier: str) -> str:
    return identifier.partition("|")[2]

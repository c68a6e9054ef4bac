"""The nearest upstream causes of late or wrong data: a table of rules, one function per kind of cause.

A rule yields what it finds at one dataset of a `Situation`. A new kind of cause is a function, an entry of
`RULES`, and a name in `Kind`.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from lineage_merge.graph_format.elements import JOB, Vertex
from lineage_merge.infra.batches import gather
from lineage_merge.merge.report import Report
from lineage_merge.model.elements import encode
from lineage_merge.model.times import duration_text, utc_time
from lineage_merge.naming.jobs import DECLARED
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.questions.traversal.checks import NOT_PASSED, Check, checks_within
from lineage_merge.questions.traversal.last_updates import (
    FAILED,
    FRESHNESS,
    STALE_CHECKS,
    SUCCEEDED,
    LastUpdate,
    input_updates,
    last_updates,
)
from lineage_merge.questions.traversal.lineage import Upstream, upstream
from lineage_merge.questions.traversal.staleness import Expectations

Kind = Literal[
    "failed_run",
    "skipped_run",
    "missing_run",
    "silent_write",
    "failed_test",
    "stale_source",
    "late_write",
    "recent_change",
]

# The status of a cause: a skipped job did not run, and retains the status of its last run.
SKIPPED = "skipped"
# A job missed a run if most other jobs of its DAG ran so much later.
MISSED_AFTER_MS = 12 * 60 * 60 * 1000


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule found at a dataset: the evidence as text and as values.

    `element`: the job, assertion or dataset that shows it; `at`: its time (ms since 1970), `status` and
    `failures` its result. `other`: the dataset that was updated later (missing run) or earlier (late write),
    at `other_at`. `next`: the arguments of a command that shows more.
    """

    element: Vertex
    evidence: str
    next: tuple[str, ...]
    at: int | None = None
    status: str = ""
    failures: int | None = None
    other: str | None = None
    other_at: int | None = None


class Cause(NamedTuple):
    """A finding at a dataset. `path`: ids from that dataset to the one in question."""

    kind: Kind
    dataset: str
    distance: int
    path: tuple[str, ...]
    finding: Finding


class RecentChange(NamedTuple):
    """What a merge changed at a dataset: the merge, its time (ms since 1970), and the changes as texts."""

    merge: str
    dag: str
    at: int
    changes: tuple[str, ...]


FindChanges = Callable[[Collection[str]], Mapping[str, Sequence[RecentChange]]]


@dataclass(frozen=True, slots=True)
class Situation:
    """What the rules read: the datasets upstream of `start`, with their last updates and checks.

    `start` is a dataset: that of the column in question. `newer_inputs`: the inputs that were updated after a
    dataset, with distances; only the nearest, but of `start` all. `dag_runs`: ends of the newest runs of all
    jobs, by DAG and job id. `expectations`: maximum ages, and the time of the question.
    `changes`: what recent merges changed, by dataset, newest first. `silent`: by dataset, the jobs whose
    later runs did not report their write to it, with the evidence.
    """

    start: str
    upstream: Upstream
    updates: Mapping[str, LastUpdate]
    newer_inputs: Mapping[str, Mapping[str, int]]
    checks: Mapping[str, Sequence[Check]]
    dag_runs: Mapping[str, Mapping[str, int]]
    expectations: Expectations
    changes: Mapping[str, Sequence[RecentChange]] = field(default_factory=dict)
    silent: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def title(self, dataset: str) -> str:
        """Return the display name of a dataset."""
        return self.updates[dataset].dataset.title

    def is_old(self, dataset: str) -> bool:
        """Whether the age of a dataset exceeds an expected one."""
        return any(
            expectation.unmet == "age" for expectation in self.expectations.derive(self.updates[dataset])
        )


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Causes by distance, and what was checked: numbers by kind, of which some have no known result."""

    situation: Situation
    causes: tuple[Cause, ...]

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of datasets, jobs and assertions, and of those without a known run or update."""
        updates = self.situation.updates.values()
        jobs = {job.id: job for update in updates for job in update.jobs}
        assertions = {
            check.assertion.id: check.assertion
            for checks in self.situation.checks.values()
            for check in checks
        }
        by_type = Counter(is_freshness(assertion) for assertion in assertions.values())
        return {
            "datasets": len(self.situation.updates),
            "datasets_without_known_update": sum(
                update.stores_rows and update.updated_at is None for update in updates
            ),
            "jobs": len(jobs),
            "jobs_without_known_run": sum(
                "last_run_at" not in job.properties and job.properties.get("job_type") != DECLARED
                for job in jobs.values()
            ),
            "tests": by_type[False],
            "freshness_checks": by_type[True],
            "assertions_without_result": sum(
                "status" not in assertion.properties for assertion in assertions.values()
            ),
            "max_distance": max(self.situation.upstream.distances.values(), default=0),
        }


def diagnose(
    graph: LineageGraph,
    start: Vertex,
    expectations: Expectations,
    *,
    depth: int | None = None,
    dag: str | None = None,
    find_changes: FindChanges | None = None,
) -> Diagnosis:
    """Return the causes at `start` and upstream of it within `depth` hops (None: unlimited), nearest first.

    For a column: at the datasets of the columns from which it is computed. `find_changes` returns what recent
    merges changed at these datasets.
    """
    scope = upstream(graph, start, depth=depth, dag=dag)
    updates = last_updates(graph, scope.datasets.values())
    checks = gather((check.dataset, check) for check in checks_within(graph, scope).checks)
    first = next(identifier for identifier, distance in scope.distances.items() if distance == 0)
    of_inputs = input_updates(updates, scope.inputs)
    newer = {update: of_inputs.newer(update, nearest=update != first) for update in updates}
    runs = _dag_runs(graph, start.environment, updates)
    changes = find_changes(scope.datasets) if find_changes else {}
    silent = _silent_writes(graph, start.environment, updates)
    situation = Situation(first, scope, updates, newer, checks, runs, expectations, changes, silent)
    return Diagnosis(situation, find_causes(situation))


def find_causes(situation: Situation) -> tuple[Cause, ...]:
    """Return what the rules find, by distance, then in the order of the rules. Pure.

    A job or assertion of several datasets is returned once per kind, at the nearest.
    """
    findings = []
    for dataset in situation.updates:
        distance = situation.upstream.distances[dataset]
        for number, (kind, rule) in enumerate(RULES.items()):
            for finding in rule(situation, dataset):
                order = (distance, number, dataset, finding.element.id)
                findings.append((order, kind, dataset, finding))
    nearest: dict[tuple[Kind, str], Cause] = {}
    for (distance, *_), kind, dataset, finding in sorted(findings, key=lambda finding: finding[0]):
        if (kind, finding.element.id) not in nearest:
            path = situation.upstream.path(dataset)
            nearest[kind, finding.element.id] = Cause(kind, dataset, distance, path, finding)
    return tuple(nearest.values())


def find_failed_runs(situation: Situation, dataset: str) -> Iterator[Finding]:
    """Yield the jobs of the dataset whose newest run failed."""
    for job in situation.updates[dataset].jobs:
        if job.properties.get("status") == FAILED:
            at = job.properties.get("last_run_at")
            evidence = f"{job.name} failed{_format_time(at)}"
            yield Finding(job, evidence, ("jobs", "--failed", "--search", job.name), at, FAILED)


def find_skipped_runs(situation: Situation, dataset: str) -> Iterator[Finding]:
    """Yield the jobs of the dataset that were skipped since their last run."""
    for job in situation.updates[dataset].jobs:
        if skipped := _find_skip(job):
            ran = job.properties.get("last_run_at")
            last = f"its last run was{_format_time(ran)}" if ran is not None else "no run is known"
            evidence = f"{job.name} was skipped{_format_time(skipped)}; {last}"
            yield Finding(job, evidence, ("jobs", "--search", job.name), skipped, SKIPPED)


def _find_skip(job: Vertex) -> int | None:
    """Return when a job was skipped, None if it was not, or ran later."""
    skipped = job.properties.get("skipped_at")
    return skipped if skipped is not None and skipped > job.properties.get("last_run_at", 0) else None


def missing_runs(situation: Situation, dataset: str) -> Iterator[Finding]:
    """Yield the jobs of the dataset that did not run since an input was updated, or not with their DAG.

    The inputs that were updated after the dataset in question are late writes instead.
    """
    update = situation.updates[dataset]
    if not update.stores_rows:
        return
    newer = situation.newer_inputs.get(dataset, {}) if dataset != situation.start else {}
    updated = {source: situation.updates[source].updated_at or 0 for source in newer}
    other = max(updated, key=lambda source: (updated[source], source), default=None)
    for job in update.jobs:
        at = job.properties.get("last_run_at")
        if at is None or job.properties.get("status") == FAILED or _find_skip(job):
            continue
        following = ("jobs", "--search", job.name)
        ran = f"{job.name} last ran{_format_time(at)}"
        missed = _find_missed_run(situation, job, at)
        if other is not None and updated[other] > at:
            evidence = f"{ran}; input {situation.title(other)} was updated{_format_time(updated[other])}"
            yield Finding(job, evidence, following, at, SUCCEEDED, other=other, other_at=updated[other])
        elif missed is not None:
            dag, dag_at = missed
            evidence = f"{ran}; most other jobs of {dag} ran{_format_time(dag_at)} or later"
            yield Finding(job, evidence, following, at, SUCCEEDED, other_at=dag_at)
        elif situation.is_old(dataset):
            evidence = f"{ran}, {duration_text(situation.expectations.now - at)} ago"
            yield Finding(job, evidence, following, at, SUCCEEDED)


def silent_writes(situation: Situation, dataset: str) -> Iterator[Finding]:
    """Yield the jobs of the dataset whose later runs did not report that they wrote it."""
    silences = situation.silent.get(dataset, {})
    for job in situation.updates[dataset].jobs:
        name = f"{job.properties.get('job_type')} {job.name}"
        if name in silences:
            at = job.properties.get("last_run_at")
            yield Finding(job, f"{job.name}: {silences[name]}", ("jobs", "--search", job.name), at, SUCCEEDED)


def stale_sources(situation: Situation, dataset: str) -> Iterator[Finding]:
    """Yield a freshness check that found old rows, or a dataset without known runs that is too old."""
    update = situation.updates[dataset]
    check, at = update.check, update.loaded_at
    following = ("freshness", situation.title(dataset))
    status = str(check.properties.get("status", "")) if check else ""
    if check is not None and status in STALE_CHECKS:
        rows = f", newest row{_format_time(at)}" if at else ""
        evidence = f"{check.name} {status}{_format_time(check.properties.get('last_run_at'))}{rows}"
        yield Finding(check, evidence, following, at, status)
    elif at is not None and update.written_at is None and situation.is_old(dataset):
        evidence = f"newest row{_format_time(at)}, {duration_text(situation.expectations.now - at)} ago"
        yield Finding(update.dataset, evidence, following, at)


def late_writes(situation: Situation, dataset: str) -> Iterator[Finding]:
    """Yield the dataset if it is an input that was updated after the dataset in question."""
    if dataset in situation.newer_inputs.get(situation.start, {}):
        update, start = situation.updates[dataset], situation.updates[situation.start]
        failed = f" before the failed run{_format_time(start.failed_at)}"
        before = failed if start.is_uncertain else _format_time(start.updated_at)
        evidence = f"updated{_format_time(update.updated_at)}; {start.dataset.title} was last updated{before}"
        yield Finding(
            update.dataset,
            evidence,
            ("freshness", start.dataset.title),
            update.updated_at,
            other=situation.start,
            other_at=start.not_after,
        )


def recent_changes(situation: Situation, dataset: str) -> Iterator[Finding]:
    """Yield the dataset if recent merges changed its inputs, its columns or how they are computed."""
    if changes := situation.changes.get(dataset):
        evidence = "; ".join(
            f"merge {change.merge} of {change.dag}{_format_time(change.at)}: {', '.join(change.changes)}"
            for change in changes
        )
        following = ("history", situation.title(dataset))
        yield Finding(situation.updates[dataset].dataset, evidence, following, changes[0].at)


def find_failed_tests(situation: Situation, dataset: str) -> Iterator[Finding]:
    """Yield the tests of the dataset and its columns that did not pass, each once."""
    failed = {
        check.assertion.id: check
        for check in situation.checks.get(dataset, ())
        if check.status in NOT_PASSED and not is_freshness(check.assertion)
    }
    for check in failed.values():
        properties = check.assertion.properties
        failures = properties.get("failures")
        rows = "" if failures is None else f", {failures:,} failing {'row' if failures == 1 else 'rows'}"
        evidence = f"{check.assertion.name} {check.status}{_format_time(properties.get('last_run_at'))}{rows}"
        following = ("tests", situation.title(dataset), "--failed")
        yield Finding(
            check.assertion, evidence, following, properties.get("last_run_at"), check.status, failures
        )


Rule = Callable[[Situation, str], Iterator[Finding]]
# In the order of causes with the same distance.
RULES: Mapping[Kind, Rule] = {
    "failed_run": find_failed_runs,
    "skipped_run": find_skipped_runs,
    "missing_run": missing_runs,
    "silent_write": silent_writes,
    "stale_source": stale_sources,
    "late_write": late_writes,
    "failed_test": find_failed_tests,
    "recent_change": recent_changes,
}


def is_freshness(assertion: Vertex) -> bool:
    """Whether an assertion is a freshness check."""
    return assertion.properties.get("assertion_type") == FRESHNESS


def _format_time(milliseconds: int | None) -> str:
    return f" at {utc_time(milliseconds, seconds=True)}" if milliseconds is not None else ""


def _dag_runs(
    graph: LineageGraph, environment: str, updates: Mapping[str, LastUpdate]
) -> dict[str, dict[str, int]]:
    """Return the ends of the newest runs of all jobs, of the DAGs whose jobs write these datasets."""
    dag_runs: dict[str, dict[str, int]] = {}
    for dag in sorted({dag for update in updates.values() for job in update.jobs for dag in job.dags}):
        jobs = graph.vertices(sorted(graph.ids([JOB], environment, dag)))
        dag_runs[dag] = {
            vertex.id: int(vertex.properties["last_run_at"])
            for vertex in jobs
            if "last_run_at" in vertex.properties
        }
    return dag_runs


def _silent_writes(
    graph: LineageGraph, environment: str, updates: Mapping[str, LastUpdate]
) -> dict[str, dict[str, str]]:
    """Return the problems of the kind ``silent`` of the last merges that wrote the jobs of these datasets."""
    dags = {dag for update in updates.values() for job in update.jobs for dag in job.dags}
    silent: dict[str, dict[str, str]] = defaultdict(dict)
    for merge in graph.vertices(f"{encode(environment)}|{encode(dag)}|merge_run" for dag in sorted(dags)):
        report = Report.from_json(json.loads(str(merge.properties.get("report") or "{}")))
        for problem in report.select_kind("silent"):
            silent[problem.document][problem.field] = problem.message
    return silent


def _find_missed_run(situation: Situation, job: Vertex, at: int) -> tuple[str, int] | None:
    """Return a DAG of the job and a time since when most of its other jobs ran, if long after the job."""
    for dag in job.dags:
        others = sorted(end for job_id, end in situation.dag_runs.get(dag, {}).items() if job_id != job.id)
        if others and others[(len(others) - 1) // 2] - at > MISSED_AFTER_MS:
            return dag, others[(len(others) - 1) // 2]
    return None

"""Runs of jobs in a session: which job each statement belongs to, and its newest run. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from lineage_merge.sources.query_log.statements.owners import DBT
from lineage_merge.sources.query_log.statements.session_steps import Step

_DEFAULT_LABELS = frozenset({"", "default", "unset"})


class Run(NamedTuple):
    """A run of a job; times in ms, 0 if unknown. `started` and `id` order the runs of a job."""

    started: int = 0
    id: str = ""
    ended: int = 0
    duration_ms: int = 0
    rows: int | None = None
    failed: bool = False


class Runs(NamedTuple):
    """The newest run of a job, and the number of all and of successful runs."""

    newest: Run
    number: int
    successful: int


def merge_runs(one: Runs, other: Runs) -> Runs:
    """Return the runs of both."""
    newest = max(one.newest, other.newest, key=lambda run: (run.started, run.id))
    return Runs(newest, one.number + other.number, one.successful + other.successful)


def find_named_job(step: Step) -> tuple[str, str] | None:
    """Return the job that a statement names: dbt's node, the procedure, the task or the label."""
    owner = step.template.owner
    if owner is not None and owner.job_type == DBT:
        if step.facts.unloads or (step.facts.moves_files and not owner.name):
            return None  # of a hook or an operation: dbt's manifest does not have its lineage
        return DBT, f"{owner.target}/{owner.name}" if owner.target else owner.name
    if step.procedure:
        return "", step.procedure
    if owner is not None:
        return "", owner.name
    label = step.statement.label.strip()
    return None if label.lower() in _DEFAULT_LABELS else ("", label)


@dataclass(slots=True)
class _RunParts:
    started: int
    ended: int = 0
    busy: int = 0
    rows: list[int] = field(default_factory=list)
    failed: bool = False


def runs_of(steps: Sequence[Step], fingerprints: Mapping[int, str]) -> dict[tuple[str, str], Runs]:
    """Return the runs of each job; `fingerprints`: those of units, by the position of their statement."""
    parts: dict[tuple[tuple[str, str], str, int], _RunParts] = {}
    begun = 0
    for at, step in enumerate(steps):
        begun += step.begins  # sessions of one identifier
        if step.outcome == "running" or not (step.facts.moves or step.facts.calls):
            continue
        job = ("", step.facts.calls) if step.facts.calls else find_named_job(step)
        statement = step.statement
        if job is None:
            fingerprint = fingerprints.get(at, "")
            if not fingerprint and step.is_lineage:
                continue
            fingerprint = fingerprint or step.template.fingerprint
            job, run, started = ("", f"#{fingerprint}"), statement.id, statement.started
        elif step.facts.calls:
            run, started = statement.id, statement.started
        elif step.procedure:
            run, started = step.run or statement.id, step.run_started
        else:
            run, started = statement.session, statement.started
        if not job[1]:
            continue
        part = parts.setdefault((job, run, begun), _RunParts(started))
        part.started = min(part.started, started)
        if step.facts.calls or not step.procedure:  # a call's time contains that of its statements
            # Of several statements in a text, only the time of all is known.
            part.busy += max(statement.ended - max(statement.started, part.ended), 0)
        part.ended = max(part.ended, statement.ended)
        part.failed |= not step.is_lineage
        if statement.rows is not None and step.facts.moves:
            part.rows.append(statement.rows)
    runs: dict[tuple[str, str], Runs] = {}
    for (job, run, _), part in parts.items():
        rows = sum(part.rows) if part.rows else None
        facts = Run(part.started // 1000, run, part.ended // 1000, part.busy // 1000, rows, part.failed)
        one = Runs(facts, 1, int(not part.failed))
        runs[job] = merge_runs(runs[job], one) if job in runs else one
    return runs

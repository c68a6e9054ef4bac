"""Output of the command `init`: what was found and joined, and the next commands."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lineage_merge.orchestration.init.configuration_text import job_lines, manifest_line, printable
from lineage_merge.orchestration.init.findings import Findings
from lineage_merge.orchestration.init.proposal import Project, Proposal
from lineage_merge.orchestration.init.sources import JOB_SOURCES
from lineage_merge.orchestration.init.verification import Verified
from lineage_merge.orchestration.report_text import TITLE, near_miss_lines

_MAX_NEAR_MISSES = 3


@dataclass(frozen=True, slots=True)
class InitOutcome:
    """The outcome of `init`. `is_written` False: the file had this content already."""

    out: str
    is_written: bool
    proposal: Proposal
    findings: Findings
    verified: Verified
    notes: tuple[str, ...] = ()

    @property
    def next_commands(self) -> list[str]:
        """Return the commands to run next."""
        file = shlex.quote(self.out)
        # The graph may have other environments, in which the same names exist.
        options = f" -c {file}"
        commands = [f"lineage-merge run -c {file}"]
        if self.verified.dataset:
            commands.append(f"lineage-merge upstream {shlex.quote(self.verified.dataset)}{options}")
        return [*commands, f"lineage-merge html --out lineage.html{options}"]


def found_lines(proposal: Proposal, findings: Findings, notes: tuple[str, ...]) -> Iterator[str]:
    """Yield lines about the sources, before any question about them."""
    yield from (printable(line) for line in _found(proposal, findings, notes))


def _found(proposal: Proposal, findings: Findings, notes: tuple[str, ...]) -> Iterator[str]:
    settings = proposal.settings()
    for source in JOB_SOURCES:
        if source.key in settings:
            yield f"{source.name}: {job_lines(findings.jobs)[source.key]}"
    for project in proposal.projects:
        yield manifest_line(project.manifest)
        yield from (f"  {note}" for note in project.manifest.notes)
        yield f"  {_namespace_line(project)}"
    yield from (f"note: {note}" for note in notes)


def written_lines(outcome: InitOutcome) -> Iterator[str]:
    """Yield lines about the file, what it joins, and the next commands."""
    yield f"{'written' if outcome.is_written else 'unchanged'}: {outcome.out}"
    yield from (printable(line) for line in _joined(outcome.verified, outcome.next_commands[0]))
    yield ""
    yield "Next:"
    yield from (f"  {printable(command)}" for command in outcome.next_commands)


def _namespace_line(project: Project) -> str:
    choice = project.choice
    if not choice.is_known:
        others = f" (others: {', '.join(choice.alternatives)})" if choice.alternatives else ""
        return f"namespace {choice.namespace}{others}: not certain"
    if choice.better:
        names = ", ".join(sorted(choice.better_matched))
        return f"namespace {choice.namespace}, as given: Spark's lineage has {names} in {choice.better}"
    if choice.matched:
        return f"namespace {choice.namespace}: Spark's lineage has {', '.join(sorted(choice.matched))}"
    return f"namespace {choice.namespace}{', as given' if choice.is_given else ''}"


def _joined(verified: Verified, run: str) -> Iterator[str]:
    if not verified.is_read:
        yield f"joined: not checked, the sources are large; to see it: {run} --dry-run"
        return
    report = verified.report
    rules = ", ".join(map(str, report.joined_by))
    if verified.shared:
        number = report.datasets_joined
        yield f"joined: {number} dataset{'' if number == 1 else 's'} ({rules})"
    else:
        within = f" (within one source: {rules})" if rules else ""
        yield f"joined: nothing{within}"
    yield from (f"  {reason}" for reason in verified.reasons)
    if report.near_misses:
        yield f"{TITLE}:"
        for text in near_miss_lines(report.near_misses, _MAX_NEAR_MISSES):
            yield from text.splitlines()
    yield from (f"invalid, skipped: {each}" for each in verified.rejected)


def as_json(outcome: InitOutcome) -> dict[str, Any]:
    """Return the outcome for scripts."""
    findings, verified, report = outcome.findings, outcome.verified, outcome.verified.report
    return {
        "out": outcome.out,
        "written": outcome.is_written,
        "settings": outcome.proposal.settings(),
        "jobs": [job._asdict() for job in findings.jobs.jobs],
        **{
            f"{source.key}_version": findings.jobs.versions.get(source.key, "")
            for source in JOB_SOURCES
            if source.version
        },
        "dbt": [_project_json(project) for project in outcome.proposal.projects],
        "checked": verified.is_read,
        "joined": dict(report.joined),
        "datasets_joined": report.datasets_joined,
        "reasons": list(verified.reasons),
        "near_misses": [{**miss._asdict(), "evidence": list(miss.evidence)} for miss in report.near_misses],
        "rejected": list(verified.rejected),
        "dataset": verified.dataset,
        "notes": list(outcome.notes),
        "next": outcome.next_commands,
    }


def _project_json(project: Project) -> dict[str, Any]:
    manifest, choice = project.manifest, project.choice
    return {
        "manifest": manifest.location,
        "project": manifest.project,
        "adapter": manifest.adapter,
        "dbt_version": manifest.dbt_version,
        "nodes": manifest.nodes,
        "schemas": list(manifest.schemas),
        "namespace": choice.namespace,
        "is_known": choice.is_known,
        "matched": sorted(choice.matched),
        "alternatives": list(choice.alternatives),
        "better": choice.better,
    }

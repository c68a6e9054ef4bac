"""Output of the command `init`: what was found and joined, and the next commands."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lineage_merge.orchestration.init.configuration_text import job_lines, printable, project_line
from lineage_merge.orchestration.init.findings import Findings
from lineage_merge.orchestration.init.proposal import Project, Proposal
from lineage_merge.orchestration.init.verification import Verified
from lineage_merge.orchestration.report_text import TITLE, format_near_misses
from lineage_merge.sources.registry import SOURCES

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
    mwaa_files: tuple[str, ...] = ()

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


def list_found(proposal: Proposal, findings: Findings, notes: tuple[str, ...]) -> Iterator[str]:
    """Yield lines about the sources, before any question about them."""
    yield from (printable(line) for line in _describe_found(proposal, findings, notes))


def _describe_found(proposal: Proposal, findings: Findings, notes: tuple[str, ...]) -> Iterator[str]:
    settings = proposal.settings()
    names = {source.key: source.name for source in SOURCES}
    for key, line in job_lines(findings.jobs).items():
        if key in settings:
            yield f"{names[key]}: {line}"
    for project in proposal.projects:
        yield project_line(project)
        yield from (f"  {note}" for note in project.findings.notes)
        yield f"  {_namespace_line(project)}"
    for source, checks in proposal.checks():
        for location, check in zip(proposal.inputs[source.key].locations, checks, strict=True):
            yield f"{source.name}: {location}"
            yield from (f"  not certain: {check}" for check in (check,) if check)
    yield from (f"note: {note}" for note in notes)


def list_written(outcome: InitOutcome) -> Iterator[str]:
    """Yield lines about the file, what it joins, and the next commands."""
    yield f"{'written' if outcome.is_written else 'unchanged'}: {outcome.out}"
    yield from (f"written: {file}" for file in outcome.mwaa_files)
    yield from (printable(line) for line in _describe_joins(outcome.verified, outcome.next_commands[0]))
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


def _describe_joins(verified: Verified, run: str) -> Iterator[str]:
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
        for text in format_near_misses(report.near_misses, _MAX_NEAR_MISSES):
            yield from text.splitlines()
    yield from (f"invalid, skipped: {problem}" for problem in verified.rejected)


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
            for source in SOURCES
            if source.discovery().has_version
        },
        **{
            source.key: [
                _project_json(project) for project in outcome.proposal.projects if project.source is source
            ]
            for source in SOURCES
            if source.discovery().describes_projects
        },
        "checked": verified.is_read,
        "joined": dict(report.joined),
        "datasets_joined": report.datasets_joined,
        "reasons": list(verified.reasons),
        "near_misses": [{**miss._asdict(), "evidence": list(miss.evidence)} for miss in report.near_misses],
        "rejected": list(verified.rejected),
        "dataset": verified.dataset,
        "mwaa_files": list(outcome.mwaa_files),
        "notes": list(outcome.notes),
        "next": outcome.next_commands,
    }


def _project_json(project: Project) -> dict[str, Any]:
    findings, choice = project.findings, project.choice
    return {
        project.key: findings.location,
        "project": findings.project,
        "adapter": findings.platform,
        f"{project.source.key}_version": findings.version,
        "nodes": findings.nodes,
        "schemas": list(findings.schemas),
        "namespace": choice.namespace,
        "is_known": choice.is_known,
        "matched": sorted(choice.matched),
        "alternatives": list(choice.alternatives),
        "better": choice.better,
    }

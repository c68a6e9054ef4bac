"""The text of a proposed configuration: YAML with comments about what was found. Pure."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from lineage_merge.orchestration.init.findings import Findings, JobFindings
from lineage_merge.orchestration.init.proposal import Project, Proposal
from lineage_merge.sources.registry import SOURCES
from lineage_merge.sources.source import Source

_MAX_NAMES = 5
_WIDTH = 110
_EMBEDDED = """\
# The graph is stored on this machine. For Neptune or another Gremlin server:
# gremlin:
#   endpoint: wss://cluster.region.neptune.amazonaws.com:8182/gremlin
#   iam_auth: true"""


def text(proposal: Proposal, findings: Findings, folder: Path) -> str:
    """Return the text of the configuration file in `folder`."""
    settings = proposal.settings(folder)
    comments = _comments(proposal, findings)
    lines = [*_lines(settings, comments)]
    head = ["# Written by lineage-merge init. Relative paths are relative to this file."]
    platforms = {project.findings.platform for project in proposal.projects}
    suggestions = filter(None, (source.discovery().suggestion for source in SOURCES))
    tail = [suggestion.lines for suggestion in suggestions if not platforms.isdisjoint(suggestion.platforms)]
    tail += [] if proposal.gremlin_endpoint else [_EMBEDDED]
    return "\n".join([*head, *lines, *tail]) + "\n"


def _lines(
    settings: Mapping[str, Any],
    comments: Mapping[str, list[str]],
    indentation: str = "",
    path: str = "",
) -> Iterator[str]:
    for name, value in settings.items():
        key = f"{path}.{name}" if path else name
        yield from (f"{indentation}# {line}" for line in comments.get(key, ()))
        if isinstance(value, Mapping):
            yield f"{indentation}{_scalar(name)}:"
            yield from _lines(value, comments, f"{indentation}  ", key)
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            yield f"{indentation}{_scalar(name)}:"
            for index, entry in enumerate(value):
                item = f"{key}[{index}]"
                below = [*_lines(entry, comments, f"{indentation}    ", item)]
                yield from (f"{indentation}  # {line}" for line in comments.get(item, ()))
                # The first line that is no comment begins the entry.
                at = next(i for i, line in enumerate(below) if not line.lstrip().startswith("#"))
                below[at] = f"{indentation}  - {below[at].lstrip()}"
                yield from below
        else:
            yield f"{indentation}{_scalar(name)}: {_scalar(value)}"


def _scalar(value: Any) -> str:
    """Return a value in YAML's flow style, on one line."""
    dumped = yaml.safe_dump(
        value, default_flow_style=True, width=float("inf"), sort_keys=False, allow_unicode=True
    )
    return dumped.removesuffix("\n").removesuffix("\n...")


def _comments(proposal: Proposal, findings: Findings) -> dict[str, list[str]]:
    comments = {
        "dag_name": ["The Airflow DAG whose lineage is merged. Environments are never joined."],
        **{key: [line] for key, line in job_lines(findings.jobs).items() if line},
    }
    for source in SOURCES:
        number = sum(job.source == source.key for job in findings.jobs.jobs)
        selected_by = source.discovery().selected_by
        if selected_by and number > _MAX_NAMES:
            key = f"{source.key}.{selected_by}"
            line = f"All are read. To select those of this DAG, add {key}: [name, glob_*]"
            comments[source.key].append(line)
    for source in SOURCES:
        projects = [project for project in proposal.projects if project.source is source]
        for index, project in enumerate(projects):
            comments[f"{source.key}[{index}]"] = [project_line(project)]
            comments[f"{source.key}[{index}].namespace"] = namespace_lines(project)
    for source, checks in proposal.checks():
        comments |= {
            f"{source.key}[{index}]": [f"CHECK: {check}."] for index, check in enumerate(checks) if check
        }
    for default in proposal.default_schemas.values():
        names = ", ".join(sorted(default.completed)[:_MAX_NAMES])
        line = f"Completes names that Spark's lineage has without database or schema: those of {names}"
        comments.setdefault("merge", []).append(line)
    return {key: [short for line in lines for short in _fold(line)] for key, lines in comments.items()}


def _fold(line: str) -> list[str]:
    lines = [""]
    for word in printable(line).split():
        if lines[-1] and len(lines[-1]) + len(word) + 1 > _WIDTH - 8:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def printable(text: str) -> str:
    """Return a text without line feeds and control characters, which YAML forbids in comments."""
    return "".join(character if character.isprintable() else " " for character in text)


def job_lines(jobs: JobFindings) -> dict[str, str]:
    """Return what was found in the sources of jobs, by the key of the configuration."""
    return {source.key: _job_line(source, jobs) for source in SOURCES if source.discovery().line_key}


def _job_line(source: Source[Any], jobs: JobFindings) -> str:
    observed = [job for job in jobs.jobs if job.source == source.key]
    names = [job.name for job in observed[:_MAX_NAMES]] + ["..."] * (len(observed) > _MAX_NAMES)
    word = source.discovery().job_word
    facts = [f"no {word} found"]
    if names:
        plural = "" if len(observed) == 1 else "s"
        facts = [f"{len(observed)} {word}{plural} found: {', '.join(names)}"]
    newest = max((job.newest for job in observed), default=0)
    if newest:
        facts.append(f"newest run {_time(newest)}")
    if version := jobs.versions.get(source.key):
        facts.append(f"{source.name} {version}")
    if jobs.is_sample:
        facts.append("a part of the input was read")
    return "; ".join(facts)


def project_line(project: Project) -> str:
    """Return what was found in the document of a project."""
    name, findings = project.source.name, project.findings
    platform = ", ".join(filter(None, (findings.platform, f"{name} {findings.version}".strip())))
    line = f"{name} project {findings.project or 'without a name'} ({platform}): {findings.nodes} nodes"
    if findings.schemas:
        line += f" in {', '.join(findings.schemas[:_MAX_NAMES])}"
    if findings.generated_at:
        line += f"; generated {_time(findings.generated_at)}"
    return line


def namespace_lines(project: Project) -> list[str]:
    """Return how the namespace of a project was found."""
    name, choice, findings = project.source.name, project.choice, project.findings
    if not choice.is_known:
        others = ", ".join(choice.alternatives[:_MAX_NAMES])
        return [_unknown(project), *([f"Others: {others}"] if others else [])]
    if choice.better:
        names = ", ".join(sorted(choice.better_matched)[:_MAX_NAMES])
        return [f"CHECK: as given. Spark's lineage has {names} in {choice.better}."]
    if not choice.matched:
        return [f"Namespace of {name}'s tables{', as given' if choice.is_given else ''}."]
    sources = choice.matched & findings.sources
    word, total = ("source", len(findings.sources)) if sources else ("dataset", len(findings.built))
    matched = sorted(sources or choice.matched)
    names = ", ".join(matched[:_MAX_NAMES])
    number = f"{len(matched)} of {total} {name} {word}{'' if total == 1 else 's'}"
    return [f"A {project.key} has no host name. Spark's lineage has {number} here: {names}"]


def _unknown(project: Project) -> str:
    choice = project.choice
    if choice.matched:
        names = ", ".join(sorted(choice.matched)[:_MAX_NAMES])
        return f"CHECK: several namespaces of Spark's lineage have {names}."
    if choice.is_of_jobs:
        return f"CHECK: found in Spark's lineage, but without a table of this {project.key}."
    unknown = f"not found in Spark's lineage, and a {project.key} has no host name"
    return f"CHECK: {unknown}. Set the warehouse's address."


def _time(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, tz=UTC).strftime("%Y-%m-%d %H:%M UTC")

"""The text of a proposed configuration: YAML with comments about what was found. Pure."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from lineage_merge.orchestration.init.findings import Findings, JobFindings
from lineage_merge.orchestration.init.proposal import Project, Proposal
from lineage_merge.orchestration.init.sources import JOB_SOURCES
from lineage_merge.orchestration.init.warehouse import Choice
from lineage_merge.sources.dbt.inspection import ManifestFindings
from lineage_merge.sources.source import Source

# Lines without comments; a longer configuration has its inner mappings on one line.
MAX_LINES = 10
_MAX_NAMES = 5
_WIDTH = 110
_INLINE = ("default_schemas", "arango", "merge")
_EMBEDDED = """\
# The graph is stored on this machine. For Neptune or another Gremlin server:
# gremlin:
#   endpoint: wss://cluster.region.neptune.amazonaws.com:8182/gremlin
#   iam_auth: true"""
# dbt adapters whose tables are files in S3, listed in Glue's catalog.
_ON_GLUE = ("athena", "glue")
_GLUE = """\
# Glue's catalog joins dbt's tables with the paths that Spark writes:
# glue:
#   - region: us-east-1"""


def text(proposal: Proposal, findings: Findings, folder: Path) -> str:
    """Return the text of the configuration file in `folder`."""
    settings = proposal.settings(folder)
    comments = _comments(proposal, findings)
    inline: tuple[str, ...] = ()
    lines = [*_lines(settings, comments, inline)]
    for name in _INLINE:
        if sum(not line.lstrip().startswith("#") for line in lines) > MAX_LINES:
            inline = (*inline, name)
            lines = [*_lines(settings, comments, inline)]
    head = ["# Written by lineage-merge init. Relative paths are relative to this file."]
    tail = [_GLUE] if any(project.manifest.adapter in _ON_GLUE for project in proposal.projects) else []
    tail += [] if proposal.gremlin_endpoint else [_EMBEDDED]
    return "\n".join([*head, *lines, *tail]) + "\n"


def _lines(
    settings: Mapping[str, Any], comments: Mapping[str, list[str]], inline: tuple[str, ...]
) -> Iterator[str]:
    yield from _mapping(settings, "", comments, inline, "")


def _mapping(
    settings: Mapping[str, Any],
    indentation: str,
    comments: Mapping[str, list[str]],
    inline: tuple[str, ...],
    path: str,
) -> Iterator[str]:
    for name, value in settings.items():
        key = f"{path}.{name}" if path else name
        yield from (f"{indentation}# {line}" for line in comments.get(key, ()))
        if isinstance(value, Mapping) and name not in inline:
            yield f"{indentation}{_scalar(name)}:"
            yield from _mapping(value, f"{indentation}  ", comments, inline, key)
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            yield f"{indentation}{_scalar(name)}:"
            for index, entry in enumerate(value):
                item = f"{key}[{index}]"
                below = [*_mapping(entry, f"{indentation}    ", comments, inline, item)]
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
    for source in JOB_SOURCES:
        number = sum(job.source == source.key for job in findings.jobs.jobs)
        if source.selected_by and number > _MAX_NAMES:
            key = f"{source.key}.{source.selected_by}"
            line = f"All are read. To select those of this DAG, add {key}: [name, glob_*]"
            comments[source.key].append(line)
    for index, project in enumerate(proposal.projects):
        comments[f"dbt[{index}]"] = [manifest_line(project.manifest)]
        comments[f"dbt[{index}].namespace"] = namespace_lines(project, findings.jobs)
    for default in proposal.default_schemas.values():
        names = ", ".join(sorted(default.completed)[:_MAX_NAMES])
        line = f"Completes names that Spark's lineage has without database or schema: those of {names}"
        comments.setdefault("merge", []).append(line)
    return {key: [short for line in lines for short in _folded(line)] for key, lines in comments.items()}


def _folded(line: str) -> list[str]:
    lines = [""]
    for word in printable(line).split():
        if lines[-1] and len(lines[-1]) + len(word) + 1 > _WIDTH - 8:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def printable(text: str) -> str:
    """Return a text without line feeds and control characters, which YAML forbids in comments."""
    return "".join(each if each.isprintable() else " " for each in text)


def job_lines(jobs: JobFindings) -> dict[str, str]:
    """Return what was found in the sources of jobs, by the key of the configuration."""
    return {source.key: _job_line(source, jobs) for source in JOB_SOURCES}


def _job_line(source: Source, jobs: JobFindings) -> str:
    observed = [job for job in jobs.jobs if job.source == source.key]
    facts = [_named(len(observed), source.job_word, [job.name for job in observed])]
    newest = max((job.newest for job in observed), default=0)
    if newest:
        facts.append(f"newest run {_time(newest)}")
    if version := jobs.versions.get(source.key):
        facts.append(f"{source.name} {version}")
    if jobs.is_sample:
        facts.append("a part of the input was read")
    return "; ".join(facts)


def manifest_line(manifest: ManifestFindings) -> str:
    """Return what was found in a manifest."""
    platform = ", ".join(filter(None, (manifest.adapter, f"dbt {manifest.dbt_version}".strip())))
    line = f"dbt project {manifest.project or 'without a name'} ({platform}): {manifest.nodes} nodes"
    if manifest.schemas:
        line += f" in {', '.join(manifest.schemas[:_MAX_NAMES])}"
    if manifest.generated_at:
        line += f"; generated {_time(manifest.generated_at)}"
    return line


def namespace_lines(project: Project, jobs: JobFindings) -> list[str]:
    """Return how the namespace of a manifest was found."""
    choice, manifest = project.choice, project.manifest
    if not choice.is_known:
        return [_unknown(choice), *_alternatives(choice)]
    if choice.better:
        names = ", ".join(sorted(choice.better_matched)[:_MAX_NAMES])
        return [f"CHECK: as given. Spark's lineage has {names} in {choice.better}."]
    if not choice.matched:
        return [f"Namespace of dbt's tables{', as given' if choice.is_given else ''}."]
    found = sorted(choice.matched & manifest.sources) or sorted(choice.matched)
    what = "dbt source" if choice.matched & manifest.sources else "dbt dataset"
    total = len(manifest.sources) if choice.matched & manifest.sources else len(manifest.built)
    names = ", ".join(found[:_MAX_NAMES])
    plural = "" if total == 1 else "s"
    matched = f"{len(found)} of {total} {what}{plural} here: {names}"
    return [f"A manifest has no host name. Spark's lineage has {matched}"]


def _unknown(choice: Choice) -> str:
    if choice.matched:
        names = ", ".join(sorted(choice.matched)[:_MAX_NAMES])
        return f"CHECK: several namespaces of Spark's lineage have {names}."
    if choice.is_of_jobs:
        return "CHECK: found in Spark's lineage, but without a table of this manifest."
    return (
        "CHECK: not found in Spark's lineage, and a manifest has no host name. Set the warehouse's address."
    )


def _alternatives(choice: Choice) -> list[str]:
    return [f"Others: {', '.join(choice.alternatives[:_MAX_NAMES])}"] if choice.alternatives else []


def _named(number: int, what: str, names: list[str]) -> str:
    if not number:
        return f"no {what} found"
    listed = ", ".join(names[:_MAX_NAMES]) + (", ..." if number > _MAX_NAMES else "")
    return f"{number} {what}{'' if number == 1 else 's'} found: {listed}"


def _time(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, tz=UTC).strftime("%Y-%m-%d %H:%M UTC")

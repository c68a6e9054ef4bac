"""Questions of the command `init`, on a terminal."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import click

from lineage_merge.config.section import namespace
from lineage_merge.model.errors import ConfigError, NamingError
from lineage_merge.orchestration.init.findings import Findings
from lineage_merge.orchestration.init.proposal import Project, Proposal, given_choice, with_namespaces
from lineage_merge.orchestration.init.sources import JOB_SOURCES, Sources, arango_settings
from lineage_merge.sources.source import Source

_EMBEDDED = "embedded"


class Answers(Protocol):
    """Answers to the questions of `init`."""

    def sources(self, named: Sources, found: Sources) -> Sources:
        """Return the sources to use: those that options name, and those found."""

    def complete(self, proposal: Proposal, findings: Findings, given: Mapping[str, Any]) -> Proposal:
        """Return the proposal with names and namespaces; `given` are the options of the command."""

    def replace(self, file: Path) -> bool:
        """Return whether to replace an existing file."""


class _Defaults:
    """The answers without questions."""

    def sources(self, named: Sources, found: Sources) -> Sources:
        return named.with_found(found)

    def complete(self, proposal: Proposal, _findings: Findings, _given: Mapping[str, Any]) -> Proposal:
        return proposal

    def replace(self, _file: Path) -> bool:
        return False


NO_QUESTIONS: Answers = _Defaults()


class InitQuestions:
    """Asks on the terminal."""

    def sources(self, named: Sources, found: Sources) -> Sources:
        """Confirm each source that was found, and ask for Spline and dbt if there is none."""
        offered = Sources().with_found(named.with_found(found))
        chosen = named.with_found(
            Sources(
                spline_export=self._export(named, offered.spline_export),
                line_files={
                    source.key: confirmed
                    for source in JOB_SOURCES
                    if (confirmed := self._line_files(source, named, offered))
                },
                dbt=self._confirmed("dbt manifest", named.dbt, offered.dbt),
            )
        )
        if not chosen.job_settings():
            chosen = self._spline(chosen)
        if not chosen.dbt:
            manifest = self._prompt("dbt manifest.json (path or s3://, empty: none)")
            chosen = replace(chosen, dbt=(manifest,) if manifest else ())
        return chosen

    def _line_files(self, source: Source, named: Sources, offered: Sources) -> tuple[str, ...]:
        return self._confirmed(
            source.line_files.contents,
            named.line_files.get(source.key, ()),
            offered.line_files.get(source.key, ()),
        )

    def _export(self, named: Sources, offered: str) -> str:
        is_used = offered == named.spline_export or self._confirm(f"Spline export {offered}: use it?")
        return offered if is_used else ""

    def _spline(self, chosen: Sources) -> Sources:
        location = self._prompt("Spline: URL of its ArangoDB, or folder of an export (empty: none)")
        if not location.lower().startswith(("http://", "https://")):
            return replace(chosen, spline_export=location)
        arango = arango_settings(
            location,
            self._prompt("  database", "spline"),
            self._prompt("  user", "root"),
            self._prompt("  environment variable with the password (empty: no password)"),
        )
        return replace(chosen, arango=arango)

    def complete(self, proposal: Proposal, findings: Findings, given: Mapping[str, Any]) -> Proposal:
        """Ask for the names that no option gives, and for namespaces that are not known."""
        named = replace(
            proposal,
            dag_name=given["dag"] or self._prompt("Name of the Airflow DAG", proposal.dag_name),
            environment=given["environment"] or self._prompt("Environment", proposal.environment),
        )
        choices = [
            project.choice
            if project.choice.is_known
            else given_choice(project.manifest, findings, self._namespace(project))
            for project in named.projects
        ]
        named = with_namespaces(named, findings, choices)
        if given["gremlin_endpoint"]:
            return named
        endpoint = self._prompt("Gremlin endpoint (ws:// or wss://, embedded: on this machine)", _EMBEDDED)
        return replace(named, gremlin_endpoint="" if endpoint == _EMBEDDED else endpoint)

    def _namespace(self, project: Project) -> str:
        options = [project.choice.namespace, *project.choice.alternatives]
        name = project.manifest.project or project.manifest.location
        if project.choice.is_of_jobs:
            click.echo(f"Namespaces in Spark's lineage: {', '.join(options)}")
        text = f"Namespace of the tables of dbt project {name}"
        return str(click.prompt(text, default=options[0], value_proc=_parse_namespace))

    def replace(self, file: Path) -> bool:
        """Ask whether to replace an existing file."""
        return self._confirm(f"Replace {file}?", default=False)

    def _confirmed(self, what: str, named: tuple[str, ...], offered: tuple[str, ...]) -> tuple[str, ...]:
        return named or tuple(each for each in offered if self._confirm(f"{what} {each}: use it?"))

    def _confirm(self, text: str, *, default: bool = True) -> bool:
        return click.confirm(text, default=default)

    def _prompt(self, text: str, default: str = "") -> str:
        return str(click.prompt(text, default=default, show_default=bool(default))).strip()


def _parse_namespace(text: str) -> str:
    try:
        return namespace("namespace", text)
    except (ConfigError, NamingError) as error:
        raise click.BadParameter(error.message) from None

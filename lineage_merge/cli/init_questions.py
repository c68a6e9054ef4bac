"""Questions of the command `init`, on a terminal."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import click

from lineage_merge.config.section import parse_namespace
from lineage_merge.model.errors import ConfigError, NamingError
from lineage_merge.orchestration.init.discovery import Inputs
from lineage_merge.orchestration.init.findings import Findings
from lineage_merge.orchestration.init.proposal import Project, Proposal, with_namespaces
from lineage_merge.orchestration.init.warehouse import choose_given
from lineage_merge.sources.registry import SOURCES
from lineage_merge.sources.source import Source

_EMBEDDED = "embedded"


class Answers(Protocol):
    """Answers to the questions of `init`."""

    def inputs(self, named: Inputs, discovered: Inputs) -> Inputs:
        """Return the input to use: that which options name, and that found of other sources."""

    def complete(self, proposal: Proposal, findings: Findings, options: Mapping[str, Any]) -> Proposal:
        """Return the proposal with names and namespaces; `options` are those of the command."""

    def replace(self, file: Path) -> bool:
        """Return whether to replace an existing file."""


class _Defaults:
    """The answers without questions."""

    def inputs(self, named: Inputs, discovered: Inputs) -> Inputs:
        return {**discovered, **named}

    def complete(self, proposal: Proposal, _findings: Findings, _options: Mapping[str, Any]) -> Proposal:
        return proposal

    def replace(self, _file: Path) -> bool:
        return False


NO_QUESTIONS: Answers = _Defaults()


class InitQuestions:
    """Asks on the terminal."""

    def inputs(self, named: Inputs, discovered: Inputs) -> Inputs:
        """Confirm all input that was found, and ask for jobs and for projects if there are none."""
        chosen = dict(named)
        for source in SOURCES:
            if source.key in discovered and source.key not in named:
                contents = {option.key: option.contents for option in source.discovery().locations}
                source_input = discovered[source.key]
                confirmed = tuple(
                    location
                    for location in source_input.locations
                    if self._confirm(f"{contents[source_input.key]} {location}: use it?")
                )
                if confirmed:
                    chosen[source.key] = source_input._replace(locations=confirmed)
        for is_wanted in (_reports_jobs, _describes_projects):
            sources = [source for source in SOURCES if is_wanted(source)]
            for source in sources:
                if chosen.keys().isdisjoint(source.key for source in sources):
                    answer = source.discovery().ask(self._prompt)
                    chosen |= {source.key: answer} if answer else {}
        return chosen

    def complete(self, proposal: Proposal, findings: Findings, options: Mapping[str, Any]) -> Proposal:
        """Ask for the names that no option gives, and for namespaces that are not known."""
        named = replace(
            proposal,
            dag_name=options["dag"] or self._prompt("Name of the Airflow DAG", proposal.dag_name),
            environment=options["environment"] or self._prompt("Environment", proposal.environment),
        )
        choices = [
            project.choice
            if project.choice.is_known
            else choose_given(self._namespace(project), project.findings, findings.jobs)
            for project in named.projects
        ]
        named = with_namespaces(named, findings, choices)
        if options["gremlin_endpoint"]:
            return named
        endpoint = self._prompt("Gremlin endpoint (ws:// or wss://, embedded: on this machine)", _EMBEDDED)
        return replace(named, gremlin_endpoint="" if endpoint == _EMBEDDED else endpoint)

    def _namespace(self, project: Project) -> str:
        options = [project.choice.namespace, *project.choice.alternatives]
        name = project.findings.project or project.findings.location
        if project.choice.is_of_jobs:
            click.echo(f"Namespaces in Spark's lineage: {', '.join(options)}")
        text = f"Namespace of the tables of {project.source.name} project {name}"
        return str(click.prompt(text, default=options[0], value_proc=_parse_namespace))

    def replace(self, file: Path) -> bool:
        """Ask whether to replace an existing file."""
        return self._confirm(f"Replace {file}?", default=False)

    def _confirm(self, text: str, *, default: bool = True) -> bool:
        return click.confirm(text, default=default)

    def _prompt(self, text: str, default: str = "") -> str:
        return str(click.prompt(text, default=default, show_default=bool(default))).strip()


def _reports_jobs(source: Source[Any]) -> bool:
    return bool(source.discovery().line_key)


def _describes_projects(source: Source[Any]) -> bool:
    return source.discovery().describes_projects


def _parse_namespace(text: str) -> str:
    try:
        return parse_namespace(text, "namespace")
    except (ConfigError, NamingError) as error:
        raise click.BadParameter(error.message) from None

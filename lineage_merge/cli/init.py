"""The command `init`: the first configuration, from sources that are found, inspected and joined."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lineage_merge.cli.command import Command, epilog, rare_option
from lineage_merge.cli.error_handling import handle_errors, print_json, progress
from lineage_merge.cli.options import as_json_or_text, without_progress
from lineage_merge.model.errors import ConfigError
from lineage_merge.naming import redact
from lineage_merge.sources.registry import SOURCES
from lineage_merge.sources.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lineage_merge.cli.init_questions import Answers
    from lineage_merge.infra.progress import ProgressCallback
    from lineage_merge.orchestration.init.discovery import Inputs
    from lineage_merge.sources.discovery import SourceInput

_OUT = "lineage_merge.yml"


def _source_options(function: "Callable[..., Any]") -> "Callable[..., Any]":
    """Add the options of the sources, each with a parameter ``source.key``."""
    for source in reversed(SOURCES):
        options = source.discovery().options
        is_common = any(not option.is_rare for option in options)
        for option in reversed(options):
            attributes: dict[str, Any] = {
                "help": f"{option.help}{'; repeatable' if option.is_repeatable else ''}",
                "metavar": option.metavar,
                "multiple": option.is_repeatable,
            }
            if not option.is_repeatable:
                attributes |= {"default": option.default, "show_default": bool(option.default)}
            names = (option.flag, _parameter(source, option.key))
            if option.is_rare:
                section = source.name if is_common else "Other sources"
                function = rare_option(*names, section=section, **attributes)(function)
            else:
                function = click.option(*names, **attributes)(function)
    return function


def _parameter(source: Source[Any], key: str) -> str:
    return f"{source.key}__{key}"


@click.command(
    cls=Command,
    epilog=epilog(
        "lineage-merge init",
        "lineage-merge init . --yes",
        "lineage-merge init . --mwaa airflow --artifacts s3://my-bucket/lineage-merge/artifacts",
        "lineage-merge init --spline-export spline --dbt target/manifest.json",
        "lineage-merge init --spline-arango http://arangodb:8529 --dbt s3://bucket/dbt/manifest.json",
    ),
)
@click.argument("folder", metavar="[FOLDER]", required=False)
@click.option("--out", default=_OUT, show_default=True, metavar="FILE", help="configuration file to write")
@click.option("--dag", default="", metavar="NAME", help="name of the Airflow DAG  [default: dbt's project]")
@click.option("--environment", default="", metavar="NAME", help="environment  [default: dev]")
@_source_options
@click.option("--gremlin-endpoint", default="", metavar="URL", help="Gremlin endpoint  [default: embedded]")
@click.option(
    "--mwaa", default="", metavar="DIR", help="also write DAG, requirements and policy for MWAA there"
)
@click.option(
    "--artifacts", default="", metavar="s3://...", help="with --mwaa: the prefix passed to publish --s3"
)
@click.option("--yes", "-y", is_flag=True, help="ask no questions")
@click.option("--force", is_flag=True, help="replace an existing file")
@as_json_or_text
@without_progress
def init(
    folder: str | None, out: str, yes: bool, force: bool, as_json: bool, quiet: bool, **given: Any
) -> None:
    """Write a first configuration.

    FOLDER (local or s3://, default: the current one, unless options name sources) is searched for exports of
    Spline, files of its agent and of our Spark listener, dbt manifests, OpenLineage events, Hive logs and
    exports of Redshift's history. The sources are read, and the
    namespace of dbt's tables is chosen so that they join the tables of Spark. All paths may be in S3.
    """
    is_interactive = _is_interactive() and not (yes or as_json)
    # A spinner would overwrite the questions.
    with handle_errors(), progress(quiet or is_interactive) as on_progress:
        from lineage_merge.cli.init_questions import NO_QUESTIONS, InitQuestions

        answers = InitQuestions() if is_interactive else NO_QUESTIONS
        try:
            _init(folder, out, force, as_json, given, answers, on_progress)
        except click.Abort:  # Ctrl-C or Ctrl-D at a question
            raise KeyboardInterrupt from None


def _is_interactive() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _init(
    folder: str | None,
    out: str,
    force: bool,
    as_json: bool,
    given: dict[str, Any],
    answers: "Answers",
    on_progress: "ProgressCallback",
) -> None:
    from lineage_merge.cli import init_report
    from lineage_merge.infra import storage
    from lineage_merge.orchestration.configuration import CONFIGURATION
    from lineage_merge.orchestration.init import configuration_text, mwaa
    from lineage_merge.orchestration.init.inspection import inspect
    from lineage_merge.orchestration.init.proposal import propose
    from lineage_merge.orchestration.init.verification import verify

    if storage.is_s3(out):
        raise ConfigError("--out", "expected a local file")
    file = Path(out)
    inputs, notes = _inputs(folder, given, answers, on_progress)
    findings = inspect(inputs, on_progress)
    proposal = propose(
        inputs,
        findings,
        dag_name=given["dag"],
        environment=given["environment"],
        namespace=_parse_namespace(given),
        gremlin_endpoint=given["gremlin_endpoint"],
        folder_name=Path(folder or ".").resolve().name,
    )
    if not as_json:
        _print(init_report.list_found(proposal, findings, notes))
    proposal = answers.complete(proposal, findings, given)
    _check_endpoint(proposal.gremlin_endpoint)
    mwaa_files = mwaa.files(proposal, given["artifacts"]) if given["mwaa"] else {}
    text = configuration_text.text(proposal, findings, file.parent)
    # Before anything is written: names and addresses that are given may be invalid.
    CONFIGURATION.parse(proposal.settings())
    is_new = _check_existing(file, text, force, answers)
    if is_new:
        storage.make_folder(str(file.parent))
        storage.write_text(str(file), text)
    for name, content in mwaa_files.items():
        _write_new(Path(given["mwaa"], name), content, force)
    verified = verify(CONFIGURATION.load(file, environ={}), on_progress)
    names = tuple(str(Path(given["mwaa"], name)) for name in mwaa_files)
    outcome = init_report.InitOutcome(out, is_new, proposal, findings, verified, notes, names)
    if as_json:
        print_json(init_report.as_json(outcome))
    else:
        _print(init_report.list_written(outcome))


def _write_new(file: Path, text: str, force: bool) -> None:
    from lineage_merge.infra import storage

    if file.exists() and file.read_text(encoding="utf-8") != text and not force:
        raise ConfigError("--mwaa", f"{file} exists. Fix: --force replaces it")
    storage.make_folder(str(file.parent))
    storage.write_text(str(file), text)


def _print(lines: "Iterable[str]") -> None:
    for line in lines:
        click.echo(line)


def _inputs(
    folder: str | None, given: dict[str, Any], answers: "Answers", on_progress: "ProgressCallback"
) -> "tuple[Inputs, tuple[str, ...]]":
    """Return the named input of sources and that found in the folder, and notes about others."""
    from lineage_merge.orchestration.init import discovery

    named: dict[str, SourceInput] = {}
    for source in SOURCES:
        own = source.discovery()
        values = {option.key: given[_parameter(source, option.key)] for option in own.options}
        if values and (source_input := own.read_options(values)):
            named[source.key] = source_input
    if folder is None and named:
        return named, ()
    on_progress(f"searching {folder or '.'}")
    discovered = discovery.search(folder or ".", named)
    inputs = answers.inputs(named, discovered.inputs)
    if not inputs:
        *flags, last = (
            option.flag
            for own in sorted(
                (source.discovery() for source in SOURCES), key=lambda own: own.describes_projects
            )
            for option in own.options
            if option.contents or not option.is_rare
        )
        fix = f"name the sources with {', '.join(flags)} or {last}"
        searched = Path.cwd() if folder in (None, ".") else folder
        problem = "; ".join((f"no source found in {searched}", *discovered.notes))
        raise ConfigError("", f"{problem}. Fix: {fix}")
    return inputs, discovered.notes


def _parse_namespace(given: dict[str, Any]) -> str:
    """Return the namespace that an option gives for the tables of projects, or "". Raises `ConfigError`."""
    from lineage_merge.config.section import parse_namespace

    for source in SOURCES:
        own = source.discovery()
        for option in own.options:
            value = given[_parameter(source, option.key)]
            if own.describes_projects and option.key == "namespace" and value:
                return parse_namespace(value, option.flag)
    return ""


def _check_endpoint(endpoint: str) -> None:
    """Raise `ConfigError` for an endpoint with a password, which must not be written into a file."""
    if redact(endpoint) != endpoint or "@" in endpoint:
        fix = "set it in the variable LINEAGE_MERGE_GREMLIN_ENDPOINT"
        raise ConfigError("--gremlin-endpoint", f"contains a user or password. Fix: {fix}")


def _check_existing(file: Path, text: str, force: bool, answers: "Answers") -> bool:
    """Return whether the file has to be written. Shows the difference to an existing one."""
    from difflib import unified_diff

    try:
        existing = file.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return True
    except OSError as error:
        raise ConfigError("--out", f"cannot read {file}: {error.strerror}") from None
    if existing == text:
        return False
    if force:
        return True
    lines = unified_diff(existing.splitlines(), text.splitlines(), str(file), "proposed", lineterm="")
    click.echo("\n".join(redact(line) for line in lines), err=True)
    if not answers.replace(file):
        raise ConfigError("", f"{file} exists. Fix: --force replaces it, --out NAME writes another file")
    return True

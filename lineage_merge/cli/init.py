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

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lineage_merge.cli.init_questions import Answers
    from lineage_merge.infra.progress import ProgressCallback
    from lineage_merge.orchestration.init.sources import Sources

_OUT = "lineage_merge.yml"
# Sections of `--help-all`.
_SPLINE, _DBT, _OTHERS = "Spline", "dbt", "Other sources"


def _line_file_options(function: "Callable[..., Any]") -> "Callable[..., Any]":
    """Add the flags of the sources with files of lines."""
    for source in reversed(SOURCES):
        if source.line_files.key:
            option = rare_option(
                source.flags[source.line_files.key],
                f"{source.key}_line_files",
                section=source.name if len(source.flags) > 1 else _OTHERS,
                multiple=True,
                metavar="PATH",
                help=f"{source.line_files.contents}; repeatable",
            )
            function = option(function)
    return function


@click.command(
    cls=Command,
    epilog=epilog(
        "lineage-merge init",
        "lineage-merge init . --yes",
        "lineage-merge init --spline-export spline --dbt target/manifest.json",
        "lineage-merge init --spline-arango http://arangodb:8529 --dbt s3://bucket/dbt/manifest.json",
    ),
)
@click.argument("folder", metavar="[FOLDER]", required=False)
@click.option("--out", default=_OUT, show_default=True, metavar="FILE", help="configuration file to write")
@click.option("--dag", default="", metavar="NAME", help="name of the Airflow DAG  [default: dbt's project]")
@click.option("--environment", default="", metavar="NAME", help="environment  [default: dev]")
@click.option("--spline-export", default="", metavar="PATH", help="folder of an export of Spline's database")
@click.option("--spline-arango", default="", metavar="URL", help="address of Spline's ArangoDB")
@rare_option(
    "--spline-database",
    section=_SPLINE,
    default="",
    metavar="NAME",
    help="its database  [default: spline]",
)
@rare_option(
    "--spline-username",
    section=_SPLINE,
    default="",
    metavar="NAME",
    help="its user  [default: root]",
)
@rare_option(
    "--spline-password-env",
    section=_SPLINE,
    default="",
    metavar="VAR",
    help="environment variable with its password",
)
@_line_file_options
@rare_option("--sql", section=_OTHERS, multiple=True, metavar="PATH", help="folder of SQL files; repeatable")
@rare_option(
    "--sql-dialect",
    section=_OTHERS,
    default="spark",
    show_default=True,
    metavar="NAME",
    help="their dialect",
)
@click.option("--dbt", multiple=True, metavar="MANIFEST", help="dbt's manifest.json; repeatable")
@rare_option(
    "--dbt-namespace",
    section=_DBT,
    default="",
    metavar="URL",
    help="namespace of dbt's tables  [default: derived]",
)
@click.option("--gremlin-endpoint", default="", metavar="URL", help="Gremlin endpoint  [default: embedded]")
@click.option("--yes", "-y", is_flag=True, help="ask no questions")
@click.option("--force", is_flag=True, help="replace an existing file")
@as_json_or_text
@without_progress
def init(
    folder: str | None, out: str, yes: bool, force: bool, as_json: bool, quiet: bool, **given: Any
) -> None:
    """Write a first configuration.

    FOLDER (local or s3://, default: the current one, unless options name sources) is searched for exports of
    Spline, files of its agent, dbt manifests, OpenLineage events and Hive logs. The sources are read, and the
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
    from lineage_merge.config.section import namespace
    from lineage_merge.infra import storage
    from lineage_merge.orchestration.configuration import CONFIGURATION
    from lineage_merge.orchestration.init import configuration_text
    from lineage_merge.orchestration.init.inspection import inspect
    from lineage_merge.orchestration.init.proposal import propose
    from lineage_merge.orchestration.init.verification import verify

    if storage.is_s3(out):
        raise ConfigError("--out", "expected a local file")
    file = Path(out)
    sources, notes = _sources(folder, given, answers, on_progress)
    findings = inspect(sources, on_progress)
    chosen = given["dbt_namespace"]
    proposal = propose(
        sources,
        findings,
        dag_name=given["dag"],
        environment=given["environment"],
        namespace=namespace("--dbt-namespace", chosen) if chosen else "",
        gremlin_endpoint=given["gremlin_endpoint"],
        folder_name=Path(folder or ".").resolve().name,
    )
    if not as_json:
        _print(init_report.found_lines(proposal, findings, notes))
    proposal = answers.complete(proposal, findings, given)
    _check_endpoint(proposal.gremlin_endpoint)
    text = configuration_text.text(proposal, findings, file.parent)
    # Before anything is written: names and addresses that are given may be invalid.
    CONFIGURATION.parse(proposal.settings())
    is_new = _check_existing(file, text, force, answers)
    if is_new:
        storage.make_folder(str(file.parent))
        storage.write_text(str(file), text)
    verified = verify(CONFIGURATION.load(file, environ={}), on_progress)
    outcome = init_report.InitOutcome(out, is_new, proposal, findings, verified, notes)
    if as_json:
        print_json(init_report.as_json(outcome))
    else:
        _print(init_report.written_lines(outcome))


def _print(lines: "Iterable[str]") -> None:
    for line in lines:
        click.echo(line)


def _sources(
    folder: str | None, given: dict[str, Any], answers: "Answers", on_progress: "ProgressCallback"
) -> "tuple[Sources, tuple[str, ...]]":
    """Return the named sources and those found in the folder, and notes about others."""
    from lineage_merge.orchestration.init import discovery

    named = _named_sources(given)
    if folder is None and not named.is_empty:
        return named, ()
    on_progress(f"searching {folder or '.'}")
    found = discovery.search(folder or ".")
    sources = answers.sources(named, found.sources)
    if sources.is_empty:
        lines = [source.flags[source.line_files.key] for source in SOURCES if source.line_files.key]
        flags = f"--spline-export, --spline-arango, {', '.join(lines)}, --sql or --dbt"
        raise ConfigError("", f"no source found in {folder or '.'}. Fix: name the sources with {flags}")
    return sources, found.notes


def _named_sources(given: dict[str, Any]) -> "Sources":
    from lineage_merge.orchestration.init.sources import Sources, arango_settings

    if sum(bool(given[name]) for name in ("spline_export", "spline_arango", "spline_line_files")) > 1:
        raise ConfigError("", "give one of --spline-export, --spline-arango and --spline-agent")
    details = {name: given[f"spline_{name}"] for name in ("database", "username", "password_env")}
    if any(details.values()) and not given["spline_arango"]:
        raise ConfigError(
            "", "--spline-database, --spline-username and --spline-password-env need --spline-arango"
        )
    return Sources(
        spline_export=given["spline_export"],
        arango=arango_settings(given["spline_arango"], **details) if given["spline_arango"] else {},
        line_files={
            source.key: locations
            for source in SOURCES
            if (locations := given.get(f"{source.key}_line_files"))
        },
        sql=given["sql"],
        sql_dialect=given["sql_dialect"],
        dbt=given["dbt"],
    )


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

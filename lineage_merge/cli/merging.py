"""Commands that merge: sources to graph (`run`), and its two halves (`build`, `load`)."""

import dataclasses
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lineage_merge.cli.command import add_options, command, rare_option
from lineage_merge.cli.error_handling import (
    echo_error,
    handle_errors,
    log_error,
    make_console,
    one_line,
    print_json,
    progress,
)
from lineage_merge.cli.options import (
    CommandSettings,
    as_json_or_text,
    dry_run_only,
    with_configuration,
    without_progress,
)
from lineage_merge.cli.query_options import rare_graph_file_option
from lineage_merge.model.errors import TooFewJoined
from lineage_merge.query.selection import EMBEDDED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lineage_merge.config import Config
    from lineage_merge.infra.progress import ProgressCallback
    from lineage_merge.load.result import LoadResult

# In addition to `LineageMergeError.exit_code`: success, but invalid documents were skipped.
EXIT_REJECTED = 7

_allow_retire = click.option(
    "--allow-retire",
    is_flag=True,
    help="allow retiring more than 30% of the DAG's edges, or all edges of a job",
)
_verify = rare_option(
    "--verify",
    is_flag=True,
    help="compare everything that the graph stores for the DAG, not only changes",
)


_LOAD_OPTIONS = (
    rare_graph_file_option,
    dry_run_only,
    _allow_retire,
    _verify,
    as_json_or_text,
    without_progress,
)


def _load_options(command: Callable[..., Any]) -> Any:
    """Add the options of commands that update the graph; flags of keys become settings."""

    @wraps(command)
    def gather(
        settings: CommandSettings, graph_file: Path | None, allow_retire: bool, verify: bool, **given: Any
    ) -> None:
        keys = {"load.allow_retire": allow_retire, "load.verify": verify}
        flags = settings.flags | {key: "true" for key, is_given in keys.items() if is_given}
        if graph_file:
            if flags.get("gremlin.endpoint", EMBEDDED) != EMBEDDED:
                raise click.UsageError("--graph-file and --gremlin-endpoint select different graphs: set one")
            flags["gremlin.endpoint"] = EMBEDDED
        command(settings=CommandSettings(settings.file, flags), graph_file=graph_file, **given)

    return with_configuration(add_options(gather, _LOAD_OPTIONS))


@command(
    "lineage-merge run --config lineage_merge.yml",
    "lineage-merge run -c lineage_merge.yml --gremlin-endpoint ws://localhost:8182/gremlin",
    "LINEAGE_MERGE_ENVIRONMENT=prod lineage-merge run -c lineage_merge.yml --json",
    "lineage-merge run -c lineage_merge.yml --dry-run",
)
@_load_options
def run(
    settings: CommandSettings, graph_file: Path | None, dry_run: bool, as_json: bool, quiet: bool
) -> None:
    """Read the sources, merge them, and update the graph.

    Removed lineage is retired: models that a dbt manifest no longer contains, Spark targets that later
    successful runs of their job did not write.
    """
    from lineage_merge.orchestration.report_text import describe_load, print_report

    with handle_errors(), _observe_run(settings.load(), quiet, as_json) as (config, on_progress):
        from lineage_merge.orchestration import preflight

        preflight.check_sources(config)
        preflight.check_graph(config)
        with _spark(config, on_progress) as (spark, counted):
            from lineage_merge.orchestration import pipeline

            with _too_few_joined(as_json):
                outcome = pipeline.run(spark, config, counted, dry_run=dry_run, graph_file=graph_file)
    if as_json:
        print_json({"report": outcome.report.as_json(), "written": dataclasses.asdict(outcome.loaded)})
    else:
        print_report(make_console(), outcome.report, describe_load(outcome.loaded))
        _print_difference(outcome.loaded)
    _exit_for(outcome.report, config)


@command(
    "lineage-merge build --config lineage_merge.yml --out lineage",
    "lineage-merge build -c lineage_merge.yml --out lineage --format jsonl",
)
@with_configuration
@click.option(
    "--out",
    "folder",
    required=True,
    metavar="DIR",
    help="output folder of nodes/ and edges/, which are replaced",
)
@click.option(
    "--format",
    "file_format",
    type=click.Choice(["parquet", "jsonl"]),
    default="parquet",
    show_default=True,
    help="file format",
)
@as_json_or_text
@without_progress
def build(settings: CommandSettings, folder: str, file_format: Any, as_json: bool, quiet: bool) -> None:
    """Read the sources and merge them into node and edge files."""
    from lineage_merge.orchestration.report_text import print_report

    with handle_errors(), _observe_run(settings.load(), quiet, as_json) as (config, on_progress):
        from lineage_merge.orchestration import preflight

        preflight.check_sources(config)
        with _spark(config, on_progress) as (spark, counted):
            from lineage_merge.orchestration import pipeline

            built = pipeline.build(spark, config, counted)
            counted(f"writing {folder}")
            pipeline.write_folder(built, folder, file_format)
    if as_json:
        print_json({"report": built.report.as_json(), "out": folder})
    else:
        print_report(make_console(), built.report, f"{folder}: nodes/, edges/ and report.json")
    _exit_for(built.report, config)


@command(
    "lineage-merge load lineage --config lineage_merge.yml",
    "lineage-merge load lineage -c lineage_merge.yml --dry-run",
)
@click.argument("folder", metavar="DIR")
@_load_options
def load(
    settings: CommandSettings, folder: str, graph_file: Path | None, dry_run: bool, as_json: bool, quiet: bool
) -> None:
    """Update the graph from the node and edge files of DIR, whose rows name environment and DAG."""
    from lineage_merge.orchestration.report_text import describe_load

    with (
        handle_errors(),
        _observe_run(settings.load(needs_source=False, needs_scope=False), quiet, as_json) as observed,
    ):
        config, on_progress = observed
        from lineage_merge.orchestration import pipeline, preflight

        preflight.check_graph(config)
        with ExitStack() as stack:
            spark: SparkSession | None = None
            if not pipeline.loads_without_spark(config, folder):
                spark, on_progress = stack.enter_context(_spark(config, on_progress))
            loaded = pipeline.load_folder(
                spark, config, folder, on_progress, dry_run=dry_run, graph_file=graph_file
            )
    if as_json:
        print_json({"written": dataclasses.asdict(loaded)})
    else:
        click.echo(f"written: {describe_load(loaded)}")
        _print_difference(loaded)


@contextmanager
def _observe_run(
    config: "Config", quiet: bool, as_json: bool
) -> "Iterator[tuple[Config, Callable[[str], None]]]":
    """Yield the configuration and a progress callback, with telemetry under one run id.

    With `log.format: json`, progress and errors are log lines. Metrics go to standard output, or to standard
    error if `as_json` uses standard output.
    """
    from lineage_merge.infra.telemetry import running

    out = sys.stderr if as_json else sys.stdout
    if config.log.format == "json":
        from lineage_merge.infra import telemetry

        with (
            telemetry.as_json(logging.WARNING if quiet else logging.INFO),
            running(config, out),
            handle_errors(log_error),
        ):
            yield config, logging.getLogger("lineage_merge").info
        return
    with running(config, out), progress(quiet) as on_progress:
        yield config, on_progress


@contextmanager
def _spark(
    config: "Config", on_progress: "ProgressCallback"
) -> "Iterator[tuple[SparkSession, ProgressCallback]]":
    """Yield a session and a progress callback with counts of its tasks; without them for JSON logs."""
    from lineage_merge.cli.interrupt import session
    from lineage_merge.infra.progress import count_tasks

    with session(config.spark, on_progress) as spark:
        if config.log.format == "json":
            yield spark, on_progress
            return
        with count_tasks(spark, on_progress) as counted:
            yield spark, counted


@contextmanager
def _too_few_joined(as_json: bool) -> Iterator[None]:
    """Print the report of a merge that joins too little before its error."""
    try:
        yield
    except TooFewJoined as error:
        if error.report is not None:
            from lineage_merge.orchestration.report_text import print_report

            if as_json:
                print_json({"report": error.report.as_json(), "written": None})
            else:
                print_report(make_console(), error.report, "nothing: merge.expect is not met")
        raise


def _print_difference(loaded: "LoadResult") -> None:
    """Print the listed changes and retirements of a load or dry run, and the exports."""
    from rich.text import Text

    console = make_console()
    would = "would be " if loaded.dry_run else ""
    listed = (
        (f"{would}written", loaded.changes),
        (f"{would}retired", loaded.retirements),
        ("exported", loaded.exported),
    )
    for title, lines in listed:
        if lines:
            console.print(Text(f"\n{title}:", style="bold"))
        for line in lines:
            console.print(Text(f"  {line}"), soft_wrap=True)
    if loaded.refusal:
        console.print(Text(f"\nwould stop: {loaded.refusal}"), soft_wrap=True)


def _exit_for(report: Any, config: "Config") -> None:
    """Exit with a line and a code if the merge joins too little, or documents were rejected."""
    from lineage_merge.merge.expectations import fail_if_unmet

    with handle_errors(log_error if config.log.format == "json" else echo_error):
        fail_if_unmet(report)
    rejected = report.totals.get("rejected")
    if rejected and config.log.format == "json":
        sys.exit(EXIT_REJECTED)  # the last log line contains the counts
    if rejected:
        from lineage_merge.orchestration.report_text import pluralize, problem_text

        skipped = pluralize(rejected, "invalid document", "invalid documents")
        first = one_line(problem_text(report.select_kind("rejected")[0]))
        click.echo(f"error: skipped {skipped}, first {first}", err=True)
        sys.exit(EXIT_REJECTED)

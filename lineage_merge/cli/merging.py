"""The commands that merge: the sample, sources to graph, and both halves of that."""

import dataclasses
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from lineage_merge.cli.error_handling import (
    epilog,
    log_error,
    make_console,
    one_line,
    print_json,
    progress,
    reported,
)
from lineage_merge.cli.options import Settings, as_json_or_text, configured, dry_run_only, without_progress

if TYPE_CHECKING:
    from lineage_merge.config import Config

# Besides `LineageMergeError.exit_code`: everything was done, but broken documents were left out.
EXIT_REJECTED = 7

_allow_retire = click.option(
    "--allow-retire", is_flag=True, help="retire also more than 30% of the DAG's edges, or all of a job"
)
_verify = click.option(
    "--verify", is_flag=True, help="compare all that the graph has of the DAG, not only what changed"
)


@click.command(
    epilog=epilog(
        "lineage-merge demo",
        "lineage-merge demo --json",
    )
)
@as_json_or_text
@without_progress
def demo(as_json: bool, quiet: bool) -> None:
    """Merge the sample pipeline into an embedded graph and show the way through it.

    Two Spark applications and a dbt project (TICKIT), from sample_data/. Needs no server:
    the first start fetches the Gremlin Server's jars and keeps them.
    """
    from lineage_merge.cli.printing import loaded_text, print_report
    from lineage_merge.query.formats.tree import tree

    with reported(), progress(quiet) as on_progress:
        from lineage_merge.cli import sample
        from lineage_merge.cli.interrupt import session
        from lineage_merge.infra.embedded.early_start import started_ahead
        from lineage_merge.orchestration import pipeline
        from lineage_merge.orchestration.configuration import CONFIGURATION
        from lineage_merge.query.backends.opening import open_graph
        from lineage_merge.query.paths import way

        settings = CONFIGURATION.load(sample.config_file(), environ={})
        with (
            started_ahead(settings.gremlin.endpoint, on_progress) as server,
            session(settings.spark, on_progress) as spark,
        ):
            server.check()
            built = pipeline.build(spark, settings, on_progress)
            server.wait()
            with pipeline.endpoint(settings, on_progress) as target:
                loaded = pipeline.load_graph(built, settings, target, on_progress)
                on_progress("asking for the way")
                with open_graph(target) as graph:
                    ends = sample.way_ends(settings.environment)
                    at = {each.id: each for each in graph.vertices(ends)}
                    found = way(graph, at[ends[0]], at[ends[1]])
    if as_json:
        hops = [
            {
                "source": edge.from_id,
                "target": edge.to_id,
                "job": edge.job,
                "via": edge.properties.get("via", ""),
            }
            for edge in found.edges
        ]
        print_json({"report": built.report.as_json(), "written": _written(loaded), "way": hops})
        return
    console = make_console()
    print_report(console, built.report, loaded_text(loaded))
    console.print("\nFrom s3://tickit-raw/sales to top_events_by_sales:\n")
    for line in tree(found, ends[:1]):
        console.print(line, soft_wrap=True)
    console.print("\nThe graph is kept: `lineage-merge serve` opens it for a notebook or console.")


@click.command(
    epilog=epilog(
        "lineage-merge run --config lineage_merge.yml",
        "lineage-merge run -c lineage_merge.yml --gremlin-endpoint ws://localhost:8182/gremlin",
        "LINEAGE_MERGE_ENVIRONMENT=prod lineage-merge run -c lineage_merge.yml --json",
        "lineage-merge run -c lineage_merge.yml --dry-run",
    )
)
@configured
@dry_run_only
@_allow_retire
@_verify
@as_json_or_text
@without_progress
def run(
    settings: Settings, dry_run: bool, allow_retire: bool, verify: bool, as_json: bool, quiet: bool
) -> None:
    """Read the sources, merge them, and write what differs into the graph.

    What is gone is retired: a model that a dbt manifest dropped, a Spark target that later good
    runs of its job did not write.
    """
    from lineage_merge.cli.printing import loaded_text, print_difference, print_report

    with (
        reported(),
        _observed(_with_flags(settings, allow_retire, verify), quiet, as_json) as (config, on_progress),
    ):
        from lineage_merge.cli.interrupt import session
        from lineage_merge.infra.embedded.early_start import started_ahead
        from lineage_merge.orchestration import pipeline, preflight

        preflight.check_sources(config)
        preflight.check_graph(config)
        with (
            started_ahead(config.gremlin.endpoint, on_progress) as server,
            session(config.spark, on_progress) as spark,
        ):
            server.wait()
            outcome = pipeline.run(spark, config, on_progress, dry_run=dry_run)
    if as_json:
        print_json({"report": outcome.report.as_json(), "written": _written(outcome.loaded)})
    else:
        print_report(make_console(), outcome.report, loaded_text(outcome.loaded))
        print_difference(make_console(), outcome.loaded)
    _exit_for(outcome.report, config)


@click.command(
    epilog=epilog(
        "lineage-merge build --config lineage_merge.yml --out lineage",
        "lineage-merge build -c lineage_merge.yml --out lineage --format jsonl",
    )
)
@configured
@click.option(
    "--out",
    "folder",
    required=True,
    metavar="DIR",
    help="where nodes/ and edges/ go, in place of what is there",
)
@click.option(
    "--format", "file_format", type=click.Choice(["parquet", "jsonl"]), default="parquet", show_default=True
)
@as_json_or_text
@without_progress
def build(settings: Settings, folder: str, file_format: Any, as_json: bool, quiet: bool) -> None:
    """Read the sources and merge them into node and edge files only."""
    from lineage_merge.cli.printing import print_report

    with reported(), _observed(settings, quiet, as_json) as (config, on_progress):
        from lineage_merge.cli.interrupt import session
        from lineage_merge.orchestration import pipeline, preflight

        preflight.check_sources(config)
        with session(config.spark, on_progress) as spark:
            built = pipeline.build(spark, config, on_progress)
            on_progress(f"writing {folder}")
            pipeline.write_folder(built, folder, file_format)
    if as_json:
        print_json({"report": built.report.as_json(), "out": folder})
    else:
        print_report(make_console(), built.report, f"{folder}: nodes/, edges/ and report.json")
    _exit_for(built.report, config)


@click.command(
    epilog=epilog(
        "lineage-merge load lineage --config lineage_merge.yml",
        "lineage-merge load lineage -c lineage_merge.yml --dry-run",
    )
)
@click.argument("folder", metavar="DIR")
@configured
@dry_run_only
@_allow_retire
@_verify
@as_json_or_text
@without_progress
def load(
    settings: Settings,
    folder: str,
    dry_run: bool,
    allow_retire: bool,
    verify: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Write what differs of the node and edge files of DIR into the graph."""
    from lineage_merge.cli.printing import loaded_text, print_difference

    with (
        reported(),
        _observed(_with_flags(settings, allow_retire, verify), quiet, as_json) as (config, on_progress),
    ):
        from lineage_merge.cli.interrupt import session
        from lineage_merge.orchestration import pipeline, preflight

        preflight.check_graph(config)
        with session(config.spark, on_progress) as spark:
            loaded = pipeline.load_folder(spark, config, folder, on_progress, dry_run=dry_run)
    if as_json:
        print_json({"written": _written(loaded)})
    else:
        click.echo(f"written: {loaded_text(loaded)}")
        print_difference(make_console(), loaded)


def _with_flags(settings: Settings, allow_retire: bool, verify: bool) -> Settings:
    given = {"load.allow_retire": allow_retire, "load.verify": verify}
    flags = {name: "true" for name, is_given in given.items() if is_given}
    return Settings(settings.file, {**settings.flags, **flags})


@contextmanager
def _observed(
    settings: Settings, quiet: bool, as_json: bool
) -> "Iterator[tuple[Config, Callable[[str], None]]]":
    """The configuration, and where progress goes, under one run id.

    With `log.format: json` progress and errors are log lines. Metrics go to standard output,
    and to standard error where `as_json` has that for itself.
    """
    config = settings.load()
    from lineage_merge.infra.telemetry import running

    out = sys.stderr if as_json else sys.stdout
    if config.log.format == "json":
        from lineage_merge.infra.telemetry import logs

        with (
            logs.as_json(logging.WARNING if quiet else logging.INFO),
            running(config, out),
            reported(log_error),
        ):
            yield config, logging.getLogger("lineage_merge").info
        return
    with running(config, out), progress(quiet) as on_progress:
        yield config, on_progress


def _written(loaded: Any) -> dict[str, Any]:
    return dataclasses.asdict(loaded)


def _exit_for(report: Any, config: "Config") -> None:
    """End with the code, and a line, that says that documents were left out, if some were."""
    rejected = report.totals.get("rejected")
    if rejected and config.log.format == "json":
        sys.exit(EXIT_REJECTED)  # the log's last line has the counts
    if rejected:
        from lineage_merge.cli.printing import counted, problem_text

        left_out = counted(rejected, "broken document was", "broken documents were")
        first = one_line(problem_text(report.of_kind("rejected")[0]))
        click.echo(f"error: {left_out} left out, first {first}", err=True)
        sys.exit(EXIT_REJECTED)

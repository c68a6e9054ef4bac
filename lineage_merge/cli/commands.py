"""The commands. Heavy imports (Spark, Gremlin) stand inside them: `--help` and a wrong key are quick."""

import dataclasses
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lineage_merge import __version__
from lineage_merge.cli import export, page, questions, receive, sql
from lineage_merge.cli.frame import epilog, log_error, make_console, one_line, print_json, progress, reported
from lineage_merge.cli.options import Settings, configured
from lineage_merge.errors import ConfigError, GraphError, IntermediateError

if TYPE_CHECKING:
    from lineage_merge.config import Config

# Besides `LineageMergeError.exit_code`: everything was done, but broken documents were left out.
EXIT_REJECTED = 7
_MOST_FLAWS = 100

_json = click.option("--json", "as_json", is_flag=True, help="print the outcome as JSON, for scripts")
_quiet = click.option("--quiet", "-q", is_flag=True, help="show no progress")
_dry_run = click.option("--dry-run", is_flag=True, help="print what would change in the graph, write nothing")
_allow_retire = click.option(
    "--allow-retire", is_flag=True, help="retire also more than 30% of the DAG's edges, or all of a job"
)
_graph = (
    click.option(
        "--environment", metavar="NAME", envvar="LINEAGE_MERGE_ENVIRONMENT", help="dev, staging, prod"
    ),
    click.option(
        "--gremlin-endpoint",
        metavar="TEXT",
        envvar="LINEAGE_MERGE_GREMLIN_ENDPOINT",
        help="embedded, or ws://host:8182/gremlin, or wss://...",
    ),
    click.option(
        "--config",
        "-c",
        "config_file",
        type=click.Path(path_type=Path, dir_okay=False),
        envvar="LINEAGE_MERGE_CONFIG",
        help="a configuration that says what is not said by flag",
    ),
)


def _of_graph(command: Any) -> Any:
    """The flags that say which graph and environment: a command that reads no source needs no more."""
    for option in reversed(_graph):
        command = option(command)
    return command


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=epilog(
        "lineage-merge demo",
        "lineage-merge run --config lineage_merge.yml",
        "lineage-merge build --config lineage_merge.yml --out lineage --format jsonl",
    ),
)
@click.version_option(__version__, prog_name="lineage-merge")
def main() -> None:
    """Merge the lineage of Spark (from Spline) and dbt into one graph in Neptune or any Gremlin server."""


@main.command(
    epilog=epilog(
        "lineage-merge demo",
        "lineage-merge demo --json",
    )
)
@_json
@_quiet
def demo(as_json: bool, quiet: bool) -> None:
    """Merge the sample pipeline into an embedded graph and show the way through it.

    Two Spark applications and a dbt project (TICKIT), from sample_data/. Needs no server:
    the first start fetches the Gremlin Server's jars and keeps them.
    """
    from lineage_merge.cli.printing import loaded_text, print_report
    from lineage_merge.query.formats.tree import tree

    with reported(), progress(quiet) as say:
        from lineage_merge import config, pipeline, sample
        from lineage_merge.cli.interrupt import session
        from lineage_merge.query.graph import open_graph
        from lineage_merge.query.way import way

        settings = config.load(sample.config_file(), environ={})
        with pipeline.endpoint(settings, say) as target, session(settings.spark, say) as spark:
            built = pipeline.build(spark, settings, say)
            loaded = pipeline.load_graph(built, settings, target, say)
            say("asking for the way")
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


@main.command(
    epilog=epilog(
        "lineage-merge run --config lineage_merge.yml",
        "lineage-merge run -c lineage_merge.yml --gremlin-endpoint ws://localhost:8182/gremlin",
        "LINEAGE_MERGE_ENVIRONMENT=prod lineage-merge run -c lineage_merge.yml --json",
        "lineage-merge run -c lineage_merge.yml --dry-run",
    )
)
@configured
@_dry_run
@_allow_retire
@_json
@_quiet
def run(settings: Settings, dry_run: bool, allow_retire: bool, as_json: bool, quiet: bool) -> None:
    """Read the sources, merge them, and write what differs into the graph.

    What is gone is retired: a model that a dbt manifest dropped, a Spark target that later good
    runs of its job did not write.
    """
    from lineage_merge.cli.printing import loaded_text, print_difference, print_report

    with reported(), _observed(_with_retire(settings, allow_retire), quiet, as_json) as (config, say):
        from lineage_merge import pipeline, preflight
        from lineage_merge.cli.interrupt import session

        preflight.check_sources(config)
        preflight.check_graph(config)
        with session(config.spark, say) as spark:
            outcome = pipeline.run(spark, config, say, dry_run=dry_run)
    if as_json:
        print_json({"report": outcome.report.as_json(), "written": _written(outcome.loaded)})
    else:
        print_report(make_console(), outcome.report, loaded_text(outcome.loaded))
        print_difference(make_console(), outcome.loaded)
    _exit_for(outcome.report, config)


@main.command(
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
@_json
@_quiet
def build(settings: Settings, folder: str, file_format: Any, as_json: bool, quiet: bool) -> None:
    """Read the sources and merge them into node and edge files only."""
    from lineage_merge.cli.printing import print_report

    with reported(), _observed(settings, quiet, as_json) as (config, say):
        from lineage_merge import pipeline, preflight
        from lineage_merge.cli.interrupt import session

        preflight.check_sources(config)
        with session(config.spark, say) as spark:
            built = pipeline.build(spark, config, say)
            say(f"writing {folder}")
            pipeline.write_folder(built, folder, file_format)
    if as_json:
        print_json({"report": built.report.as_json(), "out": folder})
    else:
        print_report(make_console(), built.report, f"{folder}: nodes/, edges/ and report.json")
    _exit_for(built.report, config)


@main.command(
    epilog=epilog(
        "lineage-merge load lineage --config lineage_merge.yml",
        "lineage-merge load lineage -c lineage_merge.yml --dry-run",
    )
)
@click.argument("folder", metavar="DIR")
@configured
@_dry_run
@_allow_retire
@_json
@_quiet
def load(
    settings: Settings, folder: str, dry_run: bool, allow_retire: bool, as_json: bool, quiet: bool
) -> None:
    """Write what differs of the node and edge files of DIR into the graph."""
    from lineage_merge.cli.printing import loaded_text, print_difference

    with reported(), _observed(_with_retire(settings, allow_retire), quiet, as_json) as (config, say):
        from lineage_merge import pipeline, preflight
        from lineage_merge.cli.interrupt import session

        preflight.check_graph(config)
        with session(config.spark, say) as spark:
            loaded = pipeline.load_folder(spark, config, folder, say, dry_run=dry_run)
    if as_json:
        print_json({"written": _written(loaded)})
    else:
        click.echo(f"written: {loaded_text(loaded)}")
        print_difference(make_console(), loaded)


@main.command(
    epilog=epilog(
        "lineage-merge report --config lineage_merge.yml",
        "lineage-merge report --environment dev --dag tickit_daily --json",
    )
)
@click.option("--dag", "dag_name", metavar="NAME", envvar="LINEAGE_MERGE_DAG_NAME", help="the Airflow DAG")
@_of_graph
@_json
def report(
    dag_name: str | None,
    environment: str | None,
    gremlin_endpoint: str | None,
    config_file: Path | None,
    as_json: bool,
) -> None:
    """Show what the last merge of a DAG joined, and what it could not join, as the graph keeps it."""
    from lineage_merge.cli.printing import print_merge_run

    with reported(), progress(True) as say:
        config = _graph_config(config_file, dag_name, environment, gremlin_endpoint)
        from lineage_merge import pipeline
        from lineage_merge.load import summary
        from lineage_merge.load.connection import check

        with pipeline.endpoint(config, say) as target:
            check(target.reader)
            found = summary.last(target.reader, config.environment, config.dag_name)
        if found is None:
            raise GraphError(f"the graph has no merge of {config.dag_name} in {config.environment}")
    if as_json:
        print_json(found.as_json())
    else:
        print_merge_run(make_console(), found)


@main.command(
    epilog=epilog(
        "lineage-merge remove --dag tickit_daily --environment dev --gremlin-endpoint embedded",
        "lineage-merge remove --dag tickit_daily --job tickit_sales_load -c lineage_merge.yml --dry-run",
    )
)
@click.option("--dag", "dag_name", metavar="NAME", required=True, help="the Airflow DAG to take out")
@click.option("--job", metavar="NAME", default="", help="only this job of it")
@_of_graph
@click.option("--dry-run", is_flag=True, help="print what would go, remove nothing")
@_json
def remove(
    dag_name: str,
    job: str,
    environment: str | None,
    gremlin_endpoint: str | None,
    config_file: Path | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Take a pipeline, or one job of it, out of the graph.

    What other DAGs know too stays, without this DAG's name.
    """
    from lineage_merge.cli.printing import removed_text

    with reported(), progress(True) as say:
        config = _graph_config(config_file, dag_name, environment, gremlin_endpoint)
        from lineage_merge import pipeline
        from lineage_merge.load import remove as removing
        from lineage_merge.load.connection import check

        with pipeline.endpoint(config, say) as target:
            check(target)
            what = removing.Pipeline(config.environment, dag_name, job)
            gone = removing.remove(target, what, dry_run=dry_run)
    if as_json:
        print_json({"dry_run": dry_run, "removed": dataclasses.asdict(gone)})
    else:
        click.echo(f"{'would be ' if dry_run else ''}removed: {removed_text(gone)}")


@main.command(
    epilog=epilog(
        "lineage-merge doctor --config lineage_merge.yml",
        "lineage-merge doctor -c lineage_merge.yml --json",
    )
)
@configured
@_json
def doctor(settings: Settings, as_json: bool) -> None:
    """Check each connection and right that a run needs, and say how to mend what is wrong.

    Ends with 0 where nothing failed, otherwise with the exit code of the first failure. Writes
    nothing but a vertex with an id of its own into the graph, and an object under gremlin.bulk.s3,
    which it takes away again. Takes half a minute at most.
    """
    from lineage_merge.cli.findings import as_lines, colours
    from lineage_merge.doctor import CONFIGURATION, Finding

    with reported():
        try:
            config = settings.load()
        except ConfigError as error:
            mend = "correct the file, or the flag or variable; lineage-merge run --help lists all keys"
            found = [Finding(CONFIGURATION, "failed", error.message, mend, error.exit_code)]
        else:
            from lineage_merge.doctor.examination import examine

            told = f"{config.dag_name} in {config.environment}"
            found = [Finding(CONFIGURATION, "ok", told), *examine(config)]
        code = next((each.exit_code or 1 for each in found if each.state == "failed"), 0)
        if as_json:
            print_json({"exit_code": code, "findings": [dataclasses.asdict(each) for each in found]})
        else:
            console = make_console()
            for line, state in as_lines(found, console.encoding):
                console.print(line, style=colours[state], soft_wrap=True, markup=False)
    # Not waiting for a check that hangs.
    sys.stdout.flush()
    sys.exit(code)


def _with_retire(settings: Settings, allow_retire: bool) -> Settings:
    flags = {**settings.flags, "load.allow_retire": "true"} if allow_retire else settings.flags
    return Settings(settings.file, flags)


def _graph_config(
    file: Path | None, dag_name: str | None, environment: str | None, endpoint: str | None
) -> "Config":
    """Enough of a configuration to find a DAG's lineage in a graph. Raises `ConfigError`."""
    from lineage_merge import config

    given = {"dag_name": dag_name, "environment": environment, "gremlin.endpoint": endpoint}
    flags = {key: value for key, value in given.items() if value}
    for key, flag in (("dag_name", "--dag"), ("environment", "--environment")):
        if file is None and key not in flags:
            raise ConfigError("", f"which one? give {flag}, or --config FILE")
    return config.load(file, flags=flags, needs_source=False)


@main.command(
    epilog=epilog(
        "lineage-merge validate lineage",
    )
)
@click.argument("folder", metavar="DIR")
@_json
@_quiet
def validate(folder: str, as_json: bool, quiet: bool) -> None:
    """Check the node and edge files of DIR against the JSON Schemas."""
    with reported(), progress(quiet) as say:
        from lineage_merge.cli.interrupt import session
        from lineage_merge.config import SparkOptions
        from lineage_merge.graph import files
        from lineage_merge.spark import own_errors

        with session(SparkOptions(), say) as spark, own_errors():
            say(f"checking {folder}")
            elements, flaws = files.flaws(spark, folder, _MOST_FLAWS)
    if as_json:
        print_json({"elements": elements, "flaws": [flaw._asdict() for flaw in flaws]})
    else:
        for flaw in flaws:
            place = (
                f"{flaw.kind}: {flaw.element}: {flaw.field}" if flaw.field else f"{flaw.kind}: {flaw.element}"
            )
            click.echo(f"{place}: {flaw.problem}")
        more = " or more" if len(flaws) == _MOST_FLAWS else ""
        click.echo(f"{elements} elements, {len(flaws) or 'no'} flaw{'s' * (len(flaws) != 1)}{more}")
    if flaws:
        sys.exit(IntermediateError.exit_code)


@main.command(
    epilog=epilog(
        "lineage-merge serve",
        "lineage-merge serve --port 8182 --graph-file lineage.json",
    )
)
@click.option(
    "--port", type=click.IntRange(1, 65535), default=8182, show_default=True, help="port to listen on"
)
@click.option(
    "--graph-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="the graph, as GraphSON  [default: the one that demo, run and load use]",
)
def serve(port: int, graph_file: Path | None) -> None:
    """Keep the embedded Gremlin Server running, for a notebook or a console.

    The graph is that of `demo`, `run` and `load` with the endpoint `embedded`.
    """
    with reported():
        from lineage_merge.embedded.serving import serve as keep_serving
        from lineage_merge.embedded.store import default_graph_file

        keep_serving(graph_file or default_graph_file(), port, lambda line: click.echo(line))


@main.command(
    epilog=epilog(
        "lineage-merge publish --s3 s3://artifacts/lineage_merge",
        "lineage-merge publish --s3 s3://artifacts/lineage_merge --with-dependencies",
    )
)
@click.option("--s3", "prefix", required=True, metavar="s3://BUCKET/PREFIX", help="where all of it goes")
@click.option(
    "--with-dependencies",
    is_flag=True,
    help="also what the package depends on, for a job without internet; pip fetches it now",
)
@click.option(
    "--wheels",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="a folder of wheels for Python 3.11 on x86-64 Linux: where --with-dependencies looks, "
    "and what is taken as it is without that",
)
@click.option(
    "--emr-environment",
    "environment",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="a packed Python 3.11 with this package, for EMR Serverless (docs/airflow.md says how)",
)
@_json
def publish(
    prefix: str, with_dependencies: bool, wheels: Path | None, environment: Path | None, as_json: bool
) -> None:
    """Put what a Glue or EMR Serverless job needs into S3: its script and this package.

    Prints the arguments that the job is started with. Airflow's task group finds them by itself.
    """
    from lineage_merge.cli.printing import print_published

    with reported():
        from lineage_merge import publish as publishing

        index = ("--no-index", "--find-links", str(wheels)) if wheels and with_dependencies else ()
        published = publishing.publish(
            prefix,
            with_dependencies=with_dependencies,
            wheels=wheels,
            environment=environment,
            index_options=index,
        )
    if as_json:
        print_json(dataclasses.asdict(published))
    else:
        print_published(make_console(), published)


@contextmanager
def _observed(
    settings: Settings, quiet: bool, as_json: bool
) -> "Iterator[tuple[Config, Callable[[str], None]]]":
    """The configuration, and where progress goes, under one run id.

    With `log.format: json` progress and errors are log lines. Metrics go to standard output,
    and to standard error where `as_json` has that for itself.
    """
    config = settings.load()
    from lineage_merge.telemetry import running

    out = sys.stderr if as_json else sys.stdout
    if config.log.format == "json":
        from lineage_merge.telemetry import logs

        with (
            logs.as_json(logging.WARNING if quiet else logging.INFO),
            running(config, out),
            reported(log_error),
        ):
            yield config, logging.getLogger("lineage_merge").info
        return
    with running(config, out), progress(quiet) as say:
        yield config, say


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


for question in questions.COMMANDS:
    main.add_command(question)
main.add_command(page.html)
main.add_command(export.export)
main.add_command(receive.receive)
main.add_command(sql.sql)

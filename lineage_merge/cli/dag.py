"""The commands about a DAG's lineage in the graph: what its last merge did, and taking it out."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lineage_merge.cli.error_handling import epilog, make_console, print_json, progress, reported
from lineage_merge.cli.options import as_json_or_text, with_config_file
from lineage_merge.model.errors import ConfigError, GraphError

if TYPE_CHECKING:
    from lineage_merge.config import Config

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
    with_config_file,
)


def _of_graph(command: Any) -> Any:
    """The flags that say which graph and environment: a command that reads no source needs no more."""
    for option in reversed(_graph):
        command = option(command)
    return command


@click.command(
    epilog=epilog(
        "lineage-merge report --config lineage_merge.yml",
        "lineage-merge report --environment dev --dag tickit_daily --json",
    )
)
@click.option("--dag", "dag_name", metavar="NAME", envvar="LINEAGE_MERGE_DAG_NAME", help="the Airflow DAG")
@_of_graph
@as_json_or_text
def report(
    dag_name: str | None,
    environment: str | None,
    gremlin_endpoint: str | None,
    config_file: Path | None,
    as_json: bool,
) -> None:
    """Show what the last merge of a DAG joined, and what it could not join, as the graph keeps it."""
    from lineage_merge.cli.printing import print_merge_run

    with reported(), progress(True) as on_progress:
        config = _graph_config(config_file, dag_name, environment, gremlin_endpoint)
        from lineage_merge.load import merge_run
        from lineage_merge.load.gremlin.connection import check
        from lineage_merge.orchestration import pipeline

        with pipeline.endpoint(config, on_progress) as target:
            check(target.reader)
            found = merge_run.read_last(target.reader, config.environment, config.dag_name)
        if found is None:
            raise GraphError(f"the graph has no merge of {config.dag_name} in {config.environment}")
    if as_json:
        print_json(found.as_json())
    else:
        print_merge_run(make_console(), found)


@click.command(
    epilog=epilog(
        "lineage-merge remove --dag tickit_daily --environment dev --gremlin-endpoint embedded",
        "lineage-merge remove --dag tickit_daily --job tickit_sales_load -c lineage_merge.yml --dry-run",
    )
)
@click.option("--dag", "dag_name", metavar="NAME", required=True, help="the Airflow DAG to take out")
@click.option("--job", metavar="NAME", default="", help="only this job of it")
@_of_graph
@click.option("--dry-run", is_flag=True, help="print what would go, remove nothing")
@as_json_or_text
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

    with reported(), progress(True) as on_progress:
        config = _graph_config(config_file, dag_name, environment, gremlin_endpoint)
        from lineage_merge.load import remove_dag as removing
        from lineage_merge.load.gremlin.connection import check
        from lineage_merge.orchestration import pipeline

        with pipeline.endpoint(config, on_progress) as target:
            check(target)
            what = removing.Pipeline(config.environment, dag_name, job)
            gone = removing.remove(target, what, dry_run=dry_run)
    if as_json:
        print_json({"dry_run": dry_run, "removed": dataclasses.asdict(gone)})
    else:
        click.echo(f"{'would be ' if dry_run else ''}removed: {removed_text(gone)}")


def _graph_config(
    file: Path | None, dag_name: str | None, environment: str | None, endpoint: str | None
) -> "Config":
    """Enough of a configuration to find a DAG's lineage in a graph. Raises `ConfigError`."""
    from lineage_merge.orchestration.configuration import CONFIGURATION

    given = {"dag_name": dag_name, "environment": environment, "gremlin.endpoint": endpoint}
    flags = {key: value for key, value in given.items() if value}
    for key, flag in (("dag_name", "--dag"), ("environment", "--environment")):
        if file is None and key not in flags:
            raise ConfigError("", f"which one? give {flag}, or --config FILE")
    return CONFIGURATION.load(file, flags=flags, needs_source=False)

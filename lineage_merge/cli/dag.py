"""Commands on a DAG's lineage in the graph: `report` of its last merge, and `remove`."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lineage_merge.cli.error_handling import epilog, handle_errors, make_console, print_json, progress
from lineage_merge.cli.options import as_json_or_text, with_config_file
from lineage_merge.model.errors import ConfigError, GraphError

if TYPE_CHECKING:
    from lineage_merge.config import Config

_GRAPH_OPTIONS = (
    click.option(
        "--environment", metavar="NAME", envvar="LINEAGE_MERGE_ENVIRONMENT", help="environment, such as prod"
    ),
    click.option(
        "--gremlin-endpoint",
        metavar="TEXT",
        envvar="LINEAGE_MERGE_GREMLIN_ENDPOINT",
        help="embedded, ws://host:8182/gremlin or wss://...",
    ),
    with_config_file,
)


def _graph_options(command: Any) -> Any:
    """Add the options of the graph and environment."""
    for option in reversed(_GRAPH_OPTIONS):
        command = option(command)
    return command


@click.command(
    epilog=epilog(
        "lineage-merge report --config lineage_merge.yml",
        "lineage-merge report --environment dev --dag tickit_daily --json",
        "lineage-merge report --config lineage_merge.yml --near-misses",
    )
)
@click.option("--dag", "dag_name", metavar="NAME", envvar="LINEAGE_MERGE_DAG_NAME", help="Airflow DAG")
@_graph_options
@click.option(
    "--near-misses",
    "is_near_misses",
    is_flag=True,
    help="search the whole environment for datasets that are probably one, and print how to join them",
)
@click.option("--all", "everything", is_flag=True, help="list every problem, also outputs without consumer")
@as_json_or_text
def report(
    dag_name: str | None,
    environment: str | None,
    gremlin_endpoint: str | None,
    config_file: Path | None,
    is_near_misses: bool,
    everything: bool,
    as_json: bool,
) -> None:
    """Show the stored report of the last merge of a DAG: what it joined, and what it could not join.

    With --near-misses, search the graph: another DAG may write what this one reads.
    """
    from lineage_merge.cli.printing import print_merge_run

    if is_near_misses:
        _report_near_misses(dag_name, environment, gremlin_endpoint, config_file, as_json)
        return

    with handle_errors(), progress(True) as on_progress:
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
        print_merge_run(make_console(), found, everything=everything)


def _report_near_misses(
    dag_name: str | None,
    environment: str | None,
    gremlin_endpoint: str | None,
    config_file: Path | None,
    as_json: bool,
) -> None:
    from lineage_merge.cli.near_misses import print_near_misses

    with handle_errors(), progress(True) as on_progress:
        # The fixes depend on the configuration; the search itself on the environment alone.
        config = _graph_config(config_file, dag_name or "none", environment, gremlin_endpoint)
        from lineage_merge.query.backends.opening import open_graph
        from lineage_merge.query.near_misses import near_misses

        with open_graph(config.gremlin, on_progress) as graph:
            found, notes = near_misses(graph, config)
    if as_json:
        listed = [{**each._asdict(), "evidence": list(each.evidence)} for each in found]
        print_json({"near_misses": listed, "notes": [each.message for each in notes]})
        return
    print_near_misses(make_console(), found)
    for note in notes:
        click.echo(f"note: {note.message}")
    if not found:
        click.echo(f"no near misses in {config.environment}")


@click.command(
    epilog=epilog(
        "lineage-merge remove --dag tickit_daily --environment dev --gremlin-endpoint embedded",
        "lineage-merge remove --dag tickit_daily --job tickit_sales_load -c lineage_merge.yml --dry-run",
    )
)
@click.option("--dag", "dag_name", metavar="NAME", required=True, help="Airflow DAG to remove")
@click.option("--job", metavar="NAME", default="", help="only this job of the DAG")
@_graph_options
@click.option("--dry-run", is_flag=True, help="print what would be removed, without removing it")
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
    """Remove a pipeline, or one of its jobs, from the graph.

    Vertices that other DAGs share stay, without this DAG's tag.
    """
    from lineage_merge.cli.printing import removed_text

    with handle_errors(), progress(True) as on_progress:
        config = _graph_config(config_file, dag_name, environment, gremlin_endpoint)
        from lineage_merge.load import remove_dag as removing
        from lineage_merge.load.gremlin.connection import check
        from lineage_merge.orchestration import pipeline

        with pipeline.endpoint(config, on_progress) as target:
            check(target)
            what = removing.Pipeline(config.environment, dag_name, job)
            removed = removing.remove(target, what, dry_run=dry_run)
    if as_json:
        print_json({"dry_run": dry_run, "removed": dataclasses.asdict(removed)})
    else:
        click.echo(f"{'would be ' if dry_run else ''}removed: {removed_text(removed)}")


def _graph_config(
    file: Path | None, dag_name: str | None, environment: str | None, endpoint: str | None
) -> "Config":
    """Return a configuration with graph, DAG and environment. Raises `ConfigError`."""
    from lineage_merge.orchestration.configuration import CONFIGURATION

    given = {"dag_name": dag_name, "environment": environment, "gremlin.endpoint": endpoint}
    flags = {key: value for key, value in given.items() if value}
    for key, flag in (("dag_name", "--dag"), ("environment", "--environment")):
        if file is None and key not in flags:
            raise ConfigError("", f"{key} is missing: set {flag} or --config")
    return CONFIGURATION.load(file, flags=flags, needs_source=False)

"""Commands on a DAG's lineage in the graph: `report` of its last merge, and `remove`."""

import dataclasses
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lineage_merge.cli.command import add_options, command
from lineage_merge.cli.completion import complete_dags, complete_environments, complete_jobs
from lineage_merge.cli.error_handling import handle_errors, make_console, print_json, progress
from lineage_merge.cli.options import as_json_or_text, with_config_file
from lineage_merge.cli.query_options import (
    as_of_option,
    demo_option,
    history_option,
    is_typed,
    rare_graph_file_option,
    select_graph_file,
)
from lineage_merge.model.errors import ConfigError
from lineage_merge.model.times import utc_time
from lineage_merge.query.selection import EMBEDDED, GraphSelection
from lineage_merge.query.session import require_graph_file

if TYPE_CHECKING:
    from lineage_merge.config import Config
    from lineage_merge.load.result import Removed
    from lineage_merge.questions.merge_report import NearMissesResult, ReportResult

GRAPH_OPTIONS = (
    click.option(
        "--environment",
        metavar="NAME",
        envvar="LINEAGE_MERGE_ENVIRONMENT",
        shell_complete=complete_environments,
        help="environment, such as prod",
    ),
    click.option(
        "--gremlin-endpoint",
        "endpoint",
        metavar="TEXT",
        envvar="LINEAGE_MERGE_GREMLIN_ENDPOINT",
        help="embedded, ws://host:8182/gremlin or wss://...",
    ),
    rare_graph_file_option,
    with_config_file,
)


@command(
    "lineage-merge report --config lineage_merge.yml",
    "lineage-merge report --environment dev --dag tickit_daily --json",
    "lineage-merge report --config lineage_merge.yml --near-misses",
    "lineage-merge report --config lineage_merge.yml --as-of 3d",
    short_help="Show what the last merge of a DAG joined.",
)
@click.option(
    "--dag",
    "dag_name",
    metavar="NAME",
    envvar="LINEAGE_MERGE_DAG_NAME",
    shell_complete=complete_dags,
    help="Airflow DAG",
)
@partial(add_options, options=GRAPH_OPTIONS)
@demo_option
@as_of_option
@history_option
@click.option(
    "--near-misses",
    "is_near_misses",
    is_flag=True,
    help="search the whole environment for datasets that are probably one, and print how to join them",
)
@click.option("--all", "everything", is_flag=True, help="list every problem, also outputs without consumer")
@as_json_or_text
def report(
    demo: bool,
    as_of: str | None,
    history: str,
    is_near_misses: bool,
    everything: bool,
    as_json: bool,
    **graph: Any,
) -> None:
    """Show the stored report of the last merge of a DAG: what it joined, and what it could not join.

    With --near-misses, search the graph: another DAG may write what this one reads.
    """
    with handle_errors(), progress(True) as on_progress:
        # The search depends on the environment, its fixes on the configuration: neither needs a DAG.
        config, graph_file = config_and_file(graph, demo=demo, needs_dag=not is_near_misses)
        selection = GraphSelection(
            file=config,
            environment=config.environment,
            dag=None if is_near_misses else config.dag_name,
            graph_file=graph_file,
            demo=demo,
            as_of=as_of,
            history=history,
        )
        from lineage_merge.query.session import open_session, session_without_graph
        from lineage_merge.questions.merge_report import NearMissesQuestion, ReportQuestion
        from lineage_merge.questions.question import ask

        answer: NearMissesResult | ReportResult
        if as_of and not is_near_misses:  # needs no graph of then
            answer = ask(ReportQuestion(), session_without_graph(selection))
        else:
            with open_session(selection, on_progress) as session:
                answer = (
                    ask(NearMissesQuestion(), session) if is_near_misses else ask(ReportQuestion(), session)
                )
    if as_json:
        print_json(answer.to_dict())
    else:
        print_answer(answer, everything)


def print_answer(answer: "NearMissesResult | ReportResult", everything: bool) -> None:
    """Print near misses, or the report of a merge."""
    from rich.text import Text

    from lineage_merge.orchestration.report_text import print_dismissed, print_near_misses, print_report
    from lineage_merge.questions.merge_report import NearMissesResult

    console = make_console()
    if isinstance(answer, NearMissesResult):
        print_near_misses(console, answer.near_misses)
        print_dismissed(console, answer.dismissed, everything=everything)
        if answer.note:
            click.echo(answer.note)
        return
    run = answer.run
    at = utc_time(run.last_merged_at, seconds=True)
    written = f"{run.elements_written:,} vertices and edges, {run.elements_retired:,} retired"
    console.print(Text(f"{run.dag_name} in {run.environment}, merged at {at}\n", style="bold"))
    if run.report:
        print_report(console, run.report, written, everything=everything)
    else:
        console.print(f"written: {written}")


@command(
    "lineage-merge remove --dag tickit_daily --environment dev --gremlin-endpoint embedded",
    "lineage-merge remove --dag tickit_daily --job tickit_sales_load -c lineage_merge.yml --dry-run",
)
@click.option(
    "--dag",
    "dag_name",
    metavar="NAME",
    required=True,
    shell_complete=complete_dags,
    help="Airflow DAG to remove",
)
@click.option(
    "--job", metavar="NAME", default="", shell_complete=complete_jobs, help="only this job of the DAG"
)
@partial(add_options, options=GRAPH_OPTIONS)
@click.option("--dry-run", is_flag=True, help="print what would be removed, without removing it")
@as_json_or_text
def remove(job: str, dry_run: bool, as_json: bool, **graph: Any) -> None:
    """Remove a pipeline, or one of its jobs, from the graph.

    Vertices that other DAGs share stay, without this DAG's tag.
    """
    with handle_errors(), progress(True) as on_progress:
        config, graph_file = config_and_file(graph)
        require_graph_file(graph_file, demo=False)
        from lineage_merge.history.layout import DagScope, history_location
        from lineage_merge.history.recording import record_removal
        from lineage_merge.infra.engine.local import LocalEngine
        from lineage_merge.load import graph_access
        from lineage_merge.load.result import Pipeline
        from lineage_merge.orchestration import pipeline

        target = pipeline.graph_of(config, graph_file)
        graph_access.check(target)
        removed_pipeline = Pipeline(config.environment, graph["dag_name"], job)
        removed = graph_access.remove(target, removed_pipeline, dry_run=dry_run, on_progress=on_progress)
        location = history_location(config, graph_file)
        if location and not dry_run:
            scope = DagScope(config.environment, graph["dag_name"])
            retired = removed.edges + removed.dropped + removed.untagged
            record_removal(location, scope, retired, LocalEngine(), target, job=job)
    if as_json:
        print_json({"dry_run": dry_run, "removed": dataclasses.asdict(removed)})
    else:
        click.echo(f"{'would be ' if dry_run else ''}removed: {_describe_removed(removed)}")


def _describe_removed(removed: "Removed") -> str:
    """Return a line about the deleted elements."""
    from lineage_merge.orchestration.report_text import pluralize

    text = (
        f"{pluralize(removed.edges, 'edge', 'edges')} and {pluralize(removed.dropped, 'vertex', 'vertices')}"
    )
    if removed.untagged:
        text += f"; {pluralize(removed.untagged, 'vertex', 'vertices')} of other DAGs untagged"
    return text


def config_and_file(
    graph: dict[str, Any], *, demo: bool = False, needs_dag: bool = True
) -> "tuple[Config, Path | None]":
    """Return a configuration with DAG (if it is needed) and environment, and the selected graph file.

    `graph`: the values of `GRAPH_OPTIONS` and --dag. Raises `ConfigError`.
    """
    from lineage_merge.orchestration.configuration import CONFIGURATION

    graph_file = select_graph_file(graph["graph_file"], demo, graph["endpoint"])
    scope = {key: graph[key] for key in ("dag_name", "environment") if graph[key]}
    if demo:
        from lineage_merge.cli import sample

        # Variables do not count: they are about the user's own graph.
        flags = {key: value for key, value in scope.items() if is_typed(key)}
        return CONFIGURATION.load(sample.demo_config_file(), environ={}, flags=flags), graph_file
    for key, flag in (("dag_name", "--dag"), ("environment", "--environment")):
        if graph["config_file"] is None and key not in scope and (needs_dag or key != "dag_name"):
            raise ConfigError("", f"{key} is missing: set {flag} or --config")
    endpoint = EMBEDDED if graph_file else graph["endpoint"]
    flags = {**scope, "gremlin.endpoint": endpoint} if endpoint else scope
    collected = CONFIGURATION.collect(graph["config_file"], flags=flags)
    settings = collected.settings if needs_dag else {"dag_name": "any"} | collected.settings
    return CONFIGURATION.parse(settings, collected.origins, needs_source=False), graph_file

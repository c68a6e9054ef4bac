"""The command `review`: what a change of a dbt project, of SQL files or of a Spark job breaks."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from lineage_merge.cli.command import Command, Option
from lineage_merge.cli.error_handling import epilog, handle_errors, progress
from lineage_merge.cli.query_options import QueryOptions, print_merges, query_command
from lineage_merge.cli.review_project import MANIFEST, project_of
from lineage_merge.cli.sql import open_named_graph, sql_folders, with_environment
from lineage_merge.cli.warehouse_namespace import warehouse_namespace
from lineage_merge.model.errors import CheckFailed, ConfigError

if TYPE_CHECKING:
    from lineage_merge.config import Config
    from lineage_merge.questions.backends.parquet_folder import ParquetFolder
    from lineage_merge.questions.graph import LineageGraph
    from lineage_merge.questions.scoped_graph import GraphScope
    from lineage_merge.review.consequences import PolicySettings
    from lineage_merge.review.findings import ReviewResult
    from lineage_merge.sources.dbt.settings import DbtProject

FORMATS = ("table", "markdown", "csv", "json", "sarif")


@click.command(
    cls=Command,
    short_help="Review a change of dbt, SQL files or a Spark job.",
    epilog=epilog(
        "lineage-merge review --base s3://ci/main/manifest.json --config lineage_merge.yml",
        "lineage-merge review --base main --format markdown --out review.md",
        "lineage-merge review etl --dialect hive --base origin/main --folder lineage",
        "lineage-merge review --capture sales.json --folder s3://lineage/build",
    ),
)
@click.argument("paths", nargs=-1)
@click.option("--base", metavar="PLACE", help="manifest or git revision before the change")
@click.option(
    "--head",
    cls=Option,
    more=True,
    metavar="PLACE",
    help="manifest after  [default: that of --config]",
)
@click.option(
    "--capture",
    metavar="FILE",
    help="saved plan of a Spark job",
)
@click.option(
    "--manifest",
    "inside",
    cls=Option,
    more=True,
    metavar="PATH",
    default=MANIFEST,
    show_default=True,
    help="path of the manifest in a git revision",
)
@click.option("--base-catalog", cls=Option, more=True, metavar="FILE", help="catalog.json of the base")
@click.option(
    "--catalog",
    cls=Option,
    more=True,
    metavar="FILE",
    help="catalog.json of the head, for the types of columns",
)
@click.option(
    "--namespace",
    cls=Option,
    more=True,
    metavar="TEXT",
    help="namespace of the warehouse  [default: that of the configuration]",
)
@click.option(
    "--dialect",
    cls=Option,
    more=True,
    metavar="NAME",
    help="with PATHS: hive, spark, redshift or another dialect of sqlglot",
)
@click.option("--var", "variables", cls=Option, more=True, multiple=True, metavar="NAME=VALUE",
              help="with PATHS: value of ${NAME} or {{ NAME }}")  # fmt: skip
@click.option(
    "--fail-on",
    type=click.Choice(("breaking", "policy", "none")),
    default="policy",
    show_default=True,
    help="findings that fail the command",
)
@click.option("--out", metavar="FILE", help="file for --format; the table is printed")
@query_command("table", formats=FORMATS)
def review(
    options: QueryOptions,
    paths: tuple[str, ...],
    base: str | None,
    head: str | None,
    capture: str | None,
    inside: str,
    base_catalog: str | None,
    catalog: str | None,
    namespace: str | None,
    dialect: str | None,
    variables: tuple[str, ...],
    fail_on: str,
    out: str | None,
) -> None:
    """Review a change of a dbt project, of SQL files or of a Spark job before it is merged.

    Lists what breaks or changes downstream, and new violations of policies: of two manifests (--base, and
    --head or that of --config), of SQL files (PATHS) since the git revision --base, or of a plan that
    capture(...).save(FILE) saved, since --base or the job in the graph.
    """
    if out and options.format == "table":
        raise click.UsageError("--out requires --format markdown, csv, json or sarif")
    if paths and (head or catalog or base_catalog):
        raise click.UsageError("PATHS are SQL files: omit --head, --catalog and --base-catalog")
    if capture and (paths or head or catalog or base_catalog):
        raise click.UsageError("--capture is a Spark job: omit PATHS, --head, --catalog and --base-catalog")
    if not (base or capture):
        raise click.UsageError("--base is missing: the manifest or git revision before the change")
    if options.folder and options.history:
        raise click.UsageError("--folder and --history select different graphs: set one of them")
    with handle_errors(), progress(True) as on_progress:
        config, environment = options.config()
        if paths or capture:
            with _graph(options, config, environment, on_progress) as (graph, scope):
                if capture:
                    result = _review_capture(capture, base, config, environment, options, graph)
                else:
                    given = _sql_settings(dialect, namespace, variables)
                    result = _review_sql(paths, given, config, environment, options, graph, base or "")
        else:
            with _graph_or_folder(options, config, environment, on_progress) as (found, scope):
                config = with_environment(config, environment, found)
                project = project_of(config.sources.get("dbt", ()), head, namespace)
                if catalog:
                    project = replace(project, catalog=catalog)
                on_progress("comparing manifests")
                result = _review_dbt(project, base or "", base_catalog or "", inside, config, options, found)
        _print(result, options, out, scope, base or "")
        _raise(result, fail_on)


def _raise(result: "ReviewResult", fail_on: str) -> None:
    from lineage_merge.review.findings import Severity

    if fail_on != "none" and result.at_least(Severity(fail_on)):
        raise CheckFailed(f"the review failed: {result.summary}")


@contextmanager
def _graph(
    options: QueryOptions, config: "Config", environment: str | None, on_progress: Any
) -> "Iterator[tuple[LineageGraph | None, GraphScope]]":
    """Open the graph if one is named; with --history alone its newest entry."""
    from lineage_merge.infra.engine.local import collection_off
    from lineage_merge.query.session import open_session
    from lineage_merge.questions.scoped_graph import GraphScope

    if options.history and not options.as_of:
        options = replace(options, as_of="now")
    if options.as_of:
        with open_session(options, on_progress) as session:
            print_merges(session)
            yield session.graph, session.scope
        return
    with collection_off(), open_named_graph(options, config, on_progress) as graph:
        yield graph, GraphScope(environment, options.dag)


@contextmanager
def _graph_or_folder(
    options: QueryOptions, config: "Config", environment: str | None, on_progress: Any
) -> "Iterator[tuple[LineageGraph | ParquetFolder | None, GraphScope]]":
    """Open the graph; without policies, a folder of which only the part downstream of a change is read."""
    from lineage_merge.questions.backends.parquet_folder import ParquetFolder
    from lineage_merge.questions.scoped_graph import GraphScope

    is_partial = options.folder and not (config.policies or options.history or options.as_of)
    if options.folder and is_partial and ParquetFolder.is_at(options.folder):
        on_progress(f"reading {options.folder}")
        yield ParquetFolder(options.folder), GraphScope(environment, options.dag)
        return
    with _graph(options, config, environment, on_progress) as found:
        yield found


def _review_dbt(
    project: "DbtProject",
    base: str,
    base_catalog: str,
    inside: str,
    config: "Config",
    options: QueryOptions,
    graph: "LineageGraph | ParquetFolder | None",
) -> "ReviewResult":
    from lineage_merge.merge.dataset_resolver import from_config
    from lineage_merge.naming.forms import fixed_namespace
    from lineage_merge.review.assessment import review_dbt
    from lineage_merge.review.dbt_files import ManifestPlace, read_files
    from lineage_merge.review.dbt_versions import ReviewScope

    whole = graph is None and bool(config.policies)
    places = ManifestPlace(base, base_catalog), ManifestPlace(project.manifest, project.catalog)
    before, after = read_files(*places, inside=inside, whole=whole)
    adapter = after.manifest.adapter
    namespace = warehouse_namespace(
        adapter, project.namespace, fixed_namespace(adapter), config, has_graph=graph is not None
    )
    scope = ReviewScope(from_config(config), options.dag or config.dag_name, namespace.text, project.target)
    result = review_dbt(before, after, scope, graph, _policy_settings(config))
    return replace(result, notes=(*namespace.notes, *result.notes))


def _review_capture(
    capture: str,
    base: str | None,
    config: "Config",
    environment: str | None,
    options: QueryOptions,
    graph: "LineageGraph | None",
) -> "ReviewResult":
    from lineage_merge.graph_format.captures import parse_capture
    from lineage_merge.infra.storage import read_text
    from lineage_merge.review.capture_review import review_capture

    head = parse_capture(capture, read_text(capture))
    before = parse_capture(base, read_text(base)) if base else None
    if before is None and graph is None:
        raise ConfigError("--base", "is missing, and no graph has the job. Fix: set --folder or --config")
    if environment is None:
        found = with_environment(config, None, graph).environment if graph else ""
        environment = found or head.environment
    return review_capture(
        head, before, graph, environment, dag=options.dag, settings=_policy_settings(config)
    )


def _policy_settings(config: "Config") -> "PolicySettings":
    from lineage_merge.questions.layers import Layer
    from lineage_merge.review.consequences import PolicySettings

    layers = [Layer(name, globs) for name, globs in config.query.layers.items()]
    return PolicySettings(config.policies, layers, config.propagation)


def _sql_settings(dialect: str | None, namespace: str | None, variables: tuple[str, ...]) -> dict[str, Any]:
    if not dialect:
        raise ConfigError("", "--dialect is missing: hive, spark, redshift or another")
    return {
        "dialect": dialect,
        "namespace": namespace,
        "variables": variables,
        "project": None,
        "schema": (),
        "database": None,
    }


def _review_sql(
    paths: tuple[str, ...],
    given: dict[str, Any],
    config: "Config",
    environment: str | None,
    options: QueryOptions,
    graph: "LineageGraph | None",
    base: str,
) -> "ReviewResult":
    from lineage_merge.review.sql_review import review_changes

    folders, namespace = sql_folders(paths, given, config, environment, options, graph)
    result = review_changes(folders, base, graph).result
    return replace(result, notes=namespace.notes) if namespace else result


def _print(
    result: "ReviewResult", options: QueryOptions, out: str | None, scope: "GraphScope", base: str
) -> None:
    if out:
        from lineage_merge.infra import storage

        storage.write_text(out, _text(result, options, scope, base))
    if out or options.format == "table":
        from lineage_merge.cli.error_handling import make_console
        from lineage_merge.cli.review_tables import review_tables

        console = make_console()
        for table in review_tables(result):
            console.print(table)
        click.echo(result.summary)
        for note in result.notes:
            click.echo(f"note: {note}", err=True)
        return
    click.echo(_text(result, options, scope, base).encode("utf-8", "replace"), nl=False)


def _text(result: "ReviewResult", options: QueryOptions, scope: "GraphScope", base: str) -> str:
    from lineage_merge.questions.formats.json_text import json_text

    if options.format == "markdown":
        from lineage_merge.review.review_formats import review_markdown

        return review_markdown(result)
    if options.format == "csv":
        from lineage_merge.cli.review_tables import finding_table
        from lineage_merge.questions.formats.csv_text import csv_text

        return csv_text([finding_table(result)])
    from lineage_merge.review.review_formats import review_as_json, review_sarif

    if options.format == "sarif":
        return json_text(review_sarif(result)) + "\n"
    from lineage_merge.questions.result import answer_header

    header = answer_header("review", scope, {"base": base})
    return json_text({**header, **review_as_json(result)}) + "\n"

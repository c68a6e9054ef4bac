"""The command `review`: what a change of a dbt project, of SQL files or of a Spark job breaks."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from lineage_merge.cli.command import command, rare_option
from lineage_merge.cli.error_handling import handle_errors, progress
from lineage_merge.cli.query_options import QueryOptions, print_merges, query_command
from lineage_merge.cli.review_inputs import (
    MANIFEST,
    open_named_graph,
    project_of,
    sql_folders,
    warehouse_namespace,
    with_environment,
)
from lineage_merge.model.errors import CheckFailed, ConfigError

if TYPE_CHECKING:
    from lineage_merge.config import Config
    from lineage_merge.questions.graph import LineageGraph
    from lineage_merge.questions.scoped_graph import GraphScope
    from lineage_merge.review.consequences import PolicySettings
    from lineage_merge.review.findings import ReviewResult
    from lineage_merge.sources.dbt.settings import DbtProject

FORMATS = ("table", "markdown", "csv", "json", "sarif", "html")


@command(
    "lineage-merge review --base s3://ci/main/manifest.json --config lineage_merge.yml",
    "lineage-merge review --base main --folder lineage --format html --out review.html",
    "lineage-merge review etl --dialect hive --base origin/main --folder lineage",
    "lineage-merge review --capture sales.json --folder s3://lineage/build",
    short_help="Review a change of dbt, SQL files or a Spark job.",
)
@click.argument("paths", nargs=-1)
@click.option("--base", metavar="PLACE", help="manifest or git revision before the change")
@rare_option("--head", metavar="PLACE", help="manifest after  [default: that of --config]")
@click.option(
    "--capture",
    metavar="FILE",
    help="saved plan of a Spark job",
)
@rare_option(
    "--manifest",
    "inside",
    metavar="PATH",
    default=MANIFEST,
    show_default=True,
    help="path of the manifest in a git revision",
)
@rare_option("--base-catalog", metavar="FILE", help="catalog.json of the base")
@rare_option("--catalog", metavar="FILE", help="catalog.json of the head, for the types of columns")
@rare_option(
    "--namespace", metavar="TEXT", help="namespace of the warehouse  [default: that of the configuration]"
)
@rare_option(
    "--dialect", metavar="NAME", help="with PATHS: hive, spark, redshift or another dialect of sqlglot"
)
@rare_option("--var", "variables",  multiple=True, metavar="NAME=VALUE",
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
        raise click.UsageError("--out requires --format markdown, csv, json, sarif or html")
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
        with _graph(options, config, environment, on_progress) as (graph, scope):
            config = with_environment(config, environment, graph)
            if capture:
                result = _review_capture(capture, base, config, environment, options.dag, graph)
            elif paths:
                from lineage_merge.review.sql_review import review_changes

                folders, notes = sql_folders(
                    paths,
                    config,
                    graph,
                    options.dag,
                    dialect=dialect,
                    namespace=namespace,
                    variables=variables,
                )
                result = replace(review_changes(folders, base or "", graph).result, notes=notes)
            else:
                project = project_of(config.sources.get("dbt", ()), head, namespace)
                on_progress("comparing manifests")
                places = (base or "", base_catalog or "", catalog or "", inside)
                result = _review_dbt(project, *places, config, options.dag, graph)
            from lineage_merge.cli.review_output import print_review_result

            print_review_result(result, options, out, scope, base or "", config.policies)
        from lineage_merge.review.findings import Severity

        if fail_on != "none" and result.select_at_least(Severity(fail_on)):
            raise CheckFailed(f"the review failed: {result.summary}")


@contextmanager
def _graph(
    options: QueryOptions, config: "Config", environment: str | None, on_progress: Any
) -> "Iterator[tuple[Any, GraphScope]]":
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
    scope = GraphScope(environment, options.dag)
    with collection_off(), open_named_graph(options, config, on_progress) as graph:
        yield graph, scope


def _review_dbt(
    project: "DbtProject",
    base: str,
    base_catalog: str,
    catalog: str,
    inside: str,
    config: "Config",
    dag: str | None,
    graph: "LineageGraph | None",
) -> "ReviewResult":
    from lineage_merge.merge.dataset_resolver import from_config
    from lineage_merge.naming import find_fixed_namespace
    from lineage_merge.review.assessment import review_dbt
    from lineage_merge.review.dbt_files import ManifestPlace, read_files
    from lineage_merge.review.dbt_versions import ReviewScope

    whole = graph is None and bool(config.policies)
    places = (
        ManifestPlace(base, base_catalog),
        ManifestPlace(project.manifest, catalog or project.catalog, may_lack_catalog=not catalog),
    )
    before, after = read_files(*places, inside=inside, whole=whole)
    adapter = after.manifest.adapter
    namespace = warehouse_namespace(
        adapter, project.namespace, find_fixed_namespace(adapter), config, has_graph=graph is not None
    )
    scope = ReviewScope(from_config(config), dag or config.dag_name, namespace.text, project.target)
    result = review_dbt(before, after, scope, graph, _policy_settings(config))
    return replace(result, notes=(*namespace.notes, *result.notes))


def _review_capture(
    capture: str,
    base: str | None,
    config: "Config",
    environment: str | None,
    dag: str | None,
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
        environment = (config.environment if graph else "") or head.environment
    return review_capture(head, before, graph, environment, dag=dag, settings=_policy_settings(config))


def _policy_settings(config: "Config") -> "PolicySettings":
    from lineage_merge.questions.layers import Layer
    from lineage_merge.review.consequences import PolicySettings

    layers = [Layer(name, globs) for name, globs in config.query.layers.items()]
    return PolicySettings(config.policies, layers, config.propagation)

"""The command that reads files of SQL: their lineage, and the check of a merge request."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from lineage_merge.cli.answers import Answer, print_answer
from lineage_merge.cli.error_handling import epilog, progress, reported
from lineage_merge.cli.query_options import QueryOptions, asks
from lineage_merge.model.errors import CheckFailed, ConfigError

if TYPE_CHECKING:
    from lineage_merge.config import Config
    from lineage_merge.query.graph import LineageGraph
    from lineage_merge.query.review.review import Review
    from lineage_merge.query.review.versions import Folders

# As of a merge: everything was read, but what is broken was left out.
_REJECTED = 7


@click.command(
    epilog=epilog(
        "lineage-merge sql etl --dialect hive",
        "lineage-merge sql etl --dialect spark --schema ddl --columns --format mermaid",
        "lineage-merge sql etl --dialect redshift --namespace redshift://wh.us-east-1 --database dev.public",
        "lineage-merge sql etl --dialect hive --var env=prod --since origin/main --check",
        "lineage-merge sql --config lineage_merge.yml --since origin/main --check --environment prod",
    )
)
@click.argument("paths", nargs=-1)
@click.option("--dialect", metavar="NAME", help="hive, spark, redshift, or another that sqlglot knows")
@click.option(
    "--namespace", metavar="TEXT", help="where the tables lie  [default: spark_catalog for Hive and Spark]"
)
@click.option(
    "--database", metavar="NAME", help="database.schema of shorter names; database for Hive, Spark and MySQL"
)
@click.option("--project", metavar="NAME", help="what the folder is called  [default: its name]")
@click.option(
    "--schema", "schema", multiple=True, metavar="PATH", help="files whose CREATE TABLE tells columns"
)
@click.option(
    "--var",
    "variables",
    multiple=True,
    metavar="NAME=VALUE",
    help="the value of ${NAME} or {{ NAME }}",
)
@click.option(
    "--since",
    metavar="REV",
    help="only files that changed since the branch left REV (committed or not), and what they do otherwise",
)
@click.option(
    "--check", is_flag=True, help="fail (12) where something breaks, or a statement cannot be parsed"
)
@click.option("--columns", is_flag=True, help="with the datasets' columns and what they are made of")
@click.option("--influences", is_flag=True, help="also which columns decide on rows (filters, joins)")
@asks("tree")
def sql(
    asked: QueryOptions,
    paths: tuple[str, ...],
    since: str | None,
    check: bool,
    columns: bool,
    influences: bool,
    **given: Any,
) -> None:
    """Show what files of SQL do, without running them; check a merge request.

    PATHS are folders or files. Without PATHS they are those of `sql` in the configuration. With a graph
    (--folder, --gremlin-endpoint, or gremlin.endpoint in --config) its columns are known too, and what
    reads a dataset or column that goes is found in it.
    """
    with reported(), progress(True) as on_progress:
        config, environment = asked.config()
        with _graph(asked, config, on_progress) as graph:
            folders = _folders(paths, given, config, environment, asked, graph)
            from lineage_merge.query.review.review import compare_with, look

            found = compare_with(folders, since, graph) if since else look(folders, graph)
        _print(found, asked, since, columns=columns, influences=influences)
        if check:
            _fail(found)
    if found.unparsed:
        raise SystemExit(_REJECTED)


def _fail(found: "Review") -> None:
    from lineage_merge.cli.printing import counted

    reasons = []
    if found.breaks:
        reasons.append(counted(len(found.breaks), "reader breaks", "readers break"))
    if found.unparsed:
        reasons.append(f"{counted(len(found.unparsed), 'statement', 'statements')} cannot be parsed")
    if reasons:
        raise CheckFailed(f"the check failed: {' and '.join(reasons)}")


@contextmanager
def _graph(asked: QueryOptions, config: "Config", on_progress: Any) -> "Iterator[LineageGraph | None]":
    """The graph, where one is named: without, nothing is asked and nothing started."""
    from lineage_merge.orchestration.configuration import CONFIGURATION

    named = asked.folder or asked.endpoint
    if not named and asked.file:
        named = CONFIGURATION.gather(asked.file, {}).get("gremlin", {}).get("endpoint")
    if not named:
        yield None
        return
    from lineage_merge.query.backends.opening import open_graph

    with open_graph(asked.folder or config.gremlin, on_progress) as graph:
        yield graph


def _folders(
    paths: tuple[str, ...],
    given: dict[str, Any],
    config: "Config",
    environment: str | None,
    asked: QueryOptions,
    graph: "LineageGraph | None",
) -> "Folders":
    from dataclasses import replace

    from lineage_merge.config import parse_default_schema
    from lineage_merge.merge.dataset_resolver import from_config
    from lineage_merge.query.review.versions import Folders
    from lineage_merge.sources.sql.files import preflight
    from lineage_merge.sources.sql.settings import SqlFiles, namespace_of, project_of

    if graph is not None and environment is None:
        there = graph.environments()
        if len(there) > 1:
            raise ConfigError("environment", f"the graph has {', '.join(there)}: say --environment")
        config = replace(config, environment=there[0]) if there else config
    settings: tuple[SqlFiles, ...] = config.sources.get("sql", ())
    if paths:
        if not given["dialect"]:
            raise ConfigError("", "--dialect: which SQL is it? hive, spark, redshift or another")
        dialect = given["dialect"].lower()
        variables = dict(_variable(each) for each in given["variables"])
        namespace = namespace_of("namespace", dialect, given["namespace"] or "")
        settings = tuple(
            SqlFiles(
                each, dialect, namespace, given["project"] or project_of(each), given["schema"], variables
            )
            for each in paths
        )
        if given["database"]:
            default = dict([parse_default_schema("--database", namespace, given["database"])])
            defaults = {**config.merge.default_schemas, **default}
            config = replace(config, merge=replace(config.merge, default_schemas=defaults))
    elif not settings:
        raise ConfigError("", "no files: give PATHS, or sql in the configuration")
    for each in settings:
        preflight([replace(each, path=path) for path in each.schema])
    from lineage_merge.sources.sql.files import check_dialect

    for each in settings:
        check_dialect("dialect", each.dialect)
    return Folders(settings, from_config(config), asked.dag or config.dag_name)


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise ConfigError("", "--var: expected NAME=VALUE")
    return name, value


def _print(
    found: "Review", asked: QueryOptions, since: str | None, *, columns: bool, influences: bool
) -> None:
    from lineage_merge.cli.printing import problem_text
    from lineage_merge.cli.sql_report import as_json, report_lines
    from lineage_merge.query.elements import Edge, Vertex, subgraph

    labels = ["feeds", *(["has_column", "feeds_column"] if columns else [])]
    labels += ["influences"] if influences else []
    elements = list(found.shown.graph.everything())
    edges = [each for each in elements if isinstance(each, Edge) and each.label in labels]
    ends = {end for each in edges for end in (each.from_id, each.to_id)}
    vertices = [
        each for each in elements if isinstance(each, Vertex) and (each.is_dataset or each.id in ends)
    ]
    told = {"question": "sql", "since": since, "dag": asked.dag, **as_json(found)}
    note = "" if found.files else "no file of SQL changed" if since else "no files of SQL there"
    print_answer(Answer(subgraph(vertices, edges), told, note=note), asked.format)
    for_people = asked.format in ("tree", "table")
    for line in report_lines(found):
        click.echo(line, err=not for_people)
    if asked.format != "json":
        for problem in found.shown.problems:
            click.echo(problem_text(problem), err=True)

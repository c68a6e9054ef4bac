"""The command `sql`: lineage of SQL files, and the check of a merge request."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import click

from lineage_merge.cli.answers import print_result
from lineage_merge.cli.command import Command, Option
from lineage_merge.cli.error_handling import epilog, handle_errors, progress
from lineage_merge.cli.query_options import QueryOptions, query_command
from lineage_merge.cli.warehouse_namespace import Namespace, warehouse_namespace
from lineage_merge.model.errors import CheckFailed, ConfigError
from lineage_merge.query.session import require_graph_file
from lineage_merge.questions.result import Record, Result
from lineage_merge.questions.scoped_graph import GraphScope

if TYPE_CHECKING:
    from lineage_merge.config import Config
    from lineage_merge.questions.backends.parquet_folder import ParquetFolder
    from lineage_merge.questions.graph import LineageGraph
    from lineage_merge.review.sql_review import SqlReview
    from lineage_merge.review.sql_versions import SqlFolders


@dataclass(frozen=True, kw_only=True, repr=False)
class SqlResult(Result):
    """The lineage of SQL files. `values`: the JSON fields beside it."""

    columns: ClassVar[Mapping[str, type]] = {}

    values: Record

    def header(self) -> dict[str, Any]:
        """Return the first JSON fields."""
        return {"question": self.question, **self.values}

    def records(self) -> Iterator[Record]:
        """Yield nothing: the answer is a graph."""
        yield from ()


# As in a merge: success, but invalid statements were skipped.
_REJECTED = 7


@click.command(
    cls=Command,
    short_help="Show the lineage of SQL files, or check a merge request.",
    epilog=epilog(
        "lineage-merge sql etl --dialect hive",
        "lineage-merge sql etl --dialect spark --schema ddl --columns --format mermaid",
        "lineage-merge sql etl --dialect hive --var env=prod --since origin/main --check",
    ),
)
@click.argument("paths", nargs=-1)
@click.option("--dialect", metavar="NAME", help="hive, spark, redshift or another dialect of sqlglot")
@click.option(
    "--namespace",
    cls=Option,
    more=True,
    metavar="TEXT",
    help="namespace of the tables  [default: that of the configuration; spark_catalog for Hive and Spark]",
)
@click.option(
    "--database",
    cls=Option,
    more=True,
    metavar="NAME",
    help="database.schema of unqualified names; database for Hive, Spark and MySQL",
)
@click.option(
    "--project", cls=Option, more=True, metavar="NAME", help="project name  [default: name of the folder]"
)
@click.option(
    "--schema",
    "schema",
    cls=Option,
    more=True,
    multiple=True,
    metavar="PATH",
    help="files with CREATE TABLE statements that define columns",
)
@click.option(
    "--var",
    "variables",
    multiple=True,
    metavar="NAME=VALUE",
    help="value of ${NAME} or {{ NAME }}",
)
@click.option(
    "--since",
    metavar="REV",
    help="only files changed since the branch point from REV, compared with it",
)
@click.option("--check", is_flag=True, help="fail if something breaks or a statement cannot be parsed")
@click.option("--columns", is_flag=True, help="include columns and column lineage")
@click.option(
    "--influences",
    cls=Option,
    more=True,
    is_flag=True,
    help="include columns that determine rows (filters, joins)",
)
@query_command("tree", past=False)
def sql(
    options: QueryOptions,
    paths: tuple[str, ...],
    since: str | None,
    check: bool,
    columns: bool,
    influences: bool,
    **given: Any,
) -> None:
    """Show the lineage of SQL files without running them, or check a merge request.

    PATHS are folders or files; the default is `sql` in the configuration. A graph (--folder,
    --gremlin-endpoint, gremlin.endpoint in --config) provides columns that the files do not define, and the
    readers of dropped datasets and columns.
    """
    with handle_errors(), progress(True) as on_progress:
        config, environment = options.config()
        with open_named_graph(options, config, on_progress) as graph:
            folders, namespace = sql_folders(paths, given, config, environment, options, graph)
            from lineage_merge.review.sql_review import review_changes, review_files

            found = review_changes(folders, since, graph) if since else review_files(folders, graph)
        notes = namespace.notes if namespace else ()
        _print_review(found, options, since, notes, columns=columns, influences=influences)
        if check:
            _raise_on_problems(found)
    if found.invalid_statements:
        raise SystemExit(_REJECTED)


def _raise_on_problems(review: "SqlReview") -> None:
    from lineage_merge.orchestration.report_text import counted
    from lineage_merge.review.findings import Severity

    breaking = len(review.result.at_least(Severity.BREAKING))
    unparsed = len(review.invalid_statements)
    reasons = [
        *([counted(breaking - unparsed, "reader breaks", "readers break")] if breaking > unparsed else []),
        *([f"{counted(unparsed, 'statement', 'statements')} cannot be parsed"] if unparsed else []),
    ]
    if reasons:
        raise CheckFailed(f"the check failed: {' and '.join(reasons)}")


@contextmanager
def open_named_graph(
    options: QueryOptions, config: "Config", on_progress: Any
) -> "Iterator[LineageGraph | None]":
    """Open the graph if one is named; otherwise yield None."""
    from lineage_merge.orchestration.configuration import CONFIGURATION

    require_graph_file(options.graph_file, options.demo)
    named = options.folder or options.endpoint
    if not named and isinstance(options.file, Path):
        named = CONFIGURATION.gather(options.file, {}).get("gremlin", {}).get("endpoint")
    if not named:
        yield None
        return
    from lineage_merge.questions.backends.opening import open_graph

    with open_graph(options.folder or config.gremlin, on_progress, options.graph_file) as graph:
        yield graph


def with_environment(
    config: "Config", environment: str | None, graph: "LineageGraph | ParquetFolder | None"
) -> "Config":
    """Return the configuration with the only environment of the graph, unless the command names one."""
    if graph is None or environment is not None:
        return config
    environments = graph.environments()
    if len(environments) > 1:
        raise ConfigError("environment", f"the graph has {', '.join(environments)}: set --environment")
    return replace(config, environment=environments[0]) if environments else config


def sql_folders(
    paths: tuple[str, ...],
    given: dict[str, Any],
    config: "Config",
    environment: str | None,
    options: QueryOptions,
    graph: "LineageGraph | None",
) -> "tuple[SqlFolders, Namespace | None]":
    """Return the folders: PATHS with their namespace, or those of the configuration."""
    from lineage_merge.config import parse_default_schema
    from lineage_merge.merge.dataset_resolver import from_config
    from lineage_merge.review.sql_versions import SqlFolders
    from lineage_merge.sources.sql.files import check_dialect, preflight
    from lineage_merge.sources.sql.settings import SqlFiles, default_namespace, project_of

    config = with_environment(config, environment, graph)
    settings: tuple[SqlFiles, ...] = config.sources.get("sql", ())
    namespace: Namespace | None = None
    if paths:
        if not given["dialect"]:
            raise ConfigError("", "--dialect is missing: hive, spark, redshift or another")
        dialect = given["dialect"].lower()
        check_dialect("--dialect", dialect)
        variables = dict(_variable(variable) for variable in given["variables"])
        namespace = warehouse_namespace(
            dialect, given["namespace"], default_namespace(dialect), config, has_graph=graph is not None
        )
        settings = tuple(
            SqlFiles(
                each,
                dialect,
                namespace.text,
                given["project"] or project_of(each),
                given["schema"],
                variables,
            )
            for each in paths
        )
        if given["database"]:
            default = dict([parse_default_schema("--database", namespace.text, given["database"])])
            schemas = {**config.merge.default_schemas, **default}
            config = replace(config, merge=replace(config.merge, default_schemas=schemas))
    elif not settings:
        raise ConfigError("", "no files: set PATHS, or sql in the configuration")
    for setting in settings:
        preflight([replace(setting, path=path) for path in setting.schema])
    for setting in settings:
        check_dialect("dialect", setting.dialect)
    return SqlFolders(settings, from_config(config), options.dag or config.dag_name), namespace


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise ConfigError("", "--var: must be NAME=VALUE")
    return name, value


def _print_review(
    found: "SqlReview",
    options: QueryOptions,
    since: str | None,
    notes: tuple[str, ...],
    *,
    columns: bool,
    influences: bool,
) -> None:
    from lineage_merge.cli.sql_report import as_json, assumption, review_lines
    from lineage_merge.graph_format.elements import Edge, Vertex, subgraph
    from lineage_merge.orchestration.report_text import problem_text

    labels = ["feeds", *(["has_column", "feeds_column"] if columns else [])]
    labels += ["influences"] if influences else []
    elements = list(found.shown.graph.everything())
    edges = [element for element in elements if isinstance(element, Edge) and element.label in labels]
    ends = {end for edge in edges for end in (edge.from_id, edge.to_id)}
    vertices = [
        element
        for element in elements
        if isinstance(element, Vertex) and (element.is_dataset or element.id in ends)
    ]
    values = {"since": since, "dag": options.dag, "notes": notes, **as_json(found)}
    note = "" if found.files else "no SQL file changed" if since else "no SQL files found"
    result = SqlResult(
        question="sql",
        scope=GraphScope(dag=options.dag),
        graph=subgraph(vertices, edges),
        note=note,
        values=values,
    )
    print_result(result, options.format, options.out)
    for each in notes:
        click.echo(f"note: {each}", err=True)
    for_people = options.format in ("tree", "table")
    for line in review_lines(found):
        click.echo(line, err=not for_people)
    if options.format != "json":
        if line := assumption(found):
            click.echo(line, err=True)
        for problem in found.shown.problems:
            click.echo(problem_text(problem), err=True)

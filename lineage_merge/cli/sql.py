"""The command `sql`: lineage of SQL files, and the check of a merge request."""

from typing import TYPE_CHECKING, Any

import click

from lineage_merge.cli.command import command, rare_option
from lineage_merge.cli.error_handling import handle_errors, progress
from lineage_merge.cli.query_options import QueryOptions, query_command
from lineage_merge.cli.review_inputs import open_named_graph, sql_folders, with_environment
from lineage_merge.model.errors import CheckFailed

if TYPE_CHECKING:
    from lineage_merge.review.sql_review import SqlReview

# As in a merge: success, but invalid statements were skipped.
_REJECTED = 7


@command(
    "lineage-merge sql etl --dialect hive",
    "lineage-merge sql etl --dialect spark --schema ddl --columns --format mermaid",
    "lineage-merge sql etl --dialect hive --var env=prod --since origin/main --check",
    short_help="Show the lineage of SQL files, or check a merge request.",
)
@click.argument("paths", nargs=-1)
@click.option("--dialect", metavar="NAME", help="hive, spark, redshift or another dialect of sqlglot")
@rare_option(
    "--namespace",
    metavar="TEXT",
    help="namespace of the tables  [default: that of the configuration; spark_catalog for Hive and Spark]",
)
@rare_option(
    "--database",
    metavar="NAME",
    help="database.schema of unqualified names; database for Hive, Spark and MySQL",
)
@rare_option("--project", metavar="NAME", help="project name  [default: name of the folder]")
@rare_option(
    "--schema",
    "schema",
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
@rare_option("--influences", is_flag=True, help="include columns that determine rows (filters, joins)")
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
    --gremlin-endpoint, that of --config) provides columns that the files do not define, and the
    readers of dropped datasets and columns.
    """
    with handle_errors(), progress(True) as on_progress:
        config, environment = options.config()
        with open_named_graph(options, config, on_progress) as graph:
            config = with_environment(config, environment, graph)
            folders, notes = sql_folders(paths, config, graph, options.dag, **given)
            from lineage_merge.review.sql_review import review_changes, review_files

            review = review_changes(folders, since, graph) if since else review_files(folders, graph)
        from lineage_merge.cli.sql_report import print_review

        print_review(review, options, since, notes, columns=columns, influences=influences)
        if check:
            _raise_on_problems(review)
    if review.invalid_statements:
        raise SystemExit(_REJECTED)


def _raise_on_problems(review: "SqlReview") -> None:
    from lineage_merge.orchestration.report_text import pluralize
    from lineage_merge.review.findings import Severity

    breaking = len(review.result.select_at_least(Severity.BREAKING))
    unparsed = len(review.invalid_statements)
    reasons = [
        *([pluralize(breaking - unparsed, "reader breaks", "readers break")] if breaking > unparsed else []),
        *([f"{pluralize(unparsed, 'statement', 'statements')} cannot be parsed"] if unparsed else []),
    ]
    if reasons:
        raise CheckFailed(f"the check failed: {' and '.join(reasons)}")

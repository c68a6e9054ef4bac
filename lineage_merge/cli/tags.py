"""Command `tags`. Expensive imports are inside the functions."""

import click

from lineage_merge.cli.answers import print_result
from lineage_merge.cli.command import Command
from lineage_merge.cli.completion import complete_datasets
from lineage_merge.cli.error_handling import epilog
from lineage_merge.cli.query_options import QueryOptions, open_lineage, query_command


@click.command(
    cls=Command,
    short_help="List tags and what carries them along column lineage.",
    epilog=epilog(
        "lineage-merge tags",
        "lineage-merge tags --tag pii",
        "lineage-merge tags dev.marts.customers --tag pii --format table",
        "lineage-merge tags s3://crm-raw/customers#email --json",
    ),
)
@click.argument("name", metavar="[DATASET[#COLUMN]]", required=False, shell_complete=complete_datasets)
@click.option("--tag", metavar="TAG", help="only this tag, with everything that carries it")
@click.option("--own", is_flag=True, help="only own tags, without inherited ones")
@query_command("tree", formats=("tree", "table", "csv", "json", "svg"))
def tags(options: QueryOptions, name: str | None, tag: str | None, own: bool) -> None:
    """List the tags of an environment, or what carries a tag, and from where.

    Tags pass from column to column downstream; a tag of a dataset counts for all its columns. They stop where
    `propagation` in the configuration says so. Without DATASET and --tag, tags are counted.
    """
    if options.format == "svg" and not (name or tag):
        raise click.UsageError("--format svg needs DATASET or --tag")
    with open_lineage(options) as lineage:
        found = lineage.tags(name, tag=tag, own=own)
        # Counts have no tree.
        is_tree = options.format == "tree" and not (name or tag)
        print_result(found, "table" if is_tree else options.format, options.out)

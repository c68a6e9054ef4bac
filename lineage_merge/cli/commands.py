"""The command group. Commands import expensive modules late, so that `--help` and usage errors are fast."""

import click

from lineage_merge.cli import (
    checks,
    dag,
    export,
    init,
    merging,
    page,
    publish,
    query_commands,
    receive,
    serve,
    sql,
)
from lineage_merge.cli.error_handling import epilog
from lineage_merge.model.version import __version__


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
    """Merge the lineage of Spark, dbt and SQL into one graph in Neptune or any Gremlin server."""


for command in (
    merging.demo,
    init.init,
    merging.run,
    merging.build,
    merging.load,
    checks.doctor,
    checks.validate,
    dag.report,
    dag.remove,
    *query_commands.COMMANDS,
    page.html,
    export.export,
    sql.sql,
    receive.receive,
    serve.serve,
    publish.publish,
):
    main.add_command(command)

"""The command group. Commands import expensive modules late, so that `--help` and usage errors are fast."""

import os
from collections.abc import MutableMapping
from typing import Any

import click

from lineage_merge.cli import (
    checks,
    dag,
    demo,
    export,
    help_topics,
    init,
    mcp,
    merging,
    page,
    publish,
    query_commands,
    receive,
    review,
    serve,
    sql,
)
from lineage_merge.cli.command import Group
from lineage_merge.cli.error_handling import epilog
from lineage_merge.model.version import __version__

# The order of `lineage-merge --help`; a test requires each command under exactly one heading.
HEADINGS = {
    "Build": ("init", "demo", "run", "build", "load", "sql", "review", "receive"),
    "Ask": tuple(str(each.name) for each in query_commands.COMMANDS),
    "Share": ("html", "export", "report", "mcp", "serve"),
    "Operate": ("doctor", "validate", "remove", "publish", "help"),
}
# Without a line of their own there.
RARE = (
    *("build", "load", "receive", "no-consumer", "no-producer", "cycles", "layers", "report", "serve"),
    *("validate", "remove", "publish"),
)


class _Program(Group):
    """The program, whose shell completion never prints an error."""

    def _main_shell_completion(
        self, ctx_args: MutableMapping[str, Any], prog_name: str, complete_var: str | None = None
    ) -> None:
        variable = complete_var or f"_{prog_name}_COMPLETE".replace("-", "_").upper()
        if not os.environ.get(variable):
            return
        from lineage_merge.cli.completion import completing

        with completing(variable):
            super()._main_shell_completion(ctx_args, prog_name, variable)


@click.group(
    cls=_Program,
    headings=HEADINGS,
    rare=RARE,
    options_metavar="[--version] [--help]",
    subcommand_metavar="COMMAND [ARGS]...",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=epilog(
        "lineage-merge demo",
        "lineage-merge run --config lineage_merge.yml",
    ),
)
@click.version_option(__version__, prog_name="lineage-merge")
def main() -> None:
    """Merge the lineage of Spark, dbt and SQL into one graph in Neptune."""


for command in (
    init.init,
    demo.demo,
    merging.run,
    merging.build,
    merging.load,
    checks.doctor,
    checks.validate,
    dag.report,
    dag.remove,
    *query_commands.COMMANDS,
    page.html,
    mcp.mcp,
    export.export,
    sql.sql,
    review.review,
    receive.receive,
    serve.serve,
    publish.publish,
    help_topics.help_command,
):
    main.add_command(command)

"""Options that select a graph: `--graph-file` and `--demo`, and its history: `--as-of` and `--history`."""

from pathlib import Path

import click
from click.core import ParameterSource

from lineage_merge.cli.command import rare_option
from lineage_merge.cli.error_handling import handle_errors
from lineage_merge.query.selection import EMBEDDED

graph_file_option = click.option(
    "--graph-file",
    type=click.Path(path_type=Path, dir_okay=False, resolve_path=True),
    help="file of the embedded graph  [env: LINEAGE_MERGE_GRAPH_FILE]",
)
rare_graph_file_option = rare_option(
    "--graph-file",
    type=click.Path(path_type=Path, dir_okay=False, resolve_path=True),
    help="file of the embedded graph  [env: LINEAGE_MERGE_GRAPH_FILE]",
)
demo_option = click.option("--demo", is_flag=True, help="the graph of lineage-merge demo")
as_of_option = click.option(
    "--as-of",
    "as_of",
    metavar="TIME",
    help="as of now, a date, time, age (3d) or merge",
)
history_option = rare_option(
    "--history",
    "history",
    metavar="LOCATION",
    default="",
    help="folder or s3:// prefix of the history  [default: history.location]",
)


def select_graph_file(
    graph_file: Path | None, demo: bool = False, endpoint: str | None = None, folder: str | None = None
) -> Path | None:
    """Return the file that `--graph-file` or `--demo` selects; None: neither is set.

    Raises `click.UsageError` if another graph is selected on the command line, too.
    """
    remote = endpoint not in (None, EMBEDDED) and is_typed("endpoint", "gremlin_endpoint")
    flags = {
        "--demo": demo,
        "--graph-file": graph_file is not None,
        "--folder": folder is not None,
        "--gremlin-endpoint": remote,
    }
    given = [flag for flag, is_given in flags.items() if is_given]
    if (demo or graph_file) and len(given) > 1:
        raise click.UsageError(f"{' and '.join(given)} select different graphs: set one of them")
    if not demo:
        return graph_file
    from lineage_merge.infra.graph_files import demo_graph_file

    return demo_graph_file()


def select_config(config_file: Path | None, demo: bool) -> Path | None:
    """Return the configuration file: with `--demo` that of the sample, unless `--config` is typed."""
    if not demo or is_typed("config_file"):
        return config_file
    from lineage_merge.cli import sample

    with handle_errors():
        return sample.config_file()


def is_typed(*parameters: str) -> bool:
    """Whether one of these parameters of the running command was set on the command line."""
    context = click.get_current_context()
    return any(
        context.get_parameter_source(parameter) == ParameterSource.COMMANDLINE for parameter in parameters
    )

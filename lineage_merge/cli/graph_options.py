"""Options that select a graph: `--graph-file` and `--demo`, and its history: `--as-of` and `--history`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from lineage_merge.cli.command import Option
from lineage_merge.model.errors import ConfigError

if TYPE_CHECKING:
    from lineage_merge.config import Config

EMBEDDED = "embedded"  # as in `config`, which takes longer to import
_EMPTY = "the graph is empty"

graph_file_option = click.option(
    "--graph-file",
    type=click.Path(path_type=Path, dir_okay=False, resolve_path=True),
    help="file of the embedded graph  [env: LINEAGE_MERGE_GRAPH_FILE]",
)
rare_graph_file_option = click.option(
    "--graph-file",
    cls=Option,
    more=True,
    type=click.Path(path_type=Path, dir_okay=False, resolve_path=True),
    help="file of the embedded graph  [env: LINEAGE_MERGE_GRAPH_FILE]",
)
demo_option = click.option("--demo", is_flag=True, help="the graph of lineage-merge demo")
as_of_option = click.option(
    "--as-of",
    "as_of",
    metavar="TIME",
    help="lineage as of a date, time, age (3d) or merge",
)
history_option = click.option(
    "--history",
    "history",
    cls=Option,
    more=True,
    metavar="LOCATION",
    default="",
    help="folder or s3:// prefix of the history  [default: history.location]",
)


def require_history(location: str, config: "Config", graph_file: Path | None) -> str:
    """Return the location of the history: `--history`, or that of the graph. Raises `ConfigError`."""
    from lineage_merge.history.location import history_location

    if found := location.rstrip("/") or history_location(config, graph_file):
        return found
    raise ConfigError("history.location", "no history is configured. Fix: set the key, or --history LOCATION")


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


def is_typed(*parameters: str) -> bool:
    """Whether one of these parameters of the running command was set on the command line."""
    context = click.get_current_context()
    return any(context.get_parameter_source(each) == ParameterSource.COMMANDLINE for each in parameters)


def require_graph_file(graph_file: Path | None, demo: bool) -> None:
    """Raise `ConfigError` if a selected graph to read does not exist, as a file or in a running server."""
    if graph_file is None or graph_file.exists():
        return
    from lineage_merge.infra.embedded import file_lock

    if file_lock.served_at(graph_file):
        return
    if demo:
        raise ConfigError("--demo", "the demo has no graph. Fix: lineage-merge demo")
    raise ConfigError("--graph-file", f"no such file: {graph_file}")


def empty_hint() -> str:
    """Return a note about the user's own graph, which is empty."""
    from lineage_merge.infra.graph_files import demo_graph_file

    if demo_graph_file().exists():
        return f"{_EMPTY}; the demo's lineage: add --demo"
    return f"{_EMPTY}. Fix: lineage-merge run --config FILE"

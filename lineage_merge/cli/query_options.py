"""Options that select a graph, its moment and scope, and the output format of questions."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from lineage_merge.cli.answers import FORMATS
from lineage_merge.cli.command import Option, add_options, rare_option
from lineage_merge.cli.completion import complete_dags, complete_environments
from lineage_merge.cli.error_handling import handle_errors, progress
from lineage_merge.cli.options import with_config_file
from lineage_merge.query.selection import EMBEDDED, GraphSelection

if TYPE_CHECKING:
    from lineage_merge.query.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryOptions(GraphSelection):
    """The graph to query, the scope, the output format and file (None: standard output)."""

    format: str
    out: str | None = None


_GRAPH_FILE: dict[str, Any] = {
    "type": click.Path(path_type=Path, resolve_path=True),
    "help": "folder of the embedded graph  [env: LINEAGE_MERGE_GRAPH_FILE]",
}
graph_file_option = click.option("--graph-file", **_GRAPH_FILE)
rare_graph_file_option = rare_option("--graph-file", **_GRAPH_FILE)
demo_option = click.option("--demo", is_flag=True, help="the graph of lineage-merge demo")
as_of_option = click.option("--as-of", metavar="TIME", help="as of now, a date, time, age (3d) or merge")
history_option = rare_option(
    "--history",
    metavar="LOCATION",
    default="",
    help="folder or s3:// prefix of the history  [default: history.location]",
)
run_option = rare_option(
    "--run",
    metavar="ID",
    help="only what one run read and wrote (id of an application, a Glue run or a dbt invocation), from the "
    "sources of the configuration",
)
_ENVIRONMENT = click.option(
    "--environment",
    metavar="NAME",
    envvar="LINEAGE_MERGE_ENVIRONMENT",
    shell_complete=complete_environments,
    help="environment, such as prod  [default: that of the configuration, or all]",
)
# Of all commands that only read a graph.
GRAPH_OPTIONS = (
    _ENVIRONMENT,
    click.option(
        "--dag",
        metavar="NAME",
        shell_complete=complete_dags,
        help="only lineage (in lists: elements) of this Airflow DAG",
    ),
    click.option("--folder", metavar="DIR", help="read the node and edge files of build; needs no server"),
    click.option(
        "--gremlin-endpoint",
        "endpoint",
        metavar="TEXT",
        envvar="LINEAGE_MERGE_GREMLIN_ENDPOINT",
        help="embedded, ws://host:8182/gremlin or wss://...  [default: embedded]",
    ),
    rare_graph_file_option,
    demo_option,
)
_FOR_TERMINALS = ("tree", "table")
_OUT = click.option(
    "-o",
    "--out",
    "answer_file",
    cls=Option,
    more=True,
    metavar="FILE",
    help="file for --format, local or s3://  [default: standard output]",
)


def query_command(
    default: str,
    *,
    past: bool = True,
    formats: tuple[str, ...] = FORMATS,
    out: Callable[[Any], Any] | None = None,
    run: Callable[[Any], Any] | None = run_option,
) -> Callable[[Any], Any]:
    """Add the options of query commands; the command gets them as `QueryOptions`.

    `past`: with `--as-of` and `--history`, and the option `run`, if any. `out`: an option `answer_file`,
    instead of the usual one.
    """
    choice = click.Choice(formats)
    options = [
        *GRAPH_OPTIONS,
        *([as_of_option, history_option] if past else []),
        *([run] if past and run else []),
        with_config_file,
        click.option(
            "--format", "output", type=choice, default=default, show_default=True, help="output format"
        ),
        click.option("--json", "as_json", is_flag=True, help="same as --format json"),
        *([out] if out else [_OUT] if "svg" in formats else []),
    ]

    def decorate(command: Callable[..., Any]) -> Any:
        @wraps(command)
        def gather(output: str, as_json: bool, answer_file: str | None = None, **given: Any) -> None:
            output = "json" if as_json else output
            if answer_file and output in _FOR_TERMINALS:
                others = ", ".join(format_ for format_ in formats if format_ not in _FOR_TERMINALS)
                raise click.UsageError(f"--out requires one of --format {others}")
            selection = take_selection(given)
            command(QueryOptions(**selection, format=output, out=answer_file), **given)

        return add_options(gather, options)

    return decorate


def take_selection(given: dict[str, Any]) -> dict[str, Any]:
    """Remove the values of the options that select a graph; return them as fields of `GraphSelection`."""
    demo, config_file = given.pop("demo"), given.pop("config_file")
    names = ("environment", "dag", "folder", "endpoint", "graph_file", "as_of", "history", "run")
    fields = {name: given.pop(name) for name in names if name in given}
    graph_file = select_graph_file(fields["graph_file"], demo, fields["endpoint"], fields["folder"])
    if fields.get("run") and (fields.get("as_of") or fields["folder"]):
        raise click.UsageError("--run reads the sources: omit --as-of and --folder")
    if fields.get("as_of") and fields["folder"]:
        raise click.UsageError("--folder has no history: omit it with --as-of")
    if graph_file:
        fields |= {"graph_file": graph_file, "endpoint": EMBEDDED}
    # Variables are about the user's own graph.
    if demo and not is_typed("environment"):
        fields["environment"] = None
    return {"file": select_config(config_file, demo), "demo": demo, **fields}


def select_graph_file(
    graph_file: Path | None, demo: bool = False, endpoint: str | None = None, folder: str | None = None
) -> Path | None:
    """Return the file that `--graph-file` or `--demo` selects; None: neither is set.

    Raises `click.UsageError` if another graph is selected on the command line, too.
    """
    flags = {
        "--demo": demo,
        "--graph-file": graph_file is not None,
        "--folder": folder is not None,
        "--gremlin-endpoint": endpoint not in (None, EMBEDDED) and is_typed("endpoint"),
    }
    given = [flag for flag, is_given in flags.items() if is_given]
    if (demo or graph_file) and len(given) > 1:
        raise click.UsageError(f"{' and '.join(given)} select different graphs: set one of them")
    if not demo:
        return graph_file
    from lineage_merge.infra.graph_files import demo_graph_file

    return demo_graph_file()


def select_config(config_file: Path | None, demo: bool) -> Path | None:
    """Return the configuration file: with `--demo` that of the company, unless `--config` is typed."""
    if not demo or is_typed("config_file"):
        return config_file
    from lineage_merge.cli import sample

    with handle_errors():
        return sample.demo_config_file()


def is_typed(parameter: str) -> bool:
    """Whether a parameter of the running command was set on the command line."""
    return click.get_current_context().get_parameter_source(parameter) == ParameterSource.COMMANDLINE


@contextmanager
def open_session(options: QueryOptions, *, all_environments: bool = False) -> "Iterator[Session]":
    """Open the graph; errors are printed and end the command.

    `all_environments`: also read those that the configuration does not set, of a history.
    """
    with handle_errors(), progress(True) as on_progress:
        from lineage_merge.query import session as sessions

        with (
            sessions.open_session(options, on_progress, all_environments=all_environments) as session,
            session.hints(),
        ):
            if session.moment:
                print_merges(session)
            yield session


@contextmanager
def open_history(selection: GraphSelection) -> "Iterator[Session]":
    """Open the history of a graph, which itself may be unreachable; errors end the command."""
    with handle_errors(), progress(True) as on_progress:
        from lineage_merge.query.session import session_without_graph

        yield session_without_graph(selection, on_progress)


_SHOWN_MERGES = 10


def print_merges(session: "Session") -> None:
    """Print the merges of the history that the answer is made of."""
    lines = [str(merge) for merge in session.scope.merges]
    shown = lines[:_SHOWN_MERGES] if len(lines) > _SHOWN_MERGES + 1 else lines
    click.echo(f"as of {session.moment}:", err=True)
    for line in shown:
        click.echo(f"  {line}", err=True)
    if len(shown) < len(lines):
        click.echo(f"  and {len(lines) - len(shown)} more", err=True)

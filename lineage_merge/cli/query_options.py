"""Common options of the query commands: the graph, its moment, the scope and the output format."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lineage_merge.cli.answers import FORMATS
from lineage_merge.cli.command import Option
from lineage_merge.cli.completion import complete_dags, complete_environments
from lineage_merge.cli.error_handling import handle_errors, progress
from lineage_merge.cli.graph_options import (
    as_of_option,
    demo_option,
    history_option,
    is_typed,
    rare_graph_file_option,
    select_config,
    select_graph_file,
)
from lineage_merge.cli.options import with_config_file
from lineage_merge.query.selection import EMBEDDED, GraphSelection

if TYPE_CHECKING:
    from lineage_merge.query.session import Session

Command = Callable[..., Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryOptions(GraphSelection):
    """The graph to query, the scope, the output format and file (None: standard output)."""

    format: str
    out: str | None = None


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


def print_merges(session: "Session") -> None:
    """Print the merges of the history that the answer is made of."""
    lines = [str(merge) for merge in session.scope.merges]
    shown = lines[:_SHOWN_MERGES] if len(lines) > _SHOWN_MERGES + 1 else lines
    click.echo(f"as of {session.moment}:", err=True)
    for line in shown:
        click.echo(f"  {line}", err=True)
    if len(shown) < len(lines):
        click.echo(f"  and {len(lines) - len(shown)} more", err=True)


_SHOWN_MERGES = 10

_GRAPH_OPTIONS = (
    click.option(
        "--dag",
        "dag",
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
_PAST_OPTIONS = (as_of_option, history_option)
environment_option = click.option(
    "--environment",
    metavar="NAME",
    envvar="LINEAGE_MERGE_ENVIRONMENT",
    shell_complete=complete_environments,
    help="environment, such as prod  [default: that of the configuration, or all]",
)


def graph_options(command: Command) -> Command:
    """Add the options that select a graph of which all commands only read."""
    for option in reversed(_GRAPH_OPTIONS):
        command = option(command)
    return command


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
    environment: bool = True,
    past: bool = True,
    formats: tuple[str, ...] = FORMATS,
    out: Callable[[Command], Command] | None = None,
) -> Callable[[Command], Command]:
    """Add the options of query commands; the command gets them as `QueryOptions`.

    `environment`, `past`: with `--environment`, and with `--as-of` and `--history`. `out`: an option
    `answer_file`, instead of the usual one.
    """

    def decorate(command: Command) -> Command:
        def gather(
            config_file: Path | None,
            endpoint: str | None,
            folder: str | None,
            dag: str | None,
            graph_file: Path | None,
            demo: bool,
            output: str,
            as_json: bool,
            as_of: str | None = None,
            history: str = "",
            **given: Any,
        ) -> None:
            out = given.pop("answer_file", None)
            output = "json" if as_json else output
            if out and output in _FOR_TERMINALS:
                others = ", ".join(format_ for format_ in formats if format_ not in _FOR_TERMINALS)
                raise click.UsageError(f"--out requires one of --format {others}")
            only_environment = given.pop("environment") if environment else None
            if demo and not is_typed("environment"):
                only_environment = None
            selected = select_graph_file(graph_file, demo, endpoint, folder)
            if as_of and folder:
                raise click.UsageError("--folder has no history: omit it with --as-of")
            options = QueryOptions(
                file=select_config(config_file, demo),
                endpoint=EMBEDDED if selected else endpoint,
                folder=folder,
                environment=only_environment,
                dag=dag,
                format=output,
                out=out,
                graph_file=selected,
                demo=demo,
                as_of=as_of,
                history=history,
            )
            command(options, **given)

        gather.__name__ = command.__name__
        gather.__doc__ = command.__doc__
        wrapped: Any = gather
        decorators = [
            *([environment_option] if environment else []),
            graph_options,
            *(_PAST_OPTIONS if past else ()),
            with_config_file,
            click.option(
                "--format",
                "output",
                type=click.Choice(formats),
                default=default,
                show_default=True,
                help="output format",
            ),
            click.option("--json", "as_json", is_flag=True, help="same as --format json"),
            *([out] if out else [_OUT] if "svg" in formats else []),
        ]
        for option in reversed(decorators):
            wrapped = option(wrapped)
        wrapped.__click_params__ = [*getattr(command, "__click_params__", []), *wrapped.__click_params__]
        return wrapped  # type: ignore[no-any-return]

    return decorate

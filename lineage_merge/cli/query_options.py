"""Common options of the query commands: the graph, its moment, the scope and the output format."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lineage_merge.cli.answers import FORMATS
from lineage_merge.cli.completion import complete_dags, complete_environments
from lineage_merge.cli.error_handling import handle_errors, progress
from lineage_merge.cli.graph_options import (
    EMBEDDED,
    as_of_option,
    demo_option,
    empty_hint,
    history_option,
    is_typed,
    rare_graph_file_option,
    require_graph_file,
    select_graph_file,
)
from lineage_merge.cli.options import with_config_file
from lineage_merge.model.errors import NotFound

if TYPE_CHECKING:
    from lineage_merge.config import Config
    from lineage_merge.history.pictures import ScopedMerge
    from lineage_merge.infra.progress import ProgressCallback
    from lineage_merge.query.graph import LineageGraph

Command = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class QueryOptions:
    """The graph to query, the scope, and the output format.

    `graph_file`: the embedded graph that `--graph-file` or `demo` selects. `as_of`: the moment of the
    history at `history` ("": that of the configuration); `merges`: those that the answer is made of, once the
    graph is open.
    """

    file: Path | None
    endpoint: str | None
    folder: str | None
    environment: str | None
    dag: str | None
    format: str
    graph_file: Path | None = None
    demo: bool = False
    as_of: str | None = None
    history: str = ""
    merges: "list[ScopedMerge]" = field(default_factory=list)

    def config(self) -> "tuple[Config, str | None]":
        """Return the configuration, and the environment if one is set. Raises `ConfigError`."""
        from lineage_merge.orchestration.configuration import CONFIGURATION

        given = {"environment": self.environment, "gremlin.endpoint": self.endpoint}
        found = CONFIGURATION.collect(self.file, flags={key: value for key, value in given.items() if value})
        environment = found.settings.get("environment")
        if self.demo:
            environment = self.environment  # that of the configuration is one of the user's own
        # Queries do not require these keys: the default is all environments and DAGs.
        filled = {"dag_name": "none", "environment": "none"} | found.settings
        return CONFIGURATION.parse(filled, found.origins, needs_source=False), environment

    def header(self, question: str, environment: str | None, **more: Any) -> dict[str, Any]:
        """Return the first fields of the JSON of every answer."""
        header = {"question": question, "environment": environment, "dag": self.dag, **more}
        if self.as_of:
            header["as_of"] = {"moment": self.as_of, "merges": [each.as_json() for each in self.merges]}
        return header

    def source(self, config: "Config") -> str:
        """Return the place that the answer is read from, for documents."""
        place = str(self.folder or self.graph_file or config.gremlin.endpoint)
        return f"{place}, history as of {self.as_of}" if self.as_of else place


@dataclass(frozen=True, slots=True)
class Session:
    """An open graph with the scope and configuration of a query."""

    graph: "LineageGraph"
    environment: str | None
    config: "Config"
    is_own: bool = False

    def empty_hint(self) -> str:
        """Return a note if the graph is the user's own embedded graph, and empty; otherwise ""."""
        from lineage_merge.query.elements import VERTEX_LABELS

        is_empty = self.is_own and not self.graph.search("", VERTEX_LABELS, limit=1)
        return empty_hint() if is_empty else ""


@contextmanager
def open_session(options: QueryOptions, *, all_environments: bool = False) -> Iterator[Session]:
    """Open the graph; errors are printed and end the command.

    `all_environments`: also read those that the configuration does not set, of a history.
    """
    with handle_errors(), progress(True) as on_progress:
        config, environment = options.config()
        if options.as_of:
            only = None if all_environments else environment
            yield Session(past_graph(options, config, only, on_progress), environment, config)
            return
        require_graph_file(options.graph_file, options.demo)
        from lineage_merge.query.backends.opening import open_graph

        is_own = not (options.folder or options.graph_file) and config.gremlin.endpoint == EMBEDDED
        with open_graph(options.folder or config.gremlin, on_progress, options.graph_file) as graph:
            session = Session(graph, environment, config, is_own)
            try:
                yield session
            except NotFound as error:
                if hint := session.empty_hint():
                    raise NotFound(f"{error.message}; {hint}", error.candidates) from None
                raise


def past_graph(
    options: QueryOptions, config: "Config", environment: str | None, on_progress: "ProgressCallback"
) -> "LineageGraph":
    """Return the graph as of a moment, and print the merges that it is made of."""
    from lineage_merge.cli.graph_options import require_history
    from lineage_merge.history.moments import parse_moment
    from lineage_merge.history.pictures import as_of

    moment = parse_moment(options.as_of or "")
    location = require_history(options.history, config, options.graph_file)
    found = as_of(location, moment, environment, on_progress)
    options.merges.extend(found.merges)
    lines = [str(each) for each in found.merges]
    shown = lines[:_SHOWN_MERGES] if len(lines) > _SHOWN_MERGES + 1 else lines
    click.echo(f"as of {moment}:", err=True)
    for line in shown:
        click.echo(f"  {line}", err=True)
    if len(shown) < len(lines):
        click.echo(f"  and {len(lines) - len(shown)} more", err=True)
    return found.graph


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
_ENVIRONMENT = click.option(
    "--environment",
    metavar="NAME",
    envvar="LINEAGE_MERGE_ENVIRONMENT",
    shell_complete=complete_environments,
    help="environment, such as prod  [default: that of the configuration, or all]",
)

depth_option = click.option(
    "--depth", type=click.IntRange(1), metavar="N", help="maximum hops  [default: unlimited]"
)


def empty_note(session: Session, options: QueryOptions, note: str) -> str:
    """Return the note of an empty answer. Raises `NotFound` if the environment or DAG is unknown."""
    from lineage_merge.query.names import check_scope

    check_scope(session.graph, session.environment, options.dag)
    hint = session.empty_hint()
    return f"{note}; {hint}" if hint else note


def query_command(
    default: str, *, environment: bool = True, past: bool = True, formats: tuple[str, ...] = FORMATS
) -> Callable[[Command], Command]:
    """Add the options of query commands; the command gets them as `QueryOptions`.

    `environment`, `past`: with `--environment`, and with `--as-of` and `--history`.
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
            only_environment = given.pop("environment") if environment else None
            if demo and not is_typed("environment"):
                only_environment = None
            selected = select_graph_file(graph_file, demo, endpoint, folder)
            if as_of and folder:
                raise click.UsageError("--folder has no history: omit it with --as-of")
            options = QueryOptions(
                config_file,
                EMBEDDED if selected else endpoint,
                folder,
                only_environment,
                dag,
                "json" if as_json else output,
                selected,
                demo,
                as_of,
                history,
            )
            command(options, **given)

        gather.__name__ = command.__name__
        gather.__doc__ = command.__doc__
        wrapped: Any = gather
        decorators = [
            *([_ENVIRONMENT] if environment else []),
            *_GRAPH_OPTIONS,
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
        ]
        for option in reversed(decorators):
            wrapped = option(wrapped)
        wrapped.__click_params__ = [*getattr(command, "__click_params__", []), *wrapped.__click_params__]
        return wrapped  # type: ignore[no-any-return]

    return decorate

"""Which graph a question is asked of: flags, configuration, an open graph."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lineage_merge.cli.answers import FORMATS
from lineage_merge.cli.error_handling import progress, reported
from lineage_merge.cli.options import with_config_file

if TYPE_CHECKING:
    from lineage_merge.config import Config
    from lineage_merge.query.graph import LineageGraph

Command = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class QueryOptions:
    """Which graph is asked, and in which format the answer goes out."""

    file: Path | None
    endpoint: str | None
    folder: str | None
    environment: str | None
    dag: str | None
    format: str

    def config(self) -> "tuple[Config, str | None]":
        """The configuration, and the environment if any is given. Raises `ConfigError`."""
        from lineage_merge.orchestration.configuration import CONFIGURATION

        given = {"environment": self.environment, "gremlin.endpoint": self.endpoint}
        settings = CONFIGURATION.gather(
            self.file, flags={key: value for key, value in given.items() if value}
        )
        environment = settings.get("environment")
        # A question needs neither: it is asked of all environments, and no DAG is merged.
        filled = {"dag_name": "none", "environment": "none"} | settings
        return CONFIGURATION.parse(filled, needs_source=False), environment

    def told(self, question: str, environment: str | None, **more: Any) -> dict[str, Any]:
        """What the JSON of every answer begins with."""
        return {"question": question, "environment": environment, "dag": self.dag, **more}


@dataclass(frozen=True, slots=True)
class Session:
    """An open graph, and what the question is about."""

    graph: "LineageGraph"
    environment: str | None
    config: "Config"


@contextmanager
def asking(asked: QueryOptions) -> Iterator[Session]:
    """The graph, open; errors are told and end the command."""
    with reported(), progress(True) as on_progress:
        config, environment = asked.config()
        from lineage_merge.query.backends.opening import open_graph

        with open_graph(asked.folder or config.gremlin, on_progress) as graph:
            yield Session(graph, environment, config)


_WHERE = (
    click.option(
        "--dag", "dag", metavar="NAME", help="only what this Airflow DAG moves (or, of lists, what it knows)"
    ),
    click.option(
        "--folder", metavar="DIR", help="ask the node and edge files that build wrote; needs no server"
    ),
    click.option(
        "--gremlin-endpoint",
        "endpoint",
        metavar="TEXT",
        envvar="LINEAGE_MERGE_GREMLIN_ENDPOINT",
        help="embedded (the default), or ws://host:8182/gremlin, or wss://...",
    ),
    with_config_file,
)
_ENVIRONMENT = click.option(
    "--environment",
    metavar="NAME",
    envvar="LINEAGE_MERGE_ENVIRONMENT",
    help="dev, staging, prod  [default: all, or that of the configuration]",
)


def asks(
    default: str, *, environment: bool = True, formats: tuple[str, ...] = FORMATS
) -> Callable[[Command], Command]:
    """The flags that say which graph is asked and how the answer looks; the command gets `QueryOptions`."""

    def decorate(command: Command) -> Command:
        def gather(
            config_file: Path | None,
            endpoint: str | None,
            folder: str | None,
            dag: str | None,
            output: str,
            as_json: bool,
            **given: Any,
        ) -> None:
            one = given.pop("environment") if environment else None
            asked = QueryOptions(config_file, endpoint, folder, one, dag, "json" if as_json else output)
            command(asked, **given)

        gather.__name__ = command.__name__
        gather.__doc__ = command.__doc__
        wrapped: Any = gather
        options = [
            *([_ENVIRONMENT] if environment else []),
            *_WHERE,
            click.option(
                "--format", "output", type=click.Choice(formats), default=default, show_default=True
            ),
            click.option("--json", "as_json", is_flag=True, help="the same as --format json"),
        ]
        for option in reversed(options):
            wrapped = option(wrapped)
        wrapped.__click_params__ = [*getattr(command, "__click_params__", []), *wrapped.__click_params__]
        return wrapped  # type: ignore[no-any-return]

    return decorate

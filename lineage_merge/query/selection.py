"""Selection of a graph: its place, moment and scope. Expensive imports are inside the functions."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from lineage_merge.infra.graph_files import demo_graph_file, is_graph
from lineage_merge.model.errors import ConfigError

if TYPE_CHECKING:
    from lineage_merge.config import Config

EMBEDDED = "embedded"  # as in `config`, which takes longer to import
_CONFIGURATIONS = frozenset({".yml", ".yaml"})
_REMOTE = ("ws://", "wss://")
_S3 = "s3://"
# Values of required keys that questions do not use.
_UNUSED = {"dag_name": "none", "environment": "none"}
# Of a time limit: a graph that does not answer is to be an error of the question, not its end.
_RETRY_SHARE = 0.1
_TIMEOUT_SHARE = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphSelection:
    """The graph to query, and the scope; without values those of the configuration.

    `file`: the configuration. `graph_file`: an embedded graph; `demo`: that of the demo. `as_of`: a moment of
    the history at `history` ("": that of the configuration). `run`: the lineage of one run by its id, read
    from the sources of the configuration. `seconds`: time limit of a question; without
    one, requests to the graph are repeated for minutes, as in a load.
    """

    file: "Path | str | Config | None" = None
    endpoint: str | None = None
    folder: str | None = None
    environment: str | None = None
    dag: str | None = None
    graph_file: Path | None = None
    demo: bool = False
    as_of: str | None = None
    history: str = ""
    run: str | None = None
    seconds: float | None = None

    def config(self) -> "tuple[Config, str | None]":
        """Return the configuration, and the environment if one is set. Raises `ConfigError`."""
        config, environment = self._config()
        if self.seconds is None:
            return config, environment
        gremlin = replace(
            config.gremlin,
            retry_seconds=min(config.gremlin.retry_seconds, self.seconds * _RETRY_SHARE),
            timeout_seconds=min(config.gremlin.timeout_seconds, self.seconds * _TIMEOUT_SHARE),
        )
        return replace(config, gremlin=gremlin), environment

    def _config(self) -> "tuple[Config, str | None]":
        if self.file is not None and not isinstance(self.file, str | Path):
            gremlin = self.file.gremlin
            gremlin = replace(gremlin, endpoint=self.endpoint) if self.endpoint else gremlin
            scope = self.environment or self.file.environment
            return replace(self.file, gremlin=gremlin, environment=scope), scope or None
        from lineage_merge.orchestration.configuration import CONFIGURATION

        given = {"environment": self.environment, "gremlin.endpoint": self.endpoint}
        flags = {key: value for key, value in given.items() if value}
        # Variables and the environment of a configuration are those of the user's own graph.
        collected = CONFIGURATION.collect(self.file, {} if self.demo else None, flags)
        environment = self.environment if self.demo else collected.settings.get("environment")
        # Queries do not require these keys: the default is all environments and DAGs.
        filled = _UNUSED | collected.settings
        return CONFIGURATION.parse(filled, collected.origins, needs_source=False), environment

    def source(self, config: "Config") -> str:
        """Return the place that the answer is read from, for documents."""
        if self.run:
            return f"run {self.run}"
        place = str(self.folder or self.graph_file or config.gremlin.endpoint)
        return f"{place}, history as of {self.as_of}" if self.as_of else place

    @property
    def is_own_graph(self) -> bool:
        """Whether no other graph than that of the configuration is selected."""
        return not (self.folder or self.graph_file)


def default_config(environment: str | None = None) -> "Config":
    """Return the configuration without a file and without environment variables. Raises `ConfigError`."""
    from lineage_merge.orchestration.configuration import CONFIGURATION

    given = {"environment": environment} if environment else {}
    return CONFIGURATION.parse(_UNUSED | given, needs_source=False)


def selection_of(
    location: "str | Path | Config | None",
    *,
    config: "str | Path | Config | None" = None,
    environment: str | None = None,
    dag: str | None = None,
    as_of: str | None = None,
    history: str = "",
    demo: bool = False,
) -> GraphSelection:
    """Return the selection of a location: an endpoint, a folder, an embedded graph or a configuration.

    Raises `ConfigError` if it does not exist, or if several graphs or configurations are selected.
    """
    scope = GraphSelection(
        file=config, environment=environment, dag=dag, as_of=as_of, history=history, demo=demo
    )
    if demo:
        if location is not None:
            raise ConfigError("demo", f"selects another graph than {location}. Fix: omit one of them")
        return replace(scope, endpoint=EMBEDDED, graph_file=demo_graph_file())
    if location is None:
        return scope
    if not isinstance(location, str | Path):
        return _configure(scope, location)
    text = str(location)
    if text == EMBEDDED or text.startswith(_REMOTE):
        return replace(scope, endpoint=text)
    if Path(text).suffix in _CONFIGURATIONS:
        return _configure(scope, location)
    if text.startswith(_S3):
        return _folder(scope, text)
    path = Path(text).expanduser()
    if path.is_dir() and not is_graph(path):
        return _folder(scope, str(path))
    if not path.exists():
        raise ConfigError("location", f"no such file or folder: {text}; an endpoint begins with wss://")
    return replace(scope, endpoint=EMBEDDED, graph_file=path.resolve())


def _configure(scope: GraphSelection, location: "str | Path | Config") -> GraphSelection:
    if scope.file is not None:
        raise ConfigError("config", "two configurations are set. Fix: omit one of them")
    return replace(scope, file=location)


def _folder(scope: GraphSelection, folder: str) -> GraphSelection:
    if scope.as_of:
        raise ConfigError("as_of", f"the folder {folder} has no history. Fix: omit one of them")
    return replace(scope, folder=folder)

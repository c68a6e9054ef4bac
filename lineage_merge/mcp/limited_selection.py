"""The selected graph, with limits of requests that fit the time limit of a call."""

from dataclasses import dataclass, replace

from lineage_merge.config import Config
from lineage_merge.query.selection import GraphSelection

DEFAULT_SECONDS = 50.0
# Of the time limit: a graph that does not answer is to be an error of the call, not its end.
_RETRY_SHARE = 0.1
_TIMEOUT_SHARE = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitedSelection(GraphSelection):
    """A selection for calls of at most `seconds`: a load retries for minutes, a person waits for seconds."""

    seconds: float = DEFAULT_SECONDS

    def config(self) -> tuple[Config, str | None]:
        """Return the configuration with shorter limits, and the environment. Raises `ConfigError`."""
        # Not super(): the class of a dataclass with slots is another one than that of its methods.
        config, environment = GraphSelection.config(self)
        gremlin = replace(
            config.gremlin,
            retry_seconds=min(config.gremlin.retry_seconds, self.seconds * _RETRY_SHARE),
            timeout_seconds=min(config.gremlin.timeout_seconds, self.seconds * _TIMEOUT_SHARE),
        )
        return replace(config, gremlin=gremlin), environment

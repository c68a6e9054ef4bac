"""What a sink is: its name, its settings, and a function that takes the lineage on."""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from lineage_merge.infra.progress import ProgressCallback, no_progress
from lineage_merge.model.errors import ConfigError
from lineage_merge.query.elements import Edge, Vertex
from lineage_merge.query.graph import LineageGraph

Schema = Mapping[str, Any]

# Settings that several sinks have, as parts of a JSON Schema.
OUT: Schema = {
    "description": "where it goes: a path or s3://bucket/key",
    "type": "string",
    "minLength": 1,
}
URL: Schema = {
    "description": "the server's address",
    "type": "string",
    # A password in it would be shown wherever the address is.
    "pattern": "^https?://[^\\s/@]+(/[^\\s@]*)?$",
    "x-form": "http://host:port or https://..., without user and password",
    "writeOnly": True,
}
TOKEN_ENV: Schema = {
    "description": "name of the environment variable that holds the server's token",
    "type": "string",
    "pattern": "^[A-Za-z_][A-Za-z0-9_]*$",
    "x-form": "the name of an environment variable",
    "writeOnly": True,
}


@dataclass(frozen=True, slots=True)
class Export:
    """What is taken on: a graph, of which environment and DAG (None: all), and the sink's settings.

    `settings` fit the sink's schema. Without `out` and `url` text goes to standard output. `at` is now.
    """

    graph: LineageGraph
    settings: Mapping[str, Any] = field(default_factory=dict)
    environment: str | None = None
    dag: str | None = None
    on_progress: ProgressCallback = no_progress
    at: datetime = field(default_factory=lambda: datetime.now(tz=UTC))

    @property
    def out(self) -> str | None:
        """The file or folder to write, None where there is none."""
        return self.settings.get("out")

    @property
    def url(self) -> str | None:
        """The server to send to, None where there is none."""
        return self.settings.get("url")

    def everything(self, labels: tuple[str, ...] | None = None) -> Iterator[Vertex | Edge]:
        """Vertices, then edges, as `LineageGraph.everything`; an edge that lacks an end is left out.

        A load may write while this reads: no file tells of an edge without its ends.
        """
        told: set[str] = set()
        for each in self.graph.everything(self.environment, self.dag, labels):
            if isinstance(each, Vertex):
                told.add(each.id)
                yield each
            elif each.from_id in told and each.to_id in told:
                yield each


@dataclass(frozen=True, slots=True)
class Sent:
    """What a sink took: how many of what, and where to (`place`, "" is standard output)."""

    place: str
    counts: Mapping[str, int]

    def __str__(self) -> str:
        """``lineage.graphml: 12 vertices, 34 edges``."""
        counts = ", ".join(f"{number:,} {what}" for what, number in self.counts.items()) or "nothing"
        return f"{self.place or 'standard output'}: {counts}"


@dataclass(frozen=True, slots=True)
class Exporter:
    """A sink. `settings` are JSON Schemas of its keys below ``sinks.NAME``; nothing heavy is imported for it.

    `needs`: modules that an extra of the same name brings. `to`: those of its settings that say where
    to, any of which is enough; `prints`: without any of them it goes to standard output. `token`: the
    environment variable that is taken where `token_env` names none.
    """

    name: str
    about: str
    settings: Mapping[str, Schema]
    send: Callable[[Export], Sent]
    to: tuple[str, ...] = ("out",)
    prints: bool = True
    needs: tuple[str, ...] = ()
    token: str = ""

    def is_told_where(self, settings: Mapping[str, Any]) -> bool:
        """Whether the settings say where it goes."""
        return any(key in settings for key in self.to)


def token(settings: Mapping[str, Any], default: str, sink: str) -> str:
    """The token: of the variable that `token_env` names, or of `default` if that is set; "" is none.

    Raises `ConfigError` where the variable that is named is not set.
    """
    if "token_env" not in settings:
        return os.environ.get(default, "")
    try:
        return os.environ[settings["token_env"]]
    except KeyError:
        # Without its name: some write the token itself there.
        problem = "the environment variable of this name is not set"
        raise ConfigError(f"sinks.{sink}.token_env", problem) from None

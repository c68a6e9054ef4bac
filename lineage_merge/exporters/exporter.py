"""Definition of an exporter: name, settings, a function that exports the lineage; output of text."""

import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from lineage_merge.graph_format.elements import Edge, Vertex
from lineage_merge.infra.batches import batched
from lineage_merge.infra.progress import ProgressCallback, no_progress
from lineage_merge.infra.storage import write_file
from lineage_merge.model.errors import ConfigError
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.sources.diagnosis import Diagnosis

Schema = Mapping[str, Any]

# JSON Schemas of common settings.
OUT: Schema = {"description": "output path or s3://bucket/key", "type": "string", "minLength": 1}
URL: Schema = {
    "description": "address of the server",
    "type": "string",
    # Without password, because addresses are shown in messages.
    "pattern": "^https?://[^\\s/@]+(/[^\\s@]*)?$",
    "x-form": "http://host:port or https://..., without user and password",
    "writeOnly": True,
}
TOKEN_ENV: Schema = {
    "description": "name of the environment variable with the server's token",
    "type": "string",
    "pattern": "^[A-Za-z_][A-Za-z0-9_]*$",
    "x-form": "the name of an environment variable",
    "writeOnly": True,
}


@dataclass(frozen=True, slots=True)
class Export:
    """Input of an exporter: a graph, environment and DAG (None: all), and settings valid by its schema.

    Without `out` and `url` text goes to standard output. `at` is the current time. `before`: an earlier
    moment of the graph; only what changed since then is exported. `dry_run`: nothing is sent or written.
    """

    graph: LineageGraph
    settings: Mapping[str, Any] = field(default_factory=dict)
    environment: str | None = None
    dag: str | None = None
    on_progress: ProgressCallback = no_progress
    at: datetime = field(default_factory=lambda: datetime.now(tz=UTC))
    before: LineageGraph | None = None
    dry_run: bool = False

    @property
    def out(self) -> str | None:
        """File or folder to write."""
        return self.settings.get("out")

    @property
    def url(self) -> str | None:
        """Server to send to."""
        return self.settings.get("url")

    def everything(self, labels: tuple[str, ...] | None = None) -> Iterator[Vertex | Edge]:
        """Yield vertices, then edges, as `LineageGraph.everything`; edges without both ends are omitted.

        A concurrent load may write edges whose vertices were read too early.
        """
        vertices: set[str] = set()
        for element in self.graph.everything(self.environment, self.dag, labels):
            if isinstance(element, Vertex):
                vertices.add(element.id)
                yield element
            elif element.from_id in vertices and element.to_id in vertices:
                yield element


@dataclass(frozen=True, slots=True)
class ExportResult:
    """Counts by kind of what was exported, and the destination ("" is standard output).

    `lists`: names by what the user should know of them, such as datasets that the catalog lacks.
    """

    destination: str
    counts: Mapping[str, int]
    lists: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __str__(self) -> str:
        """``lineage.graphml: 12 vertices, 34 edges``."""
        numbers = {**self.counts, **{what: len(names) for what, names in self.lists.items() if names}}
        counts = ", ".join(f"{number:,} {what}" for what, number in numbers.items()) or "nothing"
        return f"{self.destination or 'standard output'}: {counts}"


@dataclass(frozen=True, slots=True)
class Exporter:
    """An exporter. `settings` are JSON Schemas of its keys below ``exporters.NAME``.

    Its client library is imported only by `send`.

    `destination_keys`: the settings that name a destination; `writes_stdout`: without any of them, write to
    standard output. `required_modules`: modules of the extra `extra` (default: the exporter's name).
    `token_variable`: the environment variable of the token if `token_env` is not set. `exports_changes`,
    `has_dry_run`: `send` regards `Export.before`, `Export.dry_run`. `examine` yields the diagnoses of
    settings for `doctor`.
    """

    name: str
    description: str
    settings: Mapping[str, Schema]
    send: Callable[[Export], ExportResult]
    destination_keys: tuple[str, ...] = ("out",)
    writes_stdout: bool = True
    required_modules: tuple[str, ...] = ()
    token_variable: str = ""
    exports_changes: bool = False
    extra: str = ""
    has_dry_run: bool = False
    examine: Callable[[Mapping[str, Any]], Iterator[Diagnosis]] | None = None

    def has_destination(self, settings: Mapping[str, Any]) -> bool:
        """Whether the settings contain a destination."""
        return any(key in settings for key in self.destination_keys)


def read_token(settings: Mapping[str, Any], default: str, exporter: str) -> str:
    """Return the token from the variable named by `token_env`, or from `default`; "" if there is none.

    Raises `ConfigError` if the variable named by `token_env` is not set.
    """
    if "token_env" not in settings:
        return os.environ.get(default, "")
    try:
        return os.environ[settings["token_env"]]
    except KeyError:
        # The name is not shown: it may be the token itself, set by mistake.
        problem = "the environment variable of this name is not set"
        raise ConfigError(f"exporters.{exporter}.token_env", problem) from None


@contextmanager
def errors_only(*names: str) -> Iterator[None]:
    """Set these loggers to ERROR: debug lines contain requests, headers and tokens; retries are noise."""
    loggers = [logging.getLogger(name) for name in names]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


Write = Callable[[str], None]

_LINES_PER_WRITE = 1000


@contextmanager
def open_text(destination: str | None) -> Iterator[Write]:
    """Yield a function that writes UTF-8 text; `destination` None is standard output.

    A file is created only after all text was written. Unpaired surrogates become question marks. Raises
    `SourceError` if the destination cannot be written.
    """
    if destination is None:

        def to_output(text: str) -> None:
            sys.stdout.write(text.encode("utf-8", "replace").decode())

        yield to_output
        sys.stdout.flush()
        return
    with TemporaryDirectory(prefix="lineage-merge-") as folder:
        file = Path(folder, "text")
        with file.open("w", encoding="utf-8", errors="replace", newline="\n") as stream:

            def to_file(text: str) -> None:
                stream.write(text)

            yield to_file
        write_file(destination, file)


def write_lines(destination: str | None, lines: Iterable[str]) -> None:
    """Write lines, adding line ends. Raises the errors of `open_text`."""
    with open_text(destination) as write:
        for batch in batched(lines, _LINES_PER_WRITE):
            write("\n".join(batch) + "\n")

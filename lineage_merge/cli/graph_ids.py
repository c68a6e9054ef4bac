"""Ids of vertices for shell completion: read from a graph file, a folder or a server within a time limit.

Ids contain all names. So no server is started for a graph file: each line is a vertex in GraphSON.
"""

import gzip
import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from lineage_merge.graph_format.elements import COLUMN, JOB
from lineage_merge.graph_format.schema import DATASET_LABELS

if TYPE_CHECKING:
    from lineage_merge.load.gremlin.connection import Endpoint

_MAX_IDS = 5_000
_IDS_PER_CHECK = 500

Kind = Literal["dataset", "column", "job"]
Ids = Mapping[Kind, list[str]]

_KINDS: Mapping[str, Kind] = {**dict.fromkeys(DATASET_LABELS, "dataset"), COLUMN: "column", JOB: "job"}


class Location(NamedTuple):
    """Where the graph is: a folder of `build`, a server (settings below `gremlin`), or a graph file."""

    graph_file: Path | None = None
    folder: Path | None = None
    gremlin: Mapping[str, Any] | None = None


def read_ids(location: Location, kinds: Sequence[Kind], typed: str, deadline: float) -> Ids:
    """Return the ids of vertices by kind, or as many as are read until `deadline` (`time.monotonic`).

    `typed`: the start of a name, by which a server selects vertices.
    """
    if location.gremlin is not None:
        return _of_server(location.gremlin, kinds, typed, deadline)
    ids: dict[Kind, list[str]] = {kind: [] for kind in kinds}
    vertices = _of_folder(location.folder) if location.folder else _of_graph_file(location.graph_file)
    for number, (identifier, label) in enumerate(vertices):
        if number % _IDS_PER_CHECK == 0 and time.monotonic() > deadline:
            break
        kind = _KINDS.get(label)
        if kind in ids:
            ids[kind].append(identifier)
    return ids


def _of_folder(folder: Path) -> Iterator[tuple[str, str]]:
    for file in sorted((folder / "nodes").iterdir()):
        if file.name.startswith((".", "_")):
            continue
        if file.suffix == ".parquet":
            from pyarrow import parquet

            columns = parquet.read_table(file, columns=["id", "label"])
            yield from zip(columns["id"].to_pylist(), columns["label"].to_pylist(), strict=True)
        else:
            with gzip.open(file, "rb") if file.suffix == ".gz" else file.open("rb") as lines:
                yield from _of_lines(lines)


def _of_graph_file(file: Path | None) -> Iterator[tuple[str, str]]:
    if file is not None:
        with file.open("rb") as lines:
            yield from _of_lines(lines)


def _of_lines(lines: Iterable[bytes]) -> Iterator[tuple[str, str]]:
    for line in lines:
        vertex = json.loads(line)
        yield vertex["id"], vertex["label"]


def _of_server(gremlin: Mapping[str, Any], kinds: Sequence[Kind], typed: str, deadline: float) -> Ids:
    ids: dict[Kind, list[str]] = {kind: [] for kind in kinds}
    run_until(deadline, lambda: ids.update(_queried(gremlin, kinds, typed)))
    return ids


def run_until(deadline: float, query: Callable[[], None]) -> None:
    """Run a query of a server, and return at the deadline even if it has not ended; errors are ignored."""

    def quiet() -> None:
        with suppress(Exception):  # no names instead of an error
            query()

    # A daemon: a server that does not respond must not delay the shell.
    thread = threading.Thread(target=quiet, daemon=True)
    thread.start()
    thread.join(max(0.0, deadline - time.monotonic()))


def reader_of(gremlin: Mapping[str, Any]) -> "Endpoint":
    """Return the endpoint to read from, without retries, of settings below `gremlin`."""
    from lineage_merge.config import Gremlin
    from lineage_merge.load.gremlin.configured_endpoint import endpoint

    keys = ("endpoint", "reader_endpoint", "iam_auth", "region", "role_arn")
    known = {key: gremlin[key] for key in keys if key in gremlin}
    return endpoint(Gremlin(**known, timeout_seconds=1, retry_seconds=0)).reader


def _queried(gremlin: Mapping[str, Any], kinds: Sequence[Kind], typed: str) -> Ids:
    from gremlin_python.process.graph_traversal import __
    from gremlin_python.process.traversal import TextP

    from lineage_merge.load.gremlin.executor import open_executor

    start = typed.partition("#")[0]
    namespace = "/".join(start.split("/")[:3]).partition("|")[0]

    def traversal(g: Any, kind: Kind) -> Any:
        vertices = g.V().has_label(*((JOB,) if kind == "job" else DATASET_LABELS))
        if start:
            named = [__.has(key, TextP.starting_with(start)) for key in ("name", "qualified_name")]
            vertices = vertices.or_(*named, __.has("namespace", TextP.starting_with(namespace)))
        if kind == "column":
            vertices = vertices.out("has_column").dedup()
        return vertices.limit(_MAX_IDS).id_()

    with open_executor(reader_of(gremlin)) as execute:
        return {kind: execute(partial(traversal, kind=kind)) for kind in kinds}

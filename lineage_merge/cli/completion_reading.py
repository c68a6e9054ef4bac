"""Names for shell completion: read from an embedded graph, a folder or a server in limited time.

Ids contain all names. No server is started for an embedded graph: its snapshot is a folder.
"""

import gzip
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from lineage_merge.graph_format.elements import COLUMN, JOB, name_parts, title_of_id
from lineage_merge.graph_format.schema import DATASET_LABELS
from lineage_merge.infra.walk_index.reading import VERTICES
from lineage_merge.model.elements import column_of, decode, dot_path, encode

if TYPE_CHECKING:
    from lineage_merge.load.gremlin.connection import Endpoint

# A shell shows no more, and reading them would take longer.
MAX_NAMES = 500
_MAX_IDS = 5_000
_VERTICES_PER_CHECK = 500

Kind = Literal["dataset", "column", "job"]
Ids = Mapping[Kind, list[str]]

_KINDS: Mapping[str, Kind] = {**dict.fromkeys(DATASET_LABELS, "dataset"), COLUMN: "column", JOB: "job"}


class Location(NamedTuple):
    """Where the graph is: a folder of `build`, a server (settings below `gremlin`), or an embedded graph."""

    graph_file: Path | None = None
    folder: Path | None = None
    gremlin: Mapping[str, Any] | None = None


class Selected(NamedTuple):
    """The graph and environment ("": all) that the typed options select, to be read until `deadline`."""

    location: Location
    environment: str
    deadline: float

    def ids(self, typed: str, *kinds: Kind) -> Ids:
        """Return the ids of vertices by kind, of the environment."""
        ids = read_ids(self.location, kinds, typed, self.deadline)
        prefix = f"{encode(self.environment)}|" if self.environment else ""
        return {
            kind: [vertex_id for vertex_id in of_kind if vertex_id.startswith(prefix)]
            for kind, of_kind in ids.items()
        }


def _datasets_or_columns(selected: Selected, typed: str) -> list[str]:
    """Return names of datasets, or of columns after ``dataset#``."""
    if "#" not in typed:
        return dataset_names(selected.ids(typed, "dataset")["dataset"], typed)
    ids = selected.ids(typed, "dataset", "column")
    return column_names(ids["dataset"], ids["column"], typed)


# Environments, tags and owners are those of all environments.
COMPLETIONS: Mapping[str, Callable[[Selected, str], list[str]]] = {
    "datasets": _datasets_or_columns,
    "jobs": lambda selected, typed: job_names(selected.ids(typed, "job")["job"], typed),
    "environments": lambda selected, typed: environments(
        selected._replace(environment="").ids("", "job")["job"], typed
    ),
    "dags": lambda selected, typed: dags(selected.ids("", "job")["job"], typed),
    "tags": lambda selected, typed: read_values(selected.location, "tags", typed, selected.deadline),
    "owners": lambda selected, typed: read_values(selected.location, "owners", typed, selected.deadline),
}


def read_ids(location: Location, kinds: Sequence[Kind], typed: str, deadline: float) -> Ids:
    """Return the ids of vertices by kind, or as many as are read until `deadline` (`time.monotonic`).

    `typed`: the start of a name, by which a server selects vertices.
    """
    if location.gremlin is not None:
        traversals = [partial(_ids_of_kind, kind=kind, start=typed.partition("#")[0]) for kind in kinds]
        return dict(zip(kinds, _query(location.gremlin, traversals, deadline), strict=True))
    ids: dict[Kind, list[str]] = {kind: [] for kind in kinds}
    for vertex in _vertices(location, ("id", "label"), deadline):
        kind = _KINDS.get(vertex["label"])
        if kind in ids:
            ids[kind].append(vertex["id"])
    return ids


def read_values(location: Location, key: str, typed: str, deadline: float) -> list[str]:
    """Return values of the property that begin with `typed`, sorted: those read until `deadline`."""
    if location.gremlin is not None:
        (values,) = _query(location.gremlin, [partial(_values_of_key, key=key, start=typed)], deadline)
    else:
        values = [
            value for vertex in _vertices(location, (key,), deadline) for value in vertex.get(key) or ()
        ]
    return sorted({value for value in values if value.startswith(typed)})[:MAX_NAMES]


def _vertices(location: Location, keys: Sequence[str], deadline: float) -> Iterator[Mapping[str, Any]]:
    """Yield vertices with at least these keys until the deadline."""
    from lineage_merge.infra.embedded.graph_store import snapshot_folder

    folder = location.folder or (snapshot_folder(location.graph_file) if location.graph_file else None)
    vertices = _read_folder(folder, keys) if folder else iter(())
    for number, vertex in enumerate(vertices):
        if number % _VERTICES_PER_CHECK == 0 and time.monotonic() > deadline:
            return
        yield vertex


def _read_folder(folder: Path, keys: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    if (folder / VERTICES).exists():
        yield from _read_index(folder, keys)
        return
    for file in sorted((folder / "nodes").iterdir()):
        if file.name.startswith((".", "_")):
            continue
        if file.suffix == ".parquet":
            from pyarrow import parquet

            yield from parquet.read_table(file, columns=list(keys)).to_pylist()
        else:
            with gzip.open(file, "rb") if file.suffix == ".gz" else file.open("rb") as lines:
                yield from map(json.loads, lines)


def _read_index(folder: Path, keys: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    from lineage_merge.infra.walk_index.reading import WalkIndex

    index = WalkIndex.open(folder)
    if index is None:
        return
    known = index.vertices.select([key for key in keys if key in index.vertices.schema.names])
    for start in range(0, known.num_rows, _VERTICES_PER_CHECK):
        yield from known.slice(start, _VERTICES_PER_CHECK).to_pylist()


def _query(
    gremlin: Mapping[str, Any], traversals: Sequence[Callable[[Any], Any]], deadline: float
) -> list[list[str]]:
    """Return the results of traversals; empty ones if they fail, or have not ended at the deadline."""
    results: list[list[str]] = []

    def query() -> None:
        with suppress(Exception):  # no names instead of an error
            from lineage_merge.load.gremlin.executor import open_executor

            with open_executor(_reader(gremlin)) as execute:
                results[:] = [execute(traversal) for traversal in traversals]

    # A daemon: a server that does not respond must not delay the shell.
    thread = threading.Thread(target=query, daemon=True)
    thread.start()
    thread.join(max(0.0, deadline - time.monotonic()))
    return list(results) or [[] for _ in traversals]


def _reader(gremlin: Mapping[str, Any]) -> "Endpoint":
    """Return the endpoint to read from, without retries, of settings below `gremlin`."""
    from lineage_merge.config import Gremlin
    from lineage_merge.load.gremlin.configured_endpoint import endpoint

    keys = ("endpoint", "reader_endpoint", "iam_auth", "region", "role_arn")
    known = {key: gremlin[key] for key in keys if key in gremlin}
    return endpoint(Gremlin(**known, timeout_seconds=1, retry_seconds=0)).reader


def _ids_of_kind(g: Any, kind: Kind, start: str) -> Any:
    from gremlin_python.process.graph_traversal import __
    from gremlin_python.process.traversal import TextP

    namespace = "/".join(start.split("/")[:3]).partition("|")[0]
    vertices = g.V().has_label(*((JOB,) if kind == "job" else DATASET_LABELS))
    if start:
        named = [__.has(key, TextP.starting_with(start)) for key in ("name", "qualified_name")]
        vertices = vertices.or_(*named, __.has("namespace", TextP.starting_with(namespace)))
    if kind == "column":
        vertices = vertices.repeat(__.out("has_column")).emit().dedup()
    return vertices.limit(_MAX_IDS).id_()


def _values_of_key(g: Any, key: str, start: str) -> Any:
    from gremlin_python.process.graph_traversal import __
    from gremlin_python.process.traversal import TextP

    if not start:
        return g.V().has(key).values(key).dedup().limit(MAX_NAMES)
    begins = TextP.starting_with(start)
    return g.V().has(key, begins).values(key).where(__.is_(begins)).dedup().limit(MAX_NAMES)


def dataset_names(ids: Iterable[str], typed: str) -> list[str]:
    """Return a name for each dataset whose names begin with `typed`: the shortest that no other one has."""
    forms = {identifier: tuple(_forms(identifier)) for identifier in dict.fromkeys(ids)}
    counts = Counter(form for of_one in forms.values() for form in dict.fromkeys(of_one))
    names = (
        next((form for form in of_one if counts[form] == 1 and form.startswith(typed)), "")
        for of_one in forms.values()
    )
    return _sort(names)


def column_names(dataset_ids: Iterable[str], column_ids: Iterable[str], typed: str) -> list[str]:
    """Return ``dataset#column`` for `typed`, which contains the dataset's name and the sign ``#``."""
    owner, _, start = typed.rpartition("#")
    owners = {identifier for identifier in dataset_ids if owner in _forms(identifier)}
    if len(owners) != 1:
        return []
    prefix = f"{owners.pop()}|"
    columns = (dot_path(column_of(identifier)) for identifier in column_ids if identifier.startswith(prefix))
    return _sort(f"{owner}#{column}" for column in columns if column.lower().startswith(start.lower()))


def job_names(ids: Iterable[str], typed: str) -> list[str]:
    """Return the names of jobs that begin with `typed`; the id of a job if its name is not unique."""
    names = {identifier: decode(identifier.rpartition("|")[2]) for identifier in dict.fromkeys(ids)}
    counts = Counter(names.values())
    unique = (name if counts[name] == 1 else identifier for identifier, name in names.items())
    return _sort(name for name in unique if name.startswith(typed))


def environments(ids: Iterable[str], typed: str) -> list[str]:
    """Return the environments of vertices that begin with `typed`."""
    return _sort(
        environment
        for identifier in ids
        if (environment := decode(identifier.partition("|")[0])).startswith(typed)
    )


def dags(job_ids: Iterable[str], typed: str) -> list[str]:
    """Return the DAGs of jobs that begin with `typed`."""
    names = (decode(identifier.split("|")[1]) for identifier in job_ids if identifier.count("|") >= 2)
    return _sort(name for name in names if name.startswith(typed))


def _forms(dataset_id: str) -> Iterator[str]:
    """Yield short name, qualified name or URI, and ``namespace|name``."""
    _, namespace, name = name_parts(dataset_id)
    title = title_of_id(dataset_id)
    yield title.rstrip("/").rpartition("/" if "/" in title else ".")[2]
    yield title
    if title == name:
        yield f"{namespace}|{name}"


def _sort(names: Iterable[str]) -> list[str]:
    return sorted({name for name in names if name})[:MAX_NAMES]

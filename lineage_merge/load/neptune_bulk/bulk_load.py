"""Writes most differences through Neptune's bulk loader: CSV files in S3, loaded by the cluster.

How the loader treats existing elements (AWS's "Loader Command" and "Gremlin load data format"): elements are
identified by id; values of single cardinality are replaced, because `updateSingleCardinalityProperties` is
set (otherwise they would be errors); values of sets are added; a new label is added to a vertex's labels, so
a row must have the stored label; an edge with a missing end, or with the id of an edge with other ends, is an
error. The loader deletes nothing and has no conditional writes.

These are therefore written over Gremlin:

* `job` vertices: an upsert can preserve the values of a later run;
* values that loaders may read differently (`neptune_csv.is_unambiguous`);
* vertices that are the target of a move, because moves precede the load, and vertices whose label was
  replaced;
* labels, removals of properties, and deletions.

A load continues in Neptune if this process is killed. The next load waits for its end before it compares.
"""

import time
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

from gremlin_python.process.graph_traversal import GraphTraversal, GraphTraversalSource
from gremlin_python.process.traversal import T

from lineage_merge import config
from lineage_merge.graph_format.neptune_csv import (
    EDGE_FIELDS,
    EDGES,
    VERTEX_FIELDS,
    VERTICES,
    is_unambiguous,
    write_rows,
)
from lineage_merge.graph_format.schema import EDGE_KEYS, NODE_KEYS, RUN_LABELS, Row
from lineage_merge.infra.engine.rows import Rows, Shared
from lineage_merge.infra.progress import ProgressCallback
from lineage_merge.infra.storage import delete_folder, list_files
from lineage_merge.load.diff import Change, get_first_seen
from lineage_merge.load.element_rows import row_to_write
from lineage_merge.load.gremlin.configured_endpoint import region_of
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.gremlin.executor import open_executor, split_by_request
from lineage_merge.load.gremlin.running_load import LoadTarget
from lineage_merge.load.gremlin.signing import region_of_chain
from lineage_merge.load.neptune_bulk import loader_jobs
from lineage_merge.load.neptune_bulk.api import Loader
from lineage_merge.load.neptune_bulk.loader_jobs import LoadFolder
from lineage_merge.model.errors import BulkLoadFailed, ConfigError, GraphRejected, SourceError, SourceMissing
from lineage_merge.model.times import is_later

_SCHEMES = {"ws": ("http", 80), "wss": ("https", 443)}


@dataclass(frozen=True, slots=True)
class BulkLoad:
    """Settings of bulk loads: used for more than `min_changes` elements, with files below `s3`."""

    s3: str
    loader: Loader
    min_changes: int = 0
    keep_files: bool = False

    def choose(self, elements: int) -> tuple[Literal["gremlin", "bulk"], str]:
        """Return how so many elements are written, and why."""
        if not self.min_changes:
            return ("bulk", "gremlin.mode") if elements else ("gremlin", "no changes")
        if elements > self.min_changes:
            return "bulk", f"more than {self.min_changes:,} changes"
        return "gremlin", f"at most {self.min_changes:,} changes"

    def folder_of(self, environment: str, dag_name: str) -> str:
        """Return the folder of all files of a DAG."""
        return f"{self.s3.rstrip('/')}/{environment}/{dag_name}/"

    def await_earlier_loads(self, environment: str, dag_name: str, on_progress: ProgressCallback) -> None:
        """Wait for earlier loads of the DAG whose process was killed.

        Such loads leave their files; without files, the loader is not queried.
        """
        folder = self.folder_of(environment, dag_name)
        try:
            list_files(folder)
        except SourceMissing:
            return
        except SourceError as error:
            raise BulkLoadFailed(error.message) from None
        loader_jobs.await_earlier_loads(self.loader, folder, on_progress)


def find_configured(gremlin: config.Gremlin, endpoint: Endpoint) -> BulkLoad | None:
    """Return the bulk load settings of a configuration; None if everything is written over Gremlin.

    Raises ConfigError if the region is unknown.
    """
    settings = gremlin.bulk
    if gremlin.mode == "gremlin" or settings is None:
        return None
    url = settings.endpoint or _loader_url(endpoint)
    hosts = [urlsplit(address).hostname or "" for address in (url, endpoint.url)]
    signed_for = endpoint.iam.region if endpoint.iam else ""
    region = next(filter(None, [signed_for, gremlin.region, *map(region_of, hosts)]), "") or region_of_chain()
    if not region:
        raise ConfigError(
            "gremlin.region", "is required for the bulk loader: not in the endpoint or the AWS configuration"
        )
    loader = Loader(
        url, region, settings.role_arn, endpoint.iam, settings.parallelism, settings.timeout_seconds
    )
    min_changes = 0 if gremlin.mode == "bulk" else settings.min_changes
    # The loader does not accept s3a URLs.
    return BulkLoad(f"s3://{settings.s3.partition('://')[2]}", loader, min_changes, settings.keep_files)


def _loader_url(endpoint: Endpoint) -> str:
    parts = urlsplit(endpoint.url)
    scheme, port = _SCHEMES.get(parts.scheme, ("https", 443))
    host = parts.netloc.rpartition("@")[2]
    return f"{scheme}://{host}" if parts.port else f"{scheme}://{host}:{port}"


@dataclass(frozen=True, slots=True)
class Parts:
    """Differences by how they are written: `first` and `last` over Gremlin, the others as CSV rows."""

    first: Rows[Row]
    vertices: Rows[tuple[Any, ...]]
    edges: Rows[tuple[Any, ...]]
    last: Rows[Row]


def parts(nodes: Rows[Change], edges: Rows[Change], canonical: frozenset[str], now: int) -> Parts:
    """Divide the elements to write.

    `canonical`: ids of vertices that duplicates are moved to. `now`: `first_seen` of new elements.
    """
    rows = nodes.map(partial(_vertex_row, nodes.engine.share(canonical), now))
    of_edges = edges.map(
        lambda edge: row_to_write(edge.row, EDGE_KEYS, edge.to_write, get_first_seen(edge, now))
    )
    return Parts(
        first=rows.filter(itemgetter(0)).map(itemgetter(1)),
        vertices=rows.filter(lambda row: not row[0]).map(lambda row: _csv_values(row[1], VERTEX_FIELDS)),
        edges=of_edges.map(lambda row: _csv_values(row, EDGE_FIELDS)).filter(is_unambiguous),
        last=of_edges.filter(lambda row: not is_unambiguous(_csv_values(row, EDGE_FIELDS))),
    )


def _vertex_row(canonical: Shared[frozenset[str]], now: int, node: Change) -> tuple[bool, Row]:
    """Return whether a vertex is written over Gremlin, and what to write of it."""
    row = node.row
    if node.kind == "changed" and node.old_label:
        # The loader adds the label of a row to the labels of the vertex.
        row = {**row, "label": node.old_label}
    # Another merge may have changed the label since the comparison.
    by_request = row.get("id") in canonical.value or node.kind == "label" or row.get("label") in RUN_LABELS
    to_write = row_to_write(row, NODE_KEYS, node.to_write, get_first_seen(node, now))
    return by_request or not is_unambiguous(_csv_values(to_write, VERTEX_FIELDS)), to_write


def _csv_values(row: Row, fields: Iterable[str]) -> tuple[Any, ...]:
    return tuple(map(row.get, fields))


def load(
    bulk: BulkLoad,
    target: LoadTarget,
    nodes: Rows[Change],
    parts: Parts,
    counts: tuple[int, int],
    on_progress: ProgressCallback,
) -> None:
    """Write the files and load them.

    `nodes`: all compared nodes. `counts`: approximate numbers of nodes and edges to write.

    Raises BulkLoadFailed (the files stay in the folder that the message names), GraphRejected if another
    comparison may help, and GraphUnreachable.
    """
    started = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
    folder = f"{bulk.folder_of(target.environment, target.dag_name)}{started}-{uuid.uuid4().hex[:8]}"
    on_progress("writing files for the bulk loader")
    try:
        vertices = write_rows(folder, VERTICES, parts.vertices, counts[0])
        edges = write_rows(folder, EDGES, parts.edges, counts[1])
    except SourceError as error:
        raise BulkLoadFailed(error.message) from None
    both = ((VERTICES, vertices), (EDGES, edges))
    sources = [LoadFolder(kind, f"{folder}/{kind}") for kind, written in both if written.files]
    if not sources:
        return
    _reject_if_outdated(nodes, target.endpoint)
    try:
        loader_jobs.load(bulk.loader, sources, on_progress)
    except BulkLoadFailed as error:
        raise BulkLoadFailed(f"{error.message}. The files are in {folder}/") from None
    if bulk.keep_files:
        return
    try:
        delete_folder(folder)
    except SourceError as error:
        on_progress(f"files of the bulk load not deleted: {error.message}")


def _reject_if_outdated(nodes: Rows[Change], endpoint: Endpoint) -> None:
    """Raise GraphRejected if another merge has written a later run of a job since the comparison.

    An upsert would preserve the later values; the loader would overwrite them.
    """
    runs = nodes.flat_map(_run_of_job).repartition(1)
    outdated = runs.map_partitions(partial(_list_outdated, endpoint)).collect()
    if outdated:
        raise GraphRejected(f"another merge wrote a later run while this one was writing: {outdated[0]}")


class _JobRun(NamedTuple):
    id: str
    name: str
    at: int


def _run_of_job(node: Change) -> Iterable[_JobRun]:
    row = node.row
    if row.get("label") not in RUN_LABELS or node.kind in ("stored_is_newer", "unmatched"):
        return ()
    name = "described_at" if row.get("described_at") is not None else "last_run_at"
    return () if row.get(name) is None else (_JobRun(row["id"], name, row[name]),)


def _list_outdated(endpoint: Endpoint, rows: Iterable[_JobRun]) -> Iterator[str]:
    """Yield the first job for which the graph has a later run."""
    with open_executor(endpoint) as execute:
        for batch in split_by_request(rows):
            for name in ("described_at", "last_run_at"):
                known = {row.id: row.at for row in batch if row.name == name}
                for stored in execute(partial(last_runs, ids=list(known), name=name)) if known else ():
                    if is_later(stored["at"], known[stored["id"]]):
                        yield stored["id"]
                        return


def last_runs(g: GraphTraversalSource, ids: list[str], name: str = "last_run_at") -> GraphTraversal:
    """Return the stored times of the jobs' last runs, or of another property."""
    return g.V(*ids).has(name).project("id", "at").by(T.id).by(name)

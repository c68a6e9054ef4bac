"""The larger part of what differs, through Neptune's bulk loader: CSV files in S3, loaded by the cluster.

What the loader does with what is there already (AWS's "Loader Command" and "Gremlin load data
format"): a vertex or edge of the same id is the same element; a value of single cardinality is
replaced, because `updateSingleCardinalityProperties` is asked for (otherwise it would be an error); a
value of a set is added; a label that a vertex does not have is added too, so a row must carry the
label that the graph has; an edge whose end is missing is an error, as is the id of an edge with other
ends. It takes nothing away, and it cannot look before it writes.

So these go over Gremlin as ever:

* `job` vertices: a request can refuse to replace the facts of a later run;
* values of which not every loader is sure what they are (`neptune_csv.is_certain`);
* vertices that others are about to be moved to, because the move comes before the load, and those
  whose label was replaced;
* labels, properties to be taken away, and all that is retired.

A load that is killed goes on in Neptune. Whoever comes after it waits for its end before comparing.
"""

import time
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from gremlin_python.process.graph_traversal import GraphTraversal, GraphTraversalSource
from gremlin_python.process.traversal import T

from lineage_merge import config
from lineage_merge.graph_format.neptune_csv import EDGE_FIELDS, VERTEX_FIELDS, is_certain
from lineage_merge.graph_format.neptune_files import write_rows
from lineage_merge.graph_format.neptune_parts import EDGES, VERTICES
from lineage_merge.graph_format.schema import EDGE_KEYS, NODE_KEYS, Row
from lineage_merge.infra.engine.rows import Rows, Shared
from lineage_merge.infra.progress import ProgressCallback
from lineage_merge.infra.storage import delete_folder, list_files
from lineage_merge.load.diff import Compared
from lineage_merge.load.gremlin.configured_endpoint import region_of
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.gremlin.executor import by_request, open_executor
from lineage_merge.load.gremlin.signing import region_of_chain
from lineage_merge.load.neptune_bulk import loader_jobs
from lineage_merge.load.neptune_bulk.api import Loader
from lineage_merge.load.neptune_bulk.loader_jobs import Source
from lineage_merge.load.property_values import values_to_write
from lineage_merge.model.errors import (
    BulkLoadFailed,
    ConfigError,
    GraphRejected,
    SourceError,
    SourceMissing,
)

_SCHEMES = {"ws": ("http", 80), "wss": ("https", 443)}


@dataclass(frozen=True, slots=True)
class BulkLoad:
    """Loads in bulk where more than `above` elements differ; the files are written below `s3`."""

    s3: str
    loader: Loader
    above: int = 0
    keep_files: bool = False

    def takes(self, elements: int) -> bool:
        """Whether so many are loaded in bulk."""
        return elements > self.above

    def place(self, environment: str, dag_name: str) -> str:
        """Where all files of a DAG are written."""
        return f"{self.s3.rstrip('/')}/{environment}/{dag_name}/"


def configured(gremlin: config.Gremlin, endpoint: Endpoint) -> BulkLoad | None:
    """The bulk loading of a configuration; None where everything goes over Gremlin.

    Raises ConfigError where the region is not known.
    """
    settings = gremlin.bulk
    if gremlin.mode == "gremlin" or settings is None or gremlin.endpoint == config.EMBEDDED:
        return None
    url = settings.endpoint or _loader_url(endpoint)
    hosts = [urlsplit(each).hostname or "" for each in (url, endpoint.url)]
    signed_for = endpoint.iam.region if endpoint.iam else ""
    region = next(filter(None, [signed_for, gremlin.region, *map(region_of, hosts)]), "") or region_of_chain()
    if not region:
        raise ConfigError(
            "gremlin.region", "the bulk loader needs it, and neither the endpoint nor AWS says it"
        )
    loader = Loader(
        url,
        region,
        settings.role_arn,
        endpoint.iam,
        settings.parallelism,
        settings.timeout_seconds,
    )
    above = 0 if gremlin.mode == "bulk" else settings.min_changes
    # The loader knows no s3a.
    return BulkLoad(f"s3://{settings.s3.partition('://')[2]}", loader, above, settings.keep_files)


def _loader_url(endpoint: Endpoint) -> str:
    parts = urlsplit(endpoint.url)
    scheme, port = _SCHEMES.get(parts.scheme, ("https", 443))
    host = parts.netloc.rpartition("@")[2]
    return f"{scheme}://{host}" if parts.port else f"{scheme}://{host}:{port}"


def await_earlier(bulk: BulkLoad, environment: str, dag_name: str, on_progress: ProgressCallback) -> None:
    """Wait for loads of the DAG that somebody started and did not see the end of.

    They leave their files; where there are none, nobody is asked.
    """
    place = bulk.place(environment, dag_name)
    try:
        list_files(place)
    except SourceMissing:
        return
    except SourceError as error:
        raise BulkLoadFailed(error.message) from None
    loader_jobs.await_earlier(bulk.loader, place, on_progress)


@dataclass(frozen=True, slots=True)
class Parts:
    """What differs, by the way it takes: `first` and `last` over Gremlin, the others as rows of CSV."""

    first: Rows[Row]
    vertices: Rows[tuple[Any, ...]]
    edges: Rows[tuple[Any, ...]]
    last: Rows[Row]


def parts(nodes: Rows[Compared], edges: Rows[Compared], canonical: frozenset[str]) -> Parts:
    """Divide what is to be written; `canonical` are the vertices that others are moved to."""
    rows = nodes.map(partial(_vertex_values, nodes.engine.share(canonical)))
    of_edges = edges.map(_edge_values)
    return Parts(
        first=rows.filter(_goes_first).map(itemgetter(1)),
        vertices=rows.filter(_goes_later).map(_vertex),
        edges=of_edges.map(_edge).filter(is_certain),
        last=of_edges.filter(_goes_last),
    )


class _Vertex(NamedTuple):
    by_request: bool
    values: Row


def _vertex_values(canonical: Shared[frozenset[str]], node: Compared) -> _Vertex:
    row = node.row
    if node.change == "changed" and node.old_label:
        # The loader adds the label of a row to those that a vertex has.
        row = {**row, "label": node.old_label}
    # Of one that is to have another label, another merge may have decided otherwise meanwhile.
    by_request = row.get("id") in canonical.value or node.change == "label" or row.get("label") == "job"
    return _Vertex(by_request, values_to_write(row, NODE_KEYS, node.to_write))


def _edge_values(edge: Compared) -> Row:
    return values_to_write(edge.row, EDGE_KEYS, edge.to_write)


def _goes_first(vertex: _Vertex) -> bool:
    return vertex.by_request or not is_certain(_vertex(vertex))


def _goes_later(vertex: _Vertex) -> bool:
    return not _goes_first(vertex)


def _goes_last(row: Row) -> bool:
    return not is_certain(_edge(row))


def _vertex(vertex: _Vertex) -> tuple[Any, ...]:
    """As `neptune_csv` takes it."""
    return tuple(map(vertex.values.get, VERTEX_FIELDS))


def _edge(row: Row) -> tuple[Any, ...]:
    return tuple(map(row.get, EDGE_FIELDS))


def load(
    bulk: BulkLoad,
    endpoint: Endpoint,
    environment: str,
    dag_name: str,
    nodes: Rows[Compared],
    chosen: Parts,
    counts: tuple[int, int],
    on_progress: ProgressCallback,
) -> None:
    """Write the files and load them.

    `nodes` are all that were compared, `counts` how many nodes and edges differ, about.

    Raises BulkLoadFailed (the files stay, the message says where), GraphRejected where comparing
    again may help, and GraphUnreachable.
    """
    started = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
    folder = f"{bulk.place(environment, dag_name)}{started}-{uuid.uuid4().hex[:8]}"
    on_progress("writing files for the bulk loader")
    try:
        vertices = write_rows(folder, VERTICES, chosen.vertices, counts[0])
        edges = write_rows(folder, EDGES, chosen.edges, counts[1])
    except SourceError as error:
        raise BulkLoadFailed(error.message) from None
    sources = [
        Source(kind, f"{folder}/{kind}")
        for kind, written in ((VERTICES, vertices), (EDGES, edges))
        if written.files
    ]
    if not sources:
        return
    _refuse_if_overtaken(nodes, endpoint)
    try:
        loader_jobs.load(bulk.loader, sources, on_progress)
    except BulkLoadFailed as error:
        raise BulkLoadFailed(f"{error.message}. The files are in {folder}/") from None
    if bulk.keep_files:
        return
    try:
        delete_folder(folder)
    except SourceError as error:
        on_progress(f"the files of the bulk load stay: {error.message}")


def _refuse_if_overtaken(nodes: Rows[Compared], endpoint: Endpoint) -> None:
    """Stop where another merge brought a later run of a job since this one compared.

    A request could leave that job's facts alone; the loader would put older ones in their place.
    """
    ran = nodes.flat_map(_run_of_job).repartition(1)
    later = ran.map_partitions(partial(_overtaken, endpoint)).collect()
    if later:
        raise GraphRejected(f"{later[0]}: another merge brought a later run while this one was writing")


class _Ran(NamedTuple):
    id: str
    name: str
    at: int


def _run_of_job(node: Compared) -> Iterable[_Ran]:
    row = node.row
    if row.get("label") != "job" or node.change in ("newer", "unmatched"):
        return ()
    name = "described_at" if row.get("described_at") is not None else "last_run_at"
    return () if row.get(name) is None else (_Ran(row["id"], name, row[name]),)


def _overtaken(endpoint: Endpoint, rows: Iterable[_Ran]) -> Iterator[str]:
    """Yield the first job of which the graph has a later run."""
    with open_executor(endpoint) as ask:
        for some in by_request(rows):
            for name in ("described_at", "last_run_at"):
                known = {row.id: row.at for row in some if row.name == name}
                for found in ask(partial(last_runs, ids=list(known), name=name)) if known else ():
                    if found["at"] > known[found["id"]]:
                        yield found["id"]
                        return


def last_runs(g: GraphTraversalSource, ids: list[str], name: str = "last_run_at") -> GraphTraversal:
    """When jobs ran last, or were described, as the graph has it."""
    return g.V(*ids).has(name).project("id", "at").by(T.id).by(name)

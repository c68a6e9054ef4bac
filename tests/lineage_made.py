"""Lineage made by hand, for questions: as rows, as a folder, in a server."""

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import pytest
from gremlin_python.process.graph_traversal import GraphTraversalSource

from lineage_merge.graph_format.elements import edge_of_row, vertex_of_row
from lineage_merge.graph_format.folder_index import write_folder_index
from lineage_merge.load.gremlin.connection import Endpoint, open_client
from lineage_merge.load.gremlin.upserts import bytecode, edge_upsert, vertex_upserts
from lineage_merge.model.elements import (
    FIELD,
    DatasetName,
    JobKey,
    column_id,
    dataset_id,
    edge_id,
    job_id,
    query_log_id,
)
from lineage_merge.questions.backends.in_memory import InMemory
from lineage_merge.questions.backends.opening import open_graph
from lineage_merge.questions.graph import LineageGraph
from tests.graph_folder import write_folder

Row = dict[str, Any]
NAMESPACE = "redshift://wh:5439"
# For fixtures: the lineage in memory, in a folder, in a folder with an index, in a server.
BACKENDS = ["memory", "folder", "index", pytest.param("server", marks=pytest.mark.jvm)]


def at(name: str, environment: str = "dev") -> str:
    """The id of a dataset; a name with ``|`` has its namespace."""
    namespace, bar, rest = name.partition("|")
    return dataset_id(environment, DatasetName(namespace, rest) if bar else DatasetName(NAMESPACE, name))


def col(dataset: str, column: str, environment: str = "dev") -> str:
    """The id of a column."""
    return column_id(at(dataset, environment), column)


@dataclass
class MadeLineage:
    """Rows of nodes and edges, put together flow by flow."""

    nodes: dict[str, Row] = field(default_factory=dict)
    edges: dict[str, Row] = field(default_factory=dict)

    def dataset(
        self, name: str, dag: str, environment: str = "dev", label: str = "table", **values: Any
    ) -> str:
        """A dataset that a DAG knows."""
        namespace, bar, whole = name.partition("|")
        held = {
            "label": label,
            "environment": environment,
            "name": (whole or name).rpartition(".")[2].rpartition("/")[2],
            "namespace": namespace if bar else NAMESPACE,
            "qualified_name": whole or name,
        }
        return self._node(at(name, environment), dag, held | values)

    def flow(
        self,
        text: str,
        job: str = "load",
        dag: str = "daily",
        environment: str = "dev",
        job_type: str = "spark",
        **values: Any,
    ) -> Self:
        """``a > b > c``: each feeds the next, by a job that writes it. ``d!`` is an exposure."""
        names = [each.strip() for each in text.split(">")]
        key = JobKey(job_type, job)
        for source, target in itertools.pairwise(names):
            start = self.dataset(source, dag, environment)
            if target.endswith("!"):
                end = self.dataset(target, dag, environment, label="exposure")
            else:
                end = self.dataset(target, dag, environment)
                held = {"label": "job", "environment": environment, "name": job, "job_type": job_type}
                self._edge(
                    "writes", self._node(job_id(environment, dag, key), dag, held), end, key, dag, environment
                )
            self._edge("feeds", start, end, key, dag, environment, **values)
        return self

    def columns(
        self,
        text: str,
        job: str = "load",
        dag: str = "daily",
        environment: str = "dev",
        job_type: str = "spark",
        **values: Any,
    ) -> Self:
        """``a.x > b.y``: the column x of a feeds y of b, ``a.x/f`` a field. ``a.x > b`` influences rows."""
        source, _, target = (each.strip() for each in text.partition(">"))
        key = JobKey(job_type, job)
        start = self._column(source, dag, environment)
        if "." in target:
            end = self._column(target, dag, environment)
            self._edge("feeds_column", start, end, key, dag, environment, **values)
        else:
            self._edge("influences", start, at(target, environment), key, dag, environment, **values)
        return self

    def read(self, element: str, count: int, last_read_at: int, *readers: str) -> Self:
        """Statements read a dataset or column that is there, the id of which is given."""
        held = {"read_count": count, "last_read_at": last_read_at} | (
            {"readers": [*readers]} if readers else {}
        )
        self.nodes[element].update(held)
        return self

    def observed(self, start: int, end: int, namespace: str = NAMESPACE, environment: str = "dev") -> Self:
        """The statements of a warehouse were merged from a time to another."""
        held = {"label": "query_log", "environment": environment, "name": namespace, "namespace": namespace}
        times = {"observed_from": start, "observed_until": end}
        self._node(query_log_id(environment, namespace), "warehouse", held | times)
        return self

    def folder(self, path: Path) -> str:
        """The lineage as `build --format jsonl` leaves it."""
        return write_folder(path, self.nodes.values(), self.edges.values())

    def load(self, url: str) -> None:
        """Write it into a server, with the loader's requests, one after another: TinkerGraph knows no two."""
        rows = [row | {"dag_name": dag} for row in self.nodes.values() for dag in row["dag_name"]]
        vertices = [each for row in rows for each in vertex_upserts(row)]
        edges = [edge_upsert(row) for row in self.edges.values()]
        with open_client(Endpoint(url), 1) as client:
            for batch in (*_batches(vertices), *_batches(edges)):
                client.submit(bytecode(batch)).all().result()

    def graph(self) -> InMemory:
        """The lineage in memory."""
        return InMemory(map(vertex_of_row, self.nodes.values()), map(edge_of_row, self.edges.values()))

    def opened(self, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LineageGraph]:
        """The lineage as a graph of the kind in `BACKENDS` that a fixture's parameter names."""
        if request.param == "memory":
            yield self.graph()
            return
        place: Path | Endpoint = tmp_path / "graph"
        if request.param == "server":
            source: GraphTraversalSource = request.getfixturevalue("gremlin")
            assert source.V().count().next() == 0
            url = request.getfixturevalue("gremlin_url")
            self.load(url)
            place = Endpoint(url)
        else:
            folder = self.folder(tmp_path / "graph")
            if request.param == "index":
                write_folder_index(folder, at_least=0)
        with open_graph(place) as graph:
            yield graph

    def _column(self, text: str, dag: str, environment: str) -> str:
        owner, _, name = text.rpartition(".")
        above, names = at(owner, environment), name.split("/")
        for number, last in enumerate(names, 1):
            held = {"label": "column", "environment": environment, "name": last}
            if number > 1:
                held["qualified_name"] = ".".join(names[:number])
            column = self._node(column_id(at(owner, environment), FIELD.join(names[:number])), dag, held)
            self._edge("has_column", above, column, None, dag, environment)
            above = column
        return above

    def _node(self, identifier: str, dag: str, held: Row) -> str:
        known = self.nodes.setdefault(identifier, {"id": identifier, "dag_name": []})
        if dag not in known["dag_name"]:
            known["dag_name"].append(dag)
        known.update({key: value for key, value in held.items() if key != "label" or "label" not in known})
        return identifier

    def _edge(
        self, label: str, start: str, end: str, key: JobKey | None, dag: str, environment: str, **values: Any
    ) -> None:
        identifier = edge_id(environment, dag, key, start, label, end)
        of_job = {"job_type": key.job_type, "job_name": key.name} if key else {}
        ends = {"id": identifier, "label": label, "from": start, "to": end}
        self.edges[identifier] = {**ends, "environment": environment, "dag_name": dag, **of_job, **values}


def _batches(upserts: Iterable[Any]) -> Iterable[list[Any]]:
    everything = list(upserts)
    return (everything[start : start + 40] for start in range(0, len(everything), 40))


def pipeline() -> MadeLineage:
    """Two DAGs, two environments, a diamond, two cycles, exposures, columns.

    ::

        s3 raw/in -> a -> b -> d -> e -> report!        (daily; a -> c -> d too: a diamond)
        e -> x -> y -> x, y -> z                        (nightly; x and y circle)
        log -> log                                      (daily; reads and writes itself)
        prod: s3 raw/in -> a -> b -> q                  (daily)
    """
    made = MadeLineage()
    made.dataset("s3://raw|in", "daily", label="file")
    made.flow("s3://raw|in > a > b > d > e", write_mode="overwrite").flow("a > c > d", job="side")
    made.flow("e > report!", job="exposure.report").flow("log > log", job="log")
    made.flow("e > x > y > z", job="night", dag="nightly").flow("y > x", job="back", dag="nightly")
    made.columns("s3://raw|in.id > a.id", transformation="IDENTITY")
    made.columns("a.id > b.key", transformation="TRANSFORMATION", expression="cast(id as string)")
    made.columns("a.day > c").columns("a.id > c.id").columns("b.key > d.key").columns("c.id > d.key")
    made.columns("d.key > e.Total", transformation="AGGREGATION", expression="count(key)")
    made.columns("d.flag > e", transformation="FILTER")
    made.columns("e.Total > x.n", job="night", dag="nightly")
    made.dataset("s3://raw|in", "daily", "prod", label="file")
    made.flow("s3://raw|in > a > b > q", environment="prod")
    made.columns("a.id > b.key", environment="prod").columns("a.extra > b.key", environment="prod")
    return made

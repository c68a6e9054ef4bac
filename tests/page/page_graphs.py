"""Graphs for the page: small ones by hand, a large generated one."""

from collections.abc import Iterator
from typing import Any

from lineage_merge.graph_format.elements import Edge, Subgraph, Vertex, subgraph
from lineage_merge.model.elements import DatasetName, column_id, dataset_id, field_path

WAREHOUSE = "redshift://wh:5439"
LAYERS = ("raw", "staging", "lake", "mart")


class PageGraph:
    """Builder of a graph."""

    def __init__(self, environment: str = "dev", dag: str = "daily") -> None:
        self.environment, self.dag = environment, dag
        self._vertices: dict[str, Vertex] = {}
        self._edges: list[Edge] = []

    def dataset(
        self,
        namespace: str,
        path: str,
        columns: tuple[str, ...] = (),
        label: str = "table",
        dag: str = "",
        environment: str = "",
        **properties: Any,
    ) -> str:
        """Add a dataset and return its id."""
        environment = environment or self.environment
        where = {"environment": environment, "dag_name": (dag or self.dag,)}
        identifier = dataset_id(environment, DatasetName(namespace, path))
        short = path.rpartition("/")[2] if "/" in path else path.rpartition(".")[2]
        properties = {"name": short, "namespace": namespace, "qualified_name": path} | properties
        self._vertices[identifier] = Vertex(identifier, label, {**where, **properties})
        for position, column in enumerate(columns):
            of_column = column_id(identifier, column)
            known = {**where, "name": column, "position": position, "data_type": "int"}
            self._vertices[of_column] = Vertex(of_column, "column", known)
            self._edge("has_column", identifier, of_column)
        return identifier

    def field(self, dataset: str, *names: str) -> None:
        """Add a field of a structure, of which the column exists."""
        path = column_id(dataset, field_path(*names))
        where = {key: self._vertices[dataset].properties[key] for key in ("environment", "dag_name")}
        known = {**where, "name": names[-1], "qualified_name": ".".join(names), "data_type": "string"}
        self._vertices[path] = Vertex(path, "column", known)
        self._edge("has_column", column_id(dataset, field_path(*names[:-1])), path)

    def feeds(self, source: str, target: str, job: str = "load", dag: str = "", **properties: Any) -> None:
        """Add a `feeds` edge."""
        self._edge("feeds", source, target, job_name=job, job_type="spark", dag=dag, **properties)

    def column_feeds(
        self,
        source: tuple[str, str],
        target: tuple[str, str],
        how: str = "IDENTITY",
        expression: str = "",
        **more: str,
    ) -> None:
        """Add a `feeds_column` edge between (dataset id, column)."""
        more |= {"expression": expression} if expression else {}
        ends = column_id(*source), column_id(*target)
        self._edge("feeds_column", *ends, job_name="load", job_type="spark", transformation=how, **more)

    def influences(self, column: tuple[str, str], target: str, how: str = "FILTER") -> None:
        """Add an `influences` edge."""
        self._edge(
            "influences", column_id(*column), target, job_name="load", job_type="spark", transformation=how
        )

    def check(self, name: str, *checked: str, dag: str = "", **properties: Any) -> None:
        """Add an assertion that checks these datasets or columns, by id."""
        where = {"environment": self.environment, "dag_name": (dag or self.dag,)}
        identifier = f"{self.environment}|{dag or self.dag}|assertion|dbt|{name}"
        known = {"name": name, "job_type": "dbt", "job_name": f"test.shop.{name}", "severity": "error"}
        self._vertices[identifier] = Vertex(identifier, "assertion", {**where, **known, **properties})
        for each in checked:
            self._edge("checks", identifier, each, dag=dag, job_name=f"test.shop.{name}", job_type="dbt")

    def job(self, name: str, *targets: str, dag: str = "", **properties: Any) -> None:
        """Add a Spark job that writes datasets, by id, with the properties of its newest run."""
        identifier = f"{self.environment}|{dag or self.dag}|spark|{name}"
        where = {"environment": self.environment, "dag_name": (dag or self.dag,)}
        known = {"name": name, "job_type": "spark"}
        self._vertices[identifier] = Vertex(identifier, "job", {**where, **known, **properties})
        for each in targets:
            self._edge("writes", identifier, each, dag=dag, job_name=name, job_type="spark")

    def _edge(self, label: str, source: str, target: str, dag: str = "", **properties: Any) -> None:
        where = {"environment": self.environment, "dag_name": dag or self.dag}
        identifier = f"e{len(self._edges)}"
        self._edges.append(Edge(identifier, label, source, target, {**where, **properties}))

    def graph(self) -> Subgraph:
        """Return the graph."""
        return subgraph(self._vertices.values(), self._edges)


def large(datasets: int = 3000) -> Subgraph:
    """Return four layers of many schemas, eight columns per dataset, and a calendar that feeds 400 tables."""
    made = PageGraph()
    columns = tuple(f"c{number}" for number in range(8))
    ids: dict[tuple[int, int], str] = {}
    width = datasets // len(LAYERS)
    for layer, place in _grid(width):
        schema = f"{LAYERS[layer]}_{place % 25:02d}"
        dag = f"dag_{place % 12:02d}"
        name = f"{LAYERS[layer]}_{place:04d}"
        if layer == 0:
            ids[layer, place] = made.dataset("s3://raw", f"{schema}/{name}", columns, "file", dag)
        else:
            ids[layer, place] = made.dataset(WAREHOUSE, f"dev.{schema}.{name}", columns, "table", dag)
    for layer, place in _grid(width):
        if layer == 0:
            continue
        dag = f"dag_{place % 12:02d}"
        for step in range(3):
            source = ids[layer - 1, (place * (step + 1) + 7 * step) % width]
            made.feeds(source, ids[layer, place], f"job_{place % 100:03d}", dag)
            for column in columns[step::3]:
                made.column_feeds((source, column), (ids[layer, place], column))
    calendar = made.dataset(WAREHOUSE, "dev.shared.calendar", ("day",))
    for place in range(min(400, width)):
        made.feeds(calendar, ids[1, place], "calendar")
    return made.graph()


def _grid(width: int) -> Iterator[tuple[int, int]]:
    return ((layer, place) for layer in range(len(LAYERS)) for place in range(width))

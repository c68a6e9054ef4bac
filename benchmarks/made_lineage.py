"""Made-up tables, each feeding two others, with the properties that real ones have."""

from dataclasses import dataclass
from typing import Any

from gremlin_python.statics import long

from lineage_merge.graph_format.schema import FIRST_SEEN
from lineage_merge.infra.engine.rows import Engine, Rows
from lineage_merge.model.elements import JobKey, edge_id, job_id

Row = dict[str, Any]
DAG = "benchmark"
CREATED_AT = long(1_750_000_000_000)
_OWN = {"environment": "dev", "dag_name": DAG}


@dataclass(frozen=True)
class Lineage:
    """Rows of nodes and edges."""

    nodes: list[Row]
    edges: list[Row]

    def __len__(self) -> int:
        return len(self.nodes) + len(self.edges)


def lineage(vertices: int) -> Lineage:
    """Return so many tables, and twice as many edges, of 200 jobs; edge ids are not hashes."""
    nodes = []
    for i in range(vertices):
        schema, table = f"schema_{i % 20}", f"table_{i:06d}"
        nodes.append(
            {
                "id": f"dev|redshift://warehouse.eu-west-1:5439|dev.{schema}.{table}",
                "label": "table",
                **_OWN,
                "name": table,
                "namespace": "redshift://warehouse.eu-west-1:5439",
                "qualified_name": f"dev.{schema}.{table}",
                "format": "redshift",
            }
        )
    edges = []
    for i in range(2 * vertices):
        source, target = nodes[i % vertices], nodes[(i * 7 + 1 + i // vertices) % vertices]
        edges.append(
            {
                "id": f"{i:020x}",
                "label": "feeds",
                "from": source["id"],
                "to": target["id"],
                **_OWN,
                "job_type": "spark",
                "job_name": f"job_{i % 200}",
                "write_mode": "overwrite",
            }
        )
    return Lineage(nodes, edges)


def project(vertices: int) -> Lineage:
    """Return such a lineage as one dbt project, with jobs and real edge ids."""
    made = lineage(vertices)
    jobs: dict[str, Row] = {}
    edges: dict[str, Row] = {}
    for edge in made.edges:
        job = JobKey("dbt", f"model.p.{edge['job_name']}")
        identifier = job_id("dev", DAG, job)
        jobs[identifier] = {"id": identifier, "label": "job", "name": job.name, "job_type": "dbt", **_OWN}
        jobs[identifier] |= {"project": "p", "last_run_at": 1}
        edge = _of_job(edge | {"job_type": job.job_type, "job_name": job.name})
        edges[edge["id"]] = edge
    return Lineage([*made.nodes, *jobs.values()], list(edges.values()))


def changed(made: Lineage, every: int) -> Lineage:
    """Change every n-th table and edge: another description, another source."""
    nodes = [
        row | {"description": "changed"} if number % every == 0 and row["label"] == "table" else row
        for number, row in enumerate(made.nodes)
    ]
    tables = [row["id"] for row in made.nodes if row["label"] == "table"]
    edges: dict[str, Row] = {}
    for number, edge in enumerate(made.edges):
        if number % every == 0:
            edge = _of_job(edge | {"from": tables[(number // every * 3 + len(tables) // 2) % len(tables)]})
        edges[edge["id"]] = edge
    return Lineage(nodes, list(edges.values()))


def _of_job(edge: Row) -> Row:
    job = JobKey(edge["job_type"], edge["job_name"])
    return edge | {"id": edge_id("dev", DAG, job, edge["from"], edge["label"], edge["to"])}


def new(made: Lineage) -> Lineage:
    """Return the rows as `update` writes those that are new to the graph."""
    nodes, edges = ([{**row, FIRST_SEEN: CREATED_AT} for row in rows] for rows in (made.nodes, made.edges))
    return Lineage(nodes, edges)


def rows(engine: Engine, made: list[Row]) -> Rows[Row]:
    """Return nodes or edges cached by the engine."""
    cached = engine.rows(made, engine.parallelism).cache()
    cached.count()  # creating the input is not measured
    return cached

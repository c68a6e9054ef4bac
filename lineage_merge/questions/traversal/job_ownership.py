"""DAGs of the Spark jobs in the graph, with their newest runs."""

from typing import NamedTuple

from gremlin_python.process.graph_traversal import GraphTraversalSource, __

from lineage_merge.naming.jobs import SPARK


class Owner(NamedTuple):
    """A DAG that merges a job, and the time of its newest known run (ms since 1970)."""

    dag_name: str
    job: str
    last_run_at: int


def owners(g: GraphTraversalSource, environment: str) -> list[Owner]:
    """Return all Spark jobs of an environment, once per DAG."""
    rows = (
        g.V()
        .has_label("job")
        .has("environment", environment)
        .has("job_type", SPARK)
        .project("dag_name", "job", "last_run_at")
        .by(__.values("dag_name"))
        .by(__.values("name"))
        .by(__.coalesce(__.values("last_run_at"), __.constant(0)))
        .to_list()
    )
    return sorted(Owner(row["dag_name"], row["job"], int(row["last_run_at"])) for row in rows)

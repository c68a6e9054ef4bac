"""Lineage made by hand, with newest runs of its jobs and results of its tests. Times are hours."""

from itertools import pairwise
from typing import Any, Self

from lineage_merge.graph_format.elements import Vertex
from lineage_merge.model.elements import JobKey, assertion_id, job_id
from lineage_merge.questions.backends.in_memory import InMemory
from tests.lineage_made import MadeLineage, at, col

HOUR = 3_600_000


class MadeRuns(MadeLineage):
    """Rows of nodes and edges, with facts of runs."""

    def ran(self, job: str, hour: int, status: str = "succeeded", dag: str = "daily", **values: Any) -> Self:
        """The newest run of a job of a flow ended at this hour."""
        self.nodes[job_id("dev", dag, JobKey("spark", job))].update(
            last_run_at=hour * HOUR, status=status, **values
        )
        return self

    def chain(self, text: str, *hours: int | None) -> Self:
        """``a > b > c``: jobs ``to_b`` and ``to_c`` write b and c, at these hours (None: unknown)."""
        names = [each.strip() for each in text.split(">")]
        for (source, target), hour in zip(pairwise(names), hours, strict=True):
            self.flow(f"{source} > {target}", job=f"to_{target}")
            if hour is not None:
                self.ran(f"to_{target}", hour)
        return self

    def check(
        self, name: str, checked: str, status: str | None = None, hour: int | None = None, **values: Any
    ) -> Self:
        """A test of a dataset, or of a column (``a.x``) that the lineage has."""
        target = at(checked)
        if target not in self.nodes:
            owner, _, column = checked.rpartition(".")
            target = col(owner, column)
        key = JobKey("dbt", name)
        held = {
            "label": "assertion",
            "environment": "dev",
            "name": name,
            "job_type": "dbt",
            "job_name": name,
            "assertion_type": "unique",
            "status": status,
            "last_run_at": None if hour is None else hour * HOUR,
        } | values
        known = {key: value for key, value in held.items() if value is not None}
        assertion = self._node(assertion_id("dev", "daily", key), "daily", known)
        self._edge("checks", assertion, target, key, "daily", "dev")
        return self

    def loaded(self, dataset: str, hour: int, status: str = "passed", checked: int = 100) -> Self:
        """A freshness check of a dataset found a newest row of this hour."""
        self.dataset(dataset, "daily")
        return self.check(
            f"freshness.{dataset}",
            dataset,
            status,
            checked,
            assertion_type="freshness",
            max_loaded_at=hour * HOUR,
        )


def short(identifier: str) -> str:
    """The last part of an id."""
    return identifier.rpartition("|")[2]


def vertex(graph: InMemory, identifier: str) -> Vertex:
    """The vertex of this id."""
    (found,) = graph.vertices([identifier])
    return found

"""Merges made up for tests of loading: who writes what from what, as node and edge rows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lineage_merge.graph_format.schema import (
    EDGE_KEYS,
    EDGE_PROPERTIES,
    NODE_KEYS,
    NODE_PROPERTIES,
)
from lineage_merge.infra.engine.rows import Engine, Rows
from lineage_merge.load.load_plan import MergeOutput
from lineage_merge.merge.alias_resolution import EVERYWHERE, OWN, IdentityRow
from lineage_merge.merge.source_completeness import SourceCompleteness
from lineage_merge.model.elements import JobKey, column_id, edge_id, job_id

NODE_COLUMNS = (*NODE_KEYS, *(item.name for item in NODE_PROPERTIES))
EDGE_COLUMNS = (*EDGE_KEYS, *(item.name for item in EDGE_PROPERTIES))
ALL = SourceCompleteness(runs=True, projects={"dbt": True}, retire_after=3)

Row = dict[str, Any]


def dataset(name: str) -> str:
    """The id of a dataset: a name with a ``|`` has its namespace."""
    return f"dev|{name}" if "|" in name else f"dev|wh|{name}"


@dataclass
class Made:
    """A merge of one DAG, put together step by step."""

    dag: str = "daily"
    nodes: dict[str, Row] = field(default_factory=dict)
    edges: dict[str, Row] = field(default_factory=dict)
    aliases: list[tuple[str, list[str]]] = field(default_factory=list)
    runs: list[tuple[str, str, int]] = field(default_factory=list)
    identities: list[tuple[str, str, str]] = field(default_factory=list)

    def node(self, name: str, label: str = "table", **values: Any) -> "Made":
        """A dataset."""
        identifier = dataset(name)
        known = self.nodes.get(identifier, {"name": name.rpartition("|")[2]})
        keys = {"id": identifier, "label": label, "environment": "dev", "dag_name": self.dag}
        self.nodes[identifier] = {**known, **keys, **values}
        return self

    def job(
        self,
        job_type: str,
        name: str,
        flows: Mapping[str, Sequence[str]],
        at: int = 1,
        project: str | None = None,
        **values: Any,
    ) -> "Made":
        """A job, and for each target that it writes what it reads; `values` stand on `feeds`."""
        key = JobKey(job_type, name)
        identifier = job_id("dev", self.dag, key)
        self.nodes[identifier] = {
            "id": identifier,
            "label": "job",
            "environment": "dev",
            "dag_name": self.dag,
            "name": name,
            "job_type": job_type,
            "last_run_at": at,
            "project": project,
        }
        for target, sources in flows.items():
            self._known(target)
            self.edge(key, identifier, "writes", dataset(target))
            for source in sources:
                self._known(source)
                self.edge(key, dataset(source), "feeds", dataset(target), **values)
        return self

    def column(self, of: str, name: str, **values: Any) -> "Made":
        """A column of a dataset."""
        self._known(of)
        identifier = column_id(dataset(of), name)
        keys = {"id": identifier, "label": "column", "environment": "dev", "dag_name": self.dag}
        self.nodes[identifier] = {**keys, "name": name, **values}
        return self.edge(None, dataset(of), "has_column", identifier)

    def feeds_column(
        self, job: tuple[str, str], source: tuple[str, str], target: tuple[str, str], **values: Any
    ) -> "Made":
        """One column feeds another."""
        self.column(*source).column(*target)
        ends = [column_id(dataset(of), name) for of, name in (source, target)]
        return self.edge(JobKey(*job), ends[0], "feeds_column", ends[1], **values)

    def edge(self, job: JobKey | None, start: str, label: str, end: str, **values: Any) -> "Made":
        """Any edge, between ids."""
        identifier = edge_id("dev", self.dag, job, start, label, end)
        of_job = {"job_type": job.job_type, "job_name": job.name} if job else {}
        keys = {"id": identifier, "label": label, "from": start, "to": end}
        own = {"environment": "dev", "dag_name": self.dag}
        self.edges[identifier] = {**keys, **own, **of_job, **values}
        return self

    def alias(self, name: str, means: str, rule: str = "catalog-table") -> "Made":
        """`name` and `means` are one dataset, as this merge knows."""
        self.aliases.append((dataset(name), [dataset(means)]))
        node = self.nodes[dataset(means)]
        node["aliases"] = [*node.get("aliases", ()), f"{name} ({rule})"]
        return self

    def resolves(self, name: str, means: str, how: str = EVERYWHERE) -> "Made":
        """The configuration resolves `name` to `means`; a location of its own name means itself."""
        self.identities.append((dataset(name), dataset(means), how))
        if how != OWN:
            node = self.nodes[dataset(means)]
            node["aliases"] = [*node.get("aliases", ()), f"{name} (rule)"]
            node["resolved_names"] = [*node.get("resolved_names", ()), f"{self.dag}|rule|{name}"]
        return self

    def ran(self, job: str, times: int) -> "Made":
        """Add how many successful runs of a Spark job were read."""
        self.runs.append(("spark", job, times))
        return self

    def merge(self, engine: Engine, coverage: SourceCompleteness = ALL) -> MergeOutput:
        """The merge as rows of an engine."""
        return MergeOutput(
            nodes=known_rows(engine, self.nodes.values()),
            edges=known_rows(engine, self.edges.values()),
            aliases=dict(self.aliases),
            runs=_fewest(self.runs),
            identities=engine.rows(IdentityRow(*each) for each in self.identities),
            coverage=coverage,
        )

    def _known(self, name: str) -> None:
        if dataset(name) not in self.nodes:
            self.node(name)


def merge_of_rows(
    engine: Engine,
    nodes: Sequence[Row],
    edges: Sequence[Row],
    runs: Sequence[tuple[str, str, int]] = (),
    coverage: SourceCompleteness = ALL,
) -> MergeOutput:
    """A merge of rows that are there already, such as those of `merge.in_memory`."""
    return MergeOutput(
        nodes=known_rows(engine, nodes),
        edges=known_rows(engine, edges),
        runs=_fewest(runs),
        coverage=coverage,
    )


def known_rows(engine: Engine, rows: Iterable[Row]) -> Rows[Row]:
    """Node or edge rows without what is not known."""
    return engine.rows({name: value for name, value in row.items() if value is not None} for row in rows)


def _fewest(runs: Iterable[tuple[str, str, int]]) -> dict[JobKey, int]:
    found: dict[JobKey, int] = {}
    for job_type, name, number in runs:
        job = JobKey(job_type, name)
        found[job] = min(number, found.get(job, number))
    return found

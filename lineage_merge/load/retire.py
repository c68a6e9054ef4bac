"""What of a DAG's lineage is gone, and taking it out of the graph.

Nothing goes because it is not there this time. A dbt manifest is complete for its project, and so is a
folder of SQL: what it dropped goes at once. A target of a job that runs goes when enough later good
runs of the job did not write it; of a target that is written, the newest write says what feeds it. A
job that did not run keeps its lineage, and so does whatever the merge did not look at.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial, reduce
from itertools import groupby
from typing import Any

from gremlin_python.process.graph_traversal import GraphTraversal, GraphTraversalSource, __
from gremlin_python.process.traversal import Cardinality, P
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 (its name everywhere)

from lineage_merge.load.connection import Endpoint
from lineage_merge.load.existing import Existing, dataset_of, end_is_column
from lineage_merge.load.sending import asking, by_request
from lineage_merge.load.tally import OF_COLUMNS, Tally
from lineage_merge.load.texts import one
from lineage_merge.merge.coverage import Coverage

# Of this many edges or more, a merge may retire this part without being told to.
_MOST_PART = 0.3
_FEWEST_EDGES = 20
_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Gone:
    """What goes: ids of `edges` and of `vertices`.

    A vertex loses the DAG's tag, and is dropped when no DAG and no edge is left. `examples` are
    the first edges, in words; `refusal` says why that much is likely to be a mistake. `kept` is
    what lies in memory.
    """

    edges: DataFrame
    vertices: DataFrame
    edge_count: int = 0
    vertex_count: int = 0
    examples: tuple[str, ...] = ()
    refusal: str = ""
    kept: tuple[DataFrame, ...] = ()


def find(
    nodes: DataFrame,
    edges: DataFrame,
    targets: DataFrame,
    stray: DataFrame,
    counts: Tally,
    existing: Existing,
    coverage: Coverage,
) -> Gone:
    """What the graph holds of the DAG and a merge shows to be gone.

    `nodes` and `edges` are those of the merge as `load.difference` compared them, `counts` their
    numbers. `targets` has job_type, job_name, target (an id; null: of the job as a whole) and
    `later_runs`, the good runs of the job after the newest write of the target.
    """
    if not counts.strays and not counts.absent:
        nothing = stray.select("id")
        return Gone(nothing, nothing)  # as usual
    projects, everything = _covered(nodes, existing, coverage)
    # A worker that cannot read columns (no SQL parser, say) must not take away all there are.
    tells = counts.column_tellers
    by_project = frozenset(coverage.projects)
    scope = Scope(frozenset(projects), by_project, coverage.runs, coverage.retire_after, everything, tells)
    of_jobs = _of_jobs(nodes, edges, targets, existing, scope).persist()
    of_datasets = _of_datasets(of_jobs, edges, stray, scope).persist()
    gone = (
        of_jobs.where("gone")
        .select(*_EDGE)
        .unionByName(of_datasets.where("`from` is not null").select(*_EDGE))
    )
    vertices = of_datasets.where("`from` is null").select("id")
    # Counted at once: what goes must not depend on what the graph holds later.
    edge_count, vertex_count, bare = _numbers(of_jobs, of_datasets)
    kept = (of_jobs, of_datasets)
    if not edge_count:
        return Gone(gone.select("id"), vertices, 0, vertex_count, kept=kept)
    first = gone.orderBy("job_name", "label", "from", "to").limit(_SHOWN).collect()
    examples = tuple(f"{row['from']} -{row.label}-> {row['to']}" for row in first)
    refusal = _refusal(edge_count, counts.held_edges, bare, examples)
    return Gone(gone.select("id"), vertices, edge_count, vertex_count, examples, refusal, kept)


def _numbers(of_jobs: DataFrame, of_datasets: DataFrame) -> tuple[int, int, list[str]]:
    """How many edges and vertices go, and the first jobs (one more than shown) that lose all they had."""
    job = F.struct("job_type", "job_name")
    nothing = F.lit(None).cast("struct<job_type:string,job_name:string>")
    is_edge = F.col("from").isNotNull()
    rows = (
        of_jobs.where("gone").select(F.lit("edge").alias("kind"), F.when(F.col("bare"), job).alias("job"))
    ).union(of_datasets.select(F.when(is_edge, "edge").otherwise("vertex"), nothing))
    first = F.slice(F.array_sort(F.collect_set("job")), 1, _SHOWN + 1)
    by_kind = rows.groupBy("kind").agg(F.count("*").alias("count"), first.alias("bare")).collect()
    counts = {row.kind: row["count"] for row in by_kind}
    bare = [f"{each.job_type} {each.job_name}" for row in by_kind for each in row.bare]
    return counts.get("edge", 0), counts.get("vertex", 0), bare


def _refusal(count: int, held: int, jobs: list[str], examples: tuple[str, ...]) -> str:
    """Why a merge would take out so much that it may be a mistake; "" where it would not.

    That is more than 30% of the DAG's edges (of at least 20), or every edge of a job, unless
    that is a job which a dbt manifest dropped.
    """
    reasons = []
    if held >= _FEWEST_EDGES and count > _MOST_PART * held:
        reasons.append(f"{count} of the DAG's {held} edges")
    if jobs:
        more = " and more" if len(jobs) > _SHOWN else ""
        reasons.append(f"every edge of {', '.join(jobs[:_SHOWN])}{more}")
    if not reasons:
        return ""
    return (
        f"would retire {' and '.join(reasons)}; nothing was written. If that is meant, --allow-retire"
        f" goes on. Among what would go: {'; '.join(examples)}"
    )


def take_out(gone: Gone, endpoint: Endpoint, run: str, token: str, dag_name: str) -> None:
    """Take the edges out, then the tags of vertices that others need, then those that nobody needs.

    Only while `token` is on the `run` vertex (`load.summary`): a merge of the same DAG that has
    begun since compares with the graph by itself.
    """

    def edges(rows: Iterable[Any]) -> Iterable[int]:
        ids = (row.id for row in rows)
        yield _in_batches(endpoint, ids, lambda g, ids: dropping_edges(g, run, token, ids))

    def vertices(rows: Iterable[Any]) -> Iterable[int]:
        ids = [row.id for row in rows]
        # A vertex keeps the last of its tags until it goes: who is killed, or leaves it in the same moment
        # as another DAG, leaves none behind that nobody would find again. The second time is for those
        # that another DAG came to need in between.
        for ask in (removing_tags, dropping_vertices, removing_tags):
            leaving = partial(ask, run=run, token=token, dag_name=dag_name)
            yield _in_batches(endpoint, ids, leaving)

    # One task each: every request touches the run's vertex, so several would only conflict.
    if gone.edge_count:
        gone.edges.select("id").coalesce(1).rdd.mapPartitions(edges).collect()
    if gone.vertex_count:
        gone.vertices.select("id").coalesce(1).rdd.mapPartitions(vertices).collect()


def _in_batches(endpoint: Endpoint, ids: Iterable[str], ask: Any) -> int:
    count = 0
    with asking(endpoint) as tell:
        for some in by_request(ids):
            tell(partial(ask, ids=some))
            count += len(some)
    return count


def _ours(g: GraphTraversalSource, run: str, token: str) -> GraphTraversal:
    """Goes on only while the token is there; that it is written makes two such requests conflict."""
    return g.V(run).has("loading", token).property(Cardinality.single, "loading", token)


def dropping_edges(g: GraphTraversalSource, run: str, token: str, ids: list[str]) -> GraphTraversal:
    """Take edges out."""
    return _ours(g, run, token).E(*ids).drop()


def dropping_vertices(
    g: GraphTraversalSource, run: str, token: str, ids: list[str], dag_name: str
) -> GraphTraversal:
    """Take out those vertices that no other DAG and no edge needs, as the graph is now."""
    others = __.values("dag_name").is_(P.neq(dag_name))
    return _ours(g, run, token).V(*ids).not_(others).not_(__.both_e()).drop()


def removing_tags(
    g: GraphTraversalSource, run: str, token: str, ids: list[str], dag_name: str
) -> GraphTraversal:
    """Take the DAG's tag from vertices that others need and none of its edges touches, as it is now."""
    touched = __.both_e().has("dag_name", dag_name)
    needed = __.or_(__.values("dag_name").is_(P.neq(dag_name)), __.both_e())
    left = _ours(g, run, token).V(*ids).not_(touched).where(needed)
    return left.properties("dag_name").has_value(dag_name).drop()


def stray(nodes: DataFrame, existing: Existing) -> DataFrame:
    """The vertices with the DAG's tag of which the merge says nothing: id, and `project` of a job.

    It comes with the job's type, since dbt and SQL files may call theirs alike.
    """
    tagged = existing.vertices.where(F.col("tagged") & (F.col("label") != "merge_run"))
    stray = tagged.join(nodes.select("id"), "id", "leftanti")
    project = F.concat_ws(" ", one("job_type"), one("project"))
    return stray.select("id", "label", F.when(one("project").isNotNull(), project).alias("project"))


def _covered(nodes: DataFrame, existing: Existing, coverage: Coverage) -> tuple[list[str], bool]:
    """The projects (``dbt tickit``) that a merge has whole and as new as the graph (a short list).

    And whether every job that the graph has of the DAG is of a source that the merge looked at.
    """
    told = nodes.where("label = 'job'").select(
        F.lit(True).alias("told"), "job_type", "project", F.col("last_run_at").alias("at")
    )
    there = existing.vertices.where("label = 'job'").select(
        F.lit(False).alias("told"),
        one("job_type").alias("job_type"),
        one("project").alias("project"),
        one("last_run_at").cast("bigint").alias("at"),
    )
    by = told.union(there).groupBy("told", "job_type", "project").agg(F.max("at").alias("at")).collect()
    whole = {kind for kind, read in coverage.projects.items() if read}
    at = {_project(row): row.at for row in by if row.told and row.job_type in whole and row.project}
    by_kind = [row for row in by if not row.told]
    newer = {_project(row) for row in by_kind if (row.at or 0) > (at.get(_project(row)) or 0)}
    projects = sorted(set(at) - newer)
    types = {*coverage.job_types, *(row.job_type for row in by if row.told)} if coverage.runs else set()
    everything = all(
        _project(row) in projects if row.job_type in coverage.projects else row.job_type in types
        for row in by_kind
    )
    return projects, everything


def _project(row: Row) -> str:
    return f"{row.job_type} {row.project}"


# Decided job by job


@dataclass(frozen=True, slots=True)
class Scope:
    """What a merge may retire: of `projects` (``dbt tickit``) that it has whole, of jobs whose runs it read.

    `by_project`: the types of jobs that are told project by project. `everything`: it looked at all that
    the graph has of the DAG. `tells_columns`: the types of jobs of which it knows columns at all.
    """

    projects: frozenset[str]
    by_project: frozenset[str]
    runs: bool
    retire_after: int
    everything: bool
    tells_columns: frozenset[str]


@dataclass(slots=True)
class JobFacts:
    """What is known of one job. `later` by target; None: of the job as a whole."""

    job_type: str
    name: str
    project: str | None = None
    ran: bool = False
    written: set[str] = field(default_factory=set)
    later: dict[str | None, int] = field(default_factory=dict)

    def loses(self, label: str, target: str, scope: Scope) -> bool:
        """Whether an edge of it that the merge does not tell is gone; `target` is where it ends."""
        if label in OF_COLUMNS and self.job_type not in scope.tells_columns:
            return False
        if self.job_type in scope.by_project:
            return f"{self.job_type} {self._project()}" in scope.projects
        if not scope.runs or not self.ran:
            return False
        # The steps of a job are those of its newest run; the newest write says what feeds a target.
        if label == "follows" or target in self.written:
            return True
        return scope.retire_after > 0 and self._later_runs(target) >= scope.retire_after

    def _project(self) -> str:
        if self.project:
            return self.project
        # An exposure has no job; its unique id says whose it is.
        parts = self.name.split(".")
        return parts[1] if len(parts) > 1 else ""

    def _later_runs(self, target: str) -> int:
        if target in self.later:
            return self.later[target]
        # No run that was looked at wrote it: all of them are later. That a target has n later runs
        # tells of n + 1.
        return max((runs if of is None else runs + 1 for of, runs in self.later.items()), default=0)


_JOB = ["job_type", "job_name"]
_EDGE = ["id", "label", "from", "to", *_JOB]
_OF_JOB_DDL = (
    "id string, label string, `from` string, `to` string, job_type string, job_name string,"
    " gone boolean, bare boolean"
)


def _of_jobs(
    nodes: DataFrame, edges: DataFrame, targets: DataFrame, existing: Existing, scope: Scope
) -> DataFrame:
    """The absent edges of jobs, with `gone`, and `bare`: a job that the merge knows loses all it had."""
    absent = edges.where("change = 'absent' and job_name is not null")
    affected = F.broadcast(absent.select(*_JOB).distinct())
    nothing = F.lit(None).cast("string")
    number = F.lit(None).cast("bigint")
    told = [
        edges.where("job_name is not null").select("change", *_EDGE, number.alias("number")),
        targets.select(
            F.lit("target").alias("change"),
            nothing.alias("id"),
            nothing.alias("label"),
            nothing.alias("from"),
            F.col("target").alias("to"),
            *_JOB,
            F.col("later_runs").alias("number"),
        ),
        nodes.where("label = 'job'").select(
            F.lit("ran").alias("change"),
            "id",
            "label",
            nothing.alias("from"),
            nothing.alias("to"),
            "job_type",
            F.col("name").alias("job_name"),
            number.alias("number"),
        ),
        existing.vertices.where("label = 'job'").select(
            F.lit("held").alias("change"),
            "id",
            "label",
            one("project").alias("from"),
            nothing.alias("to"),
            one("job_type").alias("job_type"),
            one("name").alias("job_name"),
            number.alias("number"),
        ),
    ]
    rows = reduce(DataFrame.unionByName, told).join(affected, _JOB, "leftsemi")
    by_job = (
        rows.repartition(*_JOB).sortWithinPartitions(*_JOB).rdd.mapPartitions(partial(_decide_jobs, scope))
    )
    return edges.sparkSession.createDataFrame(by_job, _OF_JOB_DDL, verifySchema=False)


def _decide_jobs(scope: Scope, rows: Iterable[Row]) -> Iterator[tuple[Any, ...]]:
    for (job_type, name), group in groupby(rows, key=lambda row: (row.job_type, row.job_name)):
        job = JobFacts(job_type, name)
        absent = []
        stays = False
        for row in group:
            match row.change:
                case "absent":
                    absent.append(row)
                case "target":
                    job.later[row["to"]] = min(row.number, job.later.get(row["to"], row.number))
                case "ran":
                    job.ran = True
                case "held":
                    job.project = row["from"]
                case change:
                    stays = stays or change != "new"
                    if row.label == "writes":
                        job.written.add(row["to"])
        gone = [job.loses(row.label, _target(row), scope) for row in absent]
        # A job that its manifest dropped is meant to lose everything.
        bare = job.ran and not stays and all(gone)
        for row, goes in zip(absent, gone, strict=True):
            yield (*(row[name] for name in _EDGE), goes, bare)


def _target(edge: Row) -> str:
    """The dataset that an edge ends at; of `feeds_column`, the one whose column it ends at."""
    end: str = edge["to"]
    return end.rpartition("|")[0] if edge.label == "feeds_column" else end


# Decided dataset by dataset, with its columns

_OF_DATASET_DDL = "id string, label string, `from` string, `to` string, job_type string, job_name string"


@dataclass(slots=True)
class DatasetFacts:
    """What is known of one dataset (or another vertex) and its columns.

    `kept` and `touched` are ends of absent edges of jobs, those that stay and those that are gone.
    `stray` are vertices that the merge does not tell, with their label and, of a job, its project.
    `columns` are absent `has_column` edges, by id. `described`: the merge tells columns of it.
    """

    id: str
    kept: set[str] = field(default_factory=set)
    touched: set[str] = field(default_factory=set)
    stray: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    columns: dict[str, str] = field(default_factory=dict)
    described: bool = False

    def lost_columns(self, scope: Scope) -> list[str]:
        """The `has_column` edges that are gone: of datasets that the merge knows wholly, or that go."""
        goes = self.id in self.stray and (scope.everything or bool(self.touched))
        return list(self.columns) if not self.kept and (self.described or goes) else []

    def lost_vertices(self, scope: Scope) -> Iterator[str]:
        """The stray vertices that nothing of the DAG needs any more."""
        needed, touched = set(self.kept), set(self.touched)
        lost = set(self.lost_columns(scope))
        for edge, column in self.columns.items():
            (touched if edge in lost else needed).update((self.id, column))
        for vertex, (label, project) in self.stray.items():
            wanted = project in scope.projects if label == "job" else scope.everything
            if vertex not in needed and (wanted or vertex in touched):
                yield vertex


def _of_datasets(of_jobs: DataFrame, edges: DataFrame, stray: DataFrame, scope: Scope) -> DataFrame:
    """The `has_column` edges that are gone, and (without ends) the vertices."""
    absent = edges.where("change = 'absent' and label = 'has_column'")
    nothing = F.lit(None).cast("string")
    described = (
        edges.where("change <> 'absent' and label = 'has_column'")
        .join(F.broadcast(absent.select("from").distinct()), "from", "leftsemi")
        .select("from")
        .distinct()
    )
    ends = [
        of_jobs.select(
            dataset_of(end, end_is_column(end)).alias("dataset"),
            F.when(F.col("gone"), "touched").otherwise("kept").alias("kind"),
            F.col(end).alias("id"),
            nothing.alias("label"),
            nothing.alias("value"),
        )
        for end in ("from", "to")
    ]
    rows = [
        *ends,
        stray.select(
            dataset_of("id").alias("dataset"),
            F.lit("stray").alias("kind"),
            "id",
            "label",
            F.col("project").alias("value"),
        ),
        absent.select(
            F.col("from").alias("dataset"),
            F.lit("column").alias("kind"),
            "id",
            "label",
            F.col("to").alias("value"),
        ),
        described.select(
            F.col("from").alias("dataset"),
            F.lit("described").alias("kind"),
            nothing.alias("id"),
            nothing.alias("label"),
            nothing.alias("value"),
        ),
    ]
    united = reduce(DataFrame.unionByName, rows).repartition("dataset").sortWithinPartitions("dataset")
    by_dataset = united.rdd.mapPartitions(partial(_decide_datasets, scope))
    return edges.sparkSession.createDataFrame(by_dataset, _OF_DATASET_DDL, verifySchema=False)


def _decide_datasets(scope: Scope, rows: Iterable[Row]) -> Iterator[tuple[Any, ...]]:
    for identifier, group in groupby(rows, key=lambda row: row.dataset):
        dataset = DatasetFacts(identifier)
        for row in group:
            match row.kind:
                case "kept":
                    dataset.kept.add(row.id)
                case "touched":
                    dataset.touched.add(row.id)
                case "stray":
                    dataset.stray[row.id] = (row.label, row.value)
                case "column":
                    dataset.columns[row.id] = row.value
                case _:
                    dataset.described = True
        for edge in dataset.lost_columns(scope):
            yield edge, "has_column", identifier, dataset.columns[edge], None, None
        for vertex in dataset.lost_vertices(scope):
            yield vertex, None, None, None, None, None

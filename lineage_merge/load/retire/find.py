"""What is gone, all of it, and whether that much is likely to be a mistake."""

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 (its name everywhere)

from lineage_merge.kept import keep_planned
from lineage_merge.load.existing import Existing
from lineage_merge.load.retire.of_datasets import lost_of_datasets
from lineage_merge.load.retire.of_jobs import EDGE, absent_of_jobs
from lineage_merge.load.retire.scope import scope_of
from lineage_merge.load.tally import Tally
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
    the first edges, in words; `refusal` says why that much is likely to be a mistake.
    """

    edges: DataFrame
    vertices: DataFrame
    edge_count: int = 0
    vertex_count: int = 0
    examples: tuple[str, ...] = ()
    refusal: str = ""


def find_gone(
    nodes: DataFrame,
    edges: DataFrame,
    runs: DataFrame,
    stray: DataFrame,
    replaced: DataFrame,
    counts: Tally,
    existing: Existing,
    coverage: Coverage,
) -> Gone:
    """What the graph holds of the DAG and a merge shows to be gone.

    `nodes` and `edges` are those of the merge as `load.difference` compared them, `counts` their
    numbers. `runs` has job_type, job_name and `runs`, the successful runs of the job that a source read.
    `replaced` are the ids of absent edges that the merge has at another dataset, which their ends mean now
    (`load.renames`): they go with it, and are no loss that could be a mistake.
    """
    if not counts.strays and not counts.absent:
        nothing = stray.select("id")
        return Gone(nothing, nothing)  # as usual
    scope = scope_of(nodes, existing, coverage, counts)
    of_jobs = keep_planned(absent_of_jobs(nodes, edges, runs, replaced, existing, scope))
    of_datasets = keep_planned(lost_of_datasets(of_jobs, edges, stray, replaced, scope))
    gone = (
        of_jobs.where("gone").select(*EDGE).unionByName(of_datasets.where("`from` is not null").select(*EDGE))
    )
    vertices = of_datasets.where("`from` is null").select("id")
    # Counted at once: what goes must not depend on what the graph holds later.
    edge_count, vertex_count, replaced_count, bare = _numbers(of_jobs, of_datasets)
    if not edge_count:
        return Gone(gone.select("id"), vertices, 0, vertex_count)
    first = gone.orderBy("job_name", "label", "from", "to").limit(_SHOWN).collect()
    examples = tuple(f"{row['from']} -{row.label}-> {row['to']}" for row in first)
    lost = edge_count - replaced_count
    refusal = _refusal(lost, counts.held_edges, bare, examples)
    if refusal:
        # What a job of another name does alike is not lost: a job was renamed.
        renamed = _renamed(gone.join(replaced.select("id"), "id", "leftanti"), edges)
        refusal = _refusal(lost - renamed, counts.held_edges, bare, examples)
    return Gone(gone.select("id"), vertices, edge_count, vertex_count, examples, refusal)


def _renamed(gone: DataFrame, edges: DataFrame) -> int:
    """How many of the edges that go the merge has between the same ends, by another job of that type."""

    def kind(frame: DataFrame) -> DataFrame:
        start = F.when(F.col("label") != "writes", F.col("from"))  # the job itself
        return frame.select("label", F.coalesce(start, F.lit("")).alias("start"), "to", "job_type")

    alike = kind(edges.where("change <> 'absent' and job_name is not null")).distinct()
    return kind(gone).join(alike, ["label", "start", "to", "job_type"], "leftsemi").count()


def _numbers(of_jobs: DataFrame, of_datasets: DataFrame) -> tuple[int, int, int, list[str]]:
    """Count the edges and vertices that go, and among the edges those that are replaced.

    With the first jobs (one more than shown) that lose all they had.
    """
    job = F.struct("job_type", "job_name")
    nothing = F.lit(None).cast("struct<job_type:string,job_name:string>")
    is_edge = F.col("from").isNotNull()
    rows = (
        of_jobs.where("gone").select(
            F.lit("edge").alias("kind"), F.when(F.col("bare"), job).alias("job"), "replaced"
        )
    ).union(of_datasets.select(F.when(is_edge, "edge").otherwise("vertex"), nothing, "replaced"))
    first = F.slice(F.array_sort(F.collect_set("job")), 1, _SHOWN + 1)
    is_replaced = F.count_if("replaced").alias("replaced")
    by_kind = (
        rows.groupBy("kind").agg(F.count("*").alias("count"), is_replaced, first.alias("bare")).collect()
    )
    counts = {row.kind: row["count"] for row in by_kind}
    bare = [f"{each.job_type} {each.job_name}" for row in by_kind for each in row.bare]
    replaced = sum(row.replaced for row in by_kind)
    return counts.get("edge", 0), counts.get("vertex", 0), replaced, bare


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


def find_stray(nodes: DataFrame, existing: Existing) -> DataFrame:
    """The vertices with the DAG's tag of which the merge says nothing: id, and `project` of a job.

    It comes with the job's type, since dbt and SQL files may call theirs alike.
    """
    tagged = existing.vertices.where(F.col("tagged") & (F.col("label") != "merge_run"))
    stray = tagged.join(nodes.select("id"), "id", "leftanti")
    project = F.concat_ws(" ", one("job_type"), one("project"))
    return stray.select("id", "label", F.when(one("project").isNotNull(), project).alias("project"))

"""Search of datasets by name, tag, owner and failed runs.

The number of requests depends on the number of conditions and the size of the answer: the server selects by
tag, owner and status.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from lineage_merge.graph_format.elements import (
    ASSERTION,
    COLUMN,
    JOB,
    Subgraph,
    Vertex,
    dataset_id_of,
    dataset_of,
    values_of,
)
from lineage_merge.graph_format.schema import DATASET_LABELS
from lineage_merge.questions.backends.in_memory import contains_text
from lineage_merge.questions.case_variants import case_variants
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.questions.lineage import completed

# Of a job's newest run, or of a check's newest result. A warning is no failure.
FAILED = ("failed", "error")


@dataclass(frozen=True, slots=True)
class DatasetFilter:
    """Conditions, all of which a dataset must meet. Tags and owners are compared as `case_variants`.

    `tags`: on the dataset or on a column of it; `owners`: of the dataset. `failed`: a job that writes the
    dataset failed in its newest run, or a check of the dataset or of a column failed.
    """

    tags: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()
    without_owner: bool = False
    failed: bool = False


@dataclass(frozen=True, slots=True)
class FoundDatasets:
    """Datasets, by id. `subgraph` contains them and, if requested, their columns.

    By dataset id: `tagged_columns` are the ids of columns with a requested tag, `failures` the failed jobs
    and checks (if failures were requested).
    """

    subgraph: Subgraph
    datasets: tuple[Vertex, ...] = ()
    tagged_columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    failures: Mapping[str, tuple[Vertex, ...]] = field(default_factory=dict)


NO_FILTER = DatasetFilter()


def search_datasets(
    graph: LineageGraph,
    search: str = "",
    environment: str | None = None,
    dag: str | None = None,
    wanted: DatasetFilter = NO_FILTER,
    *,
    limit: int | None = None,
    columns: bool = False,
) -> FoundDatasets:
    """Return the datasets whose names contain a text and that meet the conditions."""
    selected: list[set[str]] = []
    tagged_columns: dict[str, set[str]] = defaultdict(set)
    for tag in wanted.tags:
        spellings = case_variants(tag)
        tagged = graph.with_value("tags", spellings, DATASET_LABELS, environment, dag)
        for column in graph.with_value("tags", spellings, [COLUMN], environment, dag):
            tagged_columns[dataset_of(column)].add(column)
            tagged.add(dataset_of(column))
        selected.append(tagged)
    selected += [
        graph.with_value("owners", case_variants(owner), DATASET_LABELS, environment, dag)
        for owner in wanted.owners
    ]
    failures = _failures(graph, environment, dag) if wanted.failed else {}
    if wanted.failed:
        selected.append(set(failures))
    if selected:
        ids = sorted(set.intersection(*selected))
        found = [each for each in graph.vertices(ids) if contains_text(each, search)]
        found.sort(key=lambda each: each.id)
    else:
        most = None if wanted.without_owner else limit
        found = graph.search(search, DATASET_LABELS, environment, dag, most)
    if wanted.without_owner:
        found = [each for each in found if not values_of(each, "owners")]
    datasets = {each.id: each for each in found[:limit]}
    return FoundDatasets(
        completed(graph, datasets, (), dag, columns=True) if columns else Subgraph(datasets),
        tuple(datasets.values()),
        {each: tuple(sorted(tagged_columns[each])) for each in datasets if each in tagged_columns},
        {each: failures[each] for each in datasets if each in failures},
    )


def _failures(
    graph: LineageGraph, environment: str | None, dag: str | None
) -> Mapping[str, tuple[Vertex, ...]]:
    """Return the failed jobs that write each dataset and the failed checks of it, by dataset id."""
    failed = graph.with_value("status", FAILED, [JOB, ASSERTION], environment, dag)
    vertices = {each.id: each for each in graph.vertices(sorted(failed))}
    found: dict[str, dict[str, Vertex]] = defaultdict(dict)
    for edge in graph.edges_from(sorted(failed), ["writes", "checks"], dag):
        found[dataset_id_of(edge.to_id)][edge.from_id] = vertices[edge.from_id]
    return {target: tuple(by_id[each] for each in sorted(by_id)) for target, by_id in found.items()}

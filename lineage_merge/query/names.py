"""From what a person types to the one vertex that is meant.

An id, ``namespace|name``, a URI (``s3a://bucket/path/``), or a name that is unique: short, qualified,
or the location behind a table. ``#column`` after any of them is a column, compared without case.
"""

from collections.abc import Sequence

from lineage_merge.graph_format.schema import DATASET_LABELS
from lineage_merge.model.elements import DatasetName, column_id, dataset_id
from lineage_merge.model.errors import Ambiguous, NamingError, NotFound
from lineage_merge.naming import name_uri
from lineage_merge.query.elements import COLUMN, JOB, Vertex
from lineage_merge.query.graph import LineageGraph

_SUGGESTED = 10


def dataset_or_column(
    graph: LineageGraph, text: str, environment: str | None = None, dag: str | None = None
) -> Vertex:
    """The dataset, or with ``#column`` the column, of this name. Raises `NotFound` and `Ambiguous`."""
    return _resolve(graph, text, DATASET_LABELS, environment, dag)


def anything(
    graph: LineageGraph, text: str, environment: str | None = None, dag: str | None = None
) -> Vertex:
    """The dataset, column or job of this name. Raises `NotFound` and `Ambiguous`."""
    return _resolve(graph, text, (*DATASET_LABELS, JOB), environment, dag)


def check_scope(graph: LineageGraph, environment: str | None, dag: str | None) -> None:
    """Raise `NotFound` where the graph knows other environments or DAGs, but not the one that is given.

    For questions without a name, whose answer would be empty. An empty graph knows every environment.
    """
    labels = (*DATASET_LABELS, JOB)
    if (environment is None and dag is None) or graph.search("", labels, environment, dag, 1):
        return
    environments = graph.environments()
    if environments and environment is not None and environment not in environments:
        message = f"{environment}: no environment of the graph has this name; there are:"
        raise NotFound(message, tuple(environments))
    if dag is not None:
        dags = {name for each in graph.search("", labels, environment) for name in each.dags}
        where = environment or "the graph"
        if dags:
            raise NotFound(f"{dag}: no DAG of {where} has this name; there are:", tuple(sorted(dags)))
        raise NotFound(f"{dag}: {where} has no DAG")


def _resolve(
    graph: LineageGraph, text: str, labels: Sequence[str], environment: str | None, dag: str | None
) -> Vertex:
    # A name may hold a "#" of its own, so the whole is tried first.
    found = _candidates(graph, text, labels, environment, dag)
    if found:
        return _only(text, found)
    owner, mark, column = text.rpartition("#")
    if mark and owner and column:
        datasets = _candidates(graph, owner, DATASET_LABELS, environment, dag)
        if datasets:
            return _column(graph, _only(owner, datasets), column)
    like = graph.search(owner or text, labels, environment, dag, _SUGGESTED)
    where = f" in {environment}" if environment else ""
    more = "; names like it:" if like else ""
    raise NotFound(f"{text}: nothing{where} has this name{more}", tuple(each.id for each in like))


def _candidates(
    graph: LineageGraph, text: str, labels: Sequence[str], environment: str | None, dag: str | None
) -> list[Vertex]:
    """Whoever is called so: by id alone where the text can be one."""
    names = _full_names(text)
    if "|" in text or names:
        environments = [environment] if environment else graph.environments() if names else []
        ids = [text, *(dataset_id(each, name) for name in names for each in environments)]
        found = [
            each
            for each in graph.vertices(ids)
            if (each.label in labels or each.label == COLUMN)
            and environment in (None, each.environment)
            and (dag is None or dag in each.dags)
        ]
        if found:
            return found
    return graph.named(text, labels, environment, dag)


def _full_names(text: str) -> list[DatasetName]:
    """The names that a text can be in whole: ``namespace|name``, or a URI."""
    namespace, bar, name = text.partition("|")
    if bar:
        return [DatasetName(namespace, name)]
    if "://" not in text and not text.startswith("/"):
        return []
    try:
        return [name_uri(text).name]
    except NamingError:
        return []


def _only(text: str, found: Sequence[Vertex]) -> Vertex:
    if len(found) == 1:
        return found[0]
    ids = tuple(sorted(each.id for each in found))
    raise Ambiguous(f"{text}: {len(ids)} have this name, give more of it, --environment or --dag:", ids)


def _column(graph: LineageGraph, dataset: Vertex, column: str) -> Vertex:
    found = graph.vertices([column_id(dataset.id, column)])
    if found:
        return found[0]
    edges = graph.edges_from([dataset.id], ("has_column",))
    ids = sorted({each.to_id for each in edges})
    of_it = f"; it has{':' if ids else ' none that are known'}"
    raise NotFound(f"{dataset.title}: no column {column}{of_it}", tuple(ids))

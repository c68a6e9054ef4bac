"""Resolution of user input to one vertex.

Input is an id, ``namespace|name``, a URI (``s3a://bucket/path/``), or a unique name: short, qualified
(with or without the database), or the location of a table. Names that nothing is spelt like are searched in
any case. An appended ``#column`` selects a column, compared case-insensitively, ``#column.field`` a field of
a structure. Of a dashboard, titles of visuals and of their fields are names, too, and so is that of the dbt
exposure that it is.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from lineage_merge.graph_format.elements import COLUMN, JOB, Vertex, values_of
from lineage_merge.graph_format.schema import DATASET_LABELS
from lineage_merge.model.elements import (
    DBT_NAMESPACE,
    FIELD,
    DatasetName,
    column_id,
    column_of,
    dataset_id,
    structures_of,
)
from lineage_merge.model.errors import Ambiguous, NamingError, NotFound, did_you_mean, similar_names
from lineage_merge.naming import name_uri
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.questions.traversal.column_walk import with_derived

_EXPOSURE = "exposure"
_SUGGESTED = 10
# Vertices that are compared with a misspelt name, and the shortest half of a name that is searched.
_COMPARED = 200
_MIN_HALF = 3
# Dots of a name of which each may be part of a name, or begin the name of a field.
_MAX_DOTS = 6
# Types that may have any field.
_OPEN_TYPES = frozenset({"super", "variant", "object", "json", "jsonb", "struct", "record", "map"})


def resolve_dataset_or_column(
    graph: LineageGraph, text: str, environment: str | None = None, dag: str | None = None
) -> Vertex:
    """Return the dataset of this name, or the column with ``#column``. Raises `NotFound` and `Ambiguous`."""
    return _resolve(graph, text, DATASET_LABELS, environment, dag)


def resolve_any(
    graph: LineageGraph, text: str, environment: str | None = None, dag: str | None = None
) -> Vertex:
    """Return the dataset, column or job of this name. Raises `NotFound` and `Ambiguous`."""
    return _resolve(graph, text, (*DATASET_LABELS, JOB), environment, dag)


def check_scope(graph: LineageGraph, environment: str | None, dag: str | None) -> None:
    """Raise `NotFound` if the graph has environments or DAGs, but not the given one.

    For queries that would return an empty result. An empty graph accepts any environment.
    """
    labels = (*DATASET_LABELS, JOB)
    if (environment is None and dag is None) or graph.search("", labels, environment, dag, 1):
        return
    environments = graph.environments()
    if environments and environment is not None and environment not in environments:
        similar = did_you_mean(environment, environments)
        raise NotFound(
            f"unknown environment: {environment}{_list_similar(similar, 'the graph')}", tuple(environments)
        )
    if dag is not None:
        dags = {name for element in graph.search("", labels, environment) for name in element.dags}
        where = environment or "the graph"
        if dags:
            similar = did_you_mean(dag, dags)
            raise NotFound(f"unknown DAG: {dag}{_list_similar(similar, where)}", tuple(sorted(dags)))
        raise NotFound(f"unknown DAG: {dag}; {where} has none")


def _list_similar(similar: str, where: str) -> str:
    """Return a suggestion as the beginning of a list of what exists."""
    return f"{similar} {where} has:" if similar else f"; {where} has:"


def _resolve(
    graph: LineageGraph, text: str, labels: Sequence[str], environment: str | None, dag: str | None
) -> Vertex:
    owner, mark, column = text.rpartition("#")
    for candidates_of in (_candidates, _find_in_any_case, _find_by_asset_title, _find_by_exposure):
        # A name may contain "#", so the complete text is tried first.
        candidates = candidates_of(graph, text, labels, environment, dag)
        if candidates:
            return _require_unique(text, candidates)
        if mark and owner and column:
            datasets = candidates_of(graph, owner, DATASET_LABELS, environment, dag)
            if datasets:
                return _column(graph, _require_unique(owner, datasets), column)
    check_scope(graph, environment, dag)
    wanted = owner or text
    like = graph.search(wanted, labels, environment, dag, _SUGGESTED)
    like = like or _misspelt(graph, wanted, labels, environment, dag)
    where = f" in {environment}" if environment else ""
    more = "; similar names:" if like else ""
    raise NotFound(f"not found{where}: {text}{more}", tuple(vertex.id for vertex in like))


def _misspelt(
    graph: LineageGraph, text: str, labels: Sequence[str], environment: str | None, dag: str | None
) -> list[Vertex]:
    """Return the vertices with a similar name: one mistake leaves one half of a name as it is."""
    by_name: dict[str, list[Vertex]] = defaultdict(list)
    for vertex in _find_by_half(graph, text, labels, environment, dag):
        for name in {vertex.name.lower(), vertex.title.lower()}:
            if vertex not in by_name[name]:
                by_name[name].append(vertex)
    similar = similar_names(text, by_name, _SUGGESTED, cutoff=0.8)
    return list(dict.fromkeys(vertex for name in similar for vertex in by_name[name]))[:_SUGGESTED]


def _find_by_half(
    graph: LineageGraph, text: str, labels: Sequence[str], environment: str | None, dag: str | None
) -> list[Vertex]:
    """Return vertices whose names contain one half of a text."""
    middle = len(text) // 2
    if middle < _MIN_HALF:
        return []
    halves = (text[:middle], text[middle:])
    return [vertex for half in halves for vertex in graph.search(half, labels, environment, dag, _COMPARED)]


def _find_in_any_case(
    graph: LineageGraph, text: str, labels: Sequence[str], environment: str | None, dag: str | None
) -> list[Vertex]:
    """Return the vertices with this name in another case.

    Graphs search in a few cases only, so a name in mixed case is found by one half, if that has one case.
    """
    wanted = text.casefold()
    short = text.rpartition(".")[2]
    by_name = graph.search(short, labels, environment, dag, _COMPARED)
    if matching := _find_by_name(by_name, wanted):
        return matching
    return _find_by_name(_find_by_half(graph, short, labels, environment, dag), wanted)


def _find_by_asset_title(
    graph: LineageGraph, text: str, labels: Sequence[str], environment: str | None, dag: str | None
) -> list[Vertex]:
    """Return the dashboards and data sets of a title such as ``dashboard/Sales``."""
    _, slash, name = text.partition("/")
    found = graph.find_named(name, labels, environment, dag) if slash and name else []
    return [vertex for vertex in found if vertex.title == text]


def _find_by_exposure(
    graph: LineageGraph, text: str, labels: Sequence[str], environment: str | None, dag: str | None
) -> list[Vertex]:
    """Return the dashboards that are the dbt exposure of this name, which is one of their aliases."""
    if _EXPOSURE not in labels:
        return []
    wanted = text.casefold()
    exposures = graph.search("", (_EXPOSURE,), environment, dag)
    return [exposure for exposure in exposures if wanted in _list_exposure_names(exposure)]


def _list_exposure_names(dashboard: Vertex) -> Iterator[str]:
    for alias in values_of(dashboard, "aliases"):
        # Behind the name is the rule that joined both, in parentheses.
        full = str(alias).rpartition(" (")[0].casefold()
        if full.startswith(DBT_NAMESPACE):
            yield from (full, full.rpartition("|")[2])


def _find_by_name(vertices: Iterable[Vertex], wanted: str) -> list[Vertex]:
    return [*{vertex.id: vertex for vertex in vertices if _has_name(vertex, wanted)}.values()]


def _has_name(vertex: Vertex, wanted: str) -> bool:
    full = vertex.qualified_name.casefold()
    return wanted in (vertex.name.casefold(), full) or ("." in wanted and full.endswith(f".{wanted}"))


def _candidates(
    graph: LineageGraph, text: str, labels: Sequence[str], environment: str | None, dag: str | None
) -> list[Vertex]:
    """Return the vertices of this name, found by id if the text can be one."""
    names = _full_names(text)
    if "|" in text or names:
        environments = [environment] if environment else graph.environments() if names else []
        ids = [text, *(dataset_id(env, name) for name in names for env in environments)]
        candidates = [
            vertex
            for vertex in graph.vertices(ids)
            if (vertex.label in labels or vertex.label == COLUMN)
            and environment in (None, vertex.environment)
            and (dag is None or dag in vertex.dags)
        ]
        if candidates:
            return candidates
    return graph.find_named(text, labels, environment, dag) or _find_without_database(
        graph, text, labels, environment, dag
    )


def _find_without_database(
    graph: LineageGraph, text: str, labels: Sequence[str], environment: str | None, dag: str | None
) -> list[Vertex]:
    """Return the tables of the name ``schema.table``, in any database."""
    schema, _, table = text.rpartition(".")
    if not schema or any(sign in text for sign in "#/"):
        return []
    end = f".{text}".casefold()
    tables = graph.find_named(table, labels, environment, dag)
    return [table for table in tables if table.qualified_name.casefold().endswith(end)]


def _full_names(text: str) -> list[DatasetName]:
    """Return the full names that a text can be: ``namespace|name``, or a URI."""
    namespace, bar, name = text.partition("|")
    if bar:
        return [DatasetName(namespace, name)]
    if "://" not in text and not text.startswith("/"):
        return []
    try:
        return [name_uri(text).name]
    except NamingError:
        return []


def _require_unique(text: str, matching: Sequence[Vertex]) -> Vertex:
    if len(matching) == 1:
        return matching[0]
    ids = tuple(sorted(vertex.id for vertex in matching))
    hint = "use a longer name, --environment or --dag"
    raise Ambiguous(f"ambiguous name: {text} ({len(ids)} matches; {hint}):", ids)


def _column(graph: LineageGraph, dataset: Vertex, column: str) -> Vertex:
    ids = [column_id(dataset.id, path) for path in _paths(column)]
    vertices = graph.vertices(ids)
    if len(vertices) > 1:
        return _require_unique(f"{dataset.title}#{column}", vertices)
    if vertices:
        return vertices[0]
    if len(ids) > 1:
        structures = graph.vertices(sorted({part for field in ids for part in structures_of(field)}))
        fields = [field for field in with_derived(graph, ids) if _is_possible(structures, field)]
        if fields:
            return _require_unique(f"{dataset.title}#{column}", fields)
    edges = graph.edges_below([dataset.id], ("has_column",))
    ids = sorted({edge.to_id for edge in edges})
    if dataset.label == _EXPOSURE and (visuals := _find_by_title(graph.vertices(ids), column)):
        return _require_unique(f"{dataset.title}#{column}", visuals)
    known = "; known columns:" if ids else "; no known columns"
    raise NotFound(f"column not found: {dataset.title}#{column}{known}", tuple(ids))


def _find_by_title(columns: Sequence[Vertex], title: str) -> list[Vertex]:
    """Return the visuals of a dashboard, or their fields, of a title: ``Sales by region.Region``."""
    names = {column.id: column.name for column in columns}
    wanted = title.casefold()
    return [
        column
        for column in columns
        if ".".join(names.get(each, "") for each in (*structures_of(column.id), column.id)).casefold()
        == wanted
    ]


def _paths(column: str) -> list[str]:
    """Return the columns and fields that ``a.b`` can be: a column of this name, or field ``b`` of ``a``."""
    names = column.split(".")
    if not all(names):
        return [column]
    dots = len(names) - 1
    joints = product((".", FIELD), repeat=dots) if dots <= _MAX_DOTS else [("." * dots), (FIELD * dots)]
    return [names[0] + "".join(map("".join, zip(joint, names[1:], strict=True))) for joint in joints]


def _is_possible(structures: Iterable[Vertex], field: Vertex) -> bool:
    """Return whether one of these columns may have a field, by its type, which no vertex has."""
    above = [vertex for vertex in structures if vertex.id in structures_of(field.id)]
    structure = max(above, key=lambda vertex: len(vertex.id), default=None)
    if structure is None:
        return False
    data_type = str(structure.properties.get("data_type") or "").lower()
    names = column_of(field.id).split(FIELD)[column_of(structure.id).count(FIELD) + 1 :]
    if any("." in name for name in names):
        return False
    if not data_type or data_type.partition("(")[0].strip() in _OPEN_TYPES:
        return True
    return all(re.search(rf"(?<!\w){re.escape(name)}[`\"]?\s*[:\s]", data_type) for name in names)

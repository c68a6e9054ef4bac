"""Elements of a graph as answers hold them: vertices, edges, subgraphs. Without Spark and Gremlin."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lineage_merge.graph_format.schema import DATASET_LABELS, LONGS, NODE_LABELS, SEMANTIC_LABELS, SETS
from lineage_merge.model.elements import column_of, dataset_of, decode, dot_path, structures_of

COLUMN = "column"
JOB = "job"
ASSERTION = "assertion"
# The labels of lineage queries. `operation` and `merge_run` are returned only on request.
VERTEX_LABELS = (*DATASET_LABELS, COLUMN, JOB)
EDGE_LABELS = ("feeds", "feeds_column", "influences", "has_column", "writes")
# Those of exports and pages: also tests, what they check and what they compare it with.
LABELS_WITH_TESTS = (*VERTEX_LABELS, ASSERTION, *EDGE_LABELS, "checks", "references")
ALL_VERTEX_LABELS = tuple(label.name for label in NODE_LABELS)

_KEYS_OF_ROWS = ("id", "label", "from", "to")
# Separators in the id of a dataset.
_MARKS = 2
_TITLED_BY_ID = frozenset(DATASET_LABELS) - {"exposure", *SEMANTIC_LABELS}
# Schemes whose OpenLineage names are paths without a leading slash.
_BUCKETS = frozenset({"s3", "gs", "abfs", "abfss", "wasb", "wasbs", "adl", "oss", "cos"})


@dataclass(frozen=True, slots=True)
class Vertex:
    """A vertex. `properties` includes `environment` and `dag_name`; sets are sorted tuples, longs are int."""

    id: str
    label: str
    properties: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def name(self) -> str:
        """The short name: the last path segment, table, column or job."""
        return str(self.properties.get("name") or name_of_id(self.id))

    @property
    def qualified_name(self) -> str:
        """The full name of a dataset or field (``address.city``), the name of others."""
        return str(self.properties.get("qualified_name") or self.name)

    @property
    def is_dataset(self) -> bool:
        """Whether it is a dataset or an exposure."""
        return self.label in DATASET_LABELS

    @property
    def title(self) -> str:
        """The display name: of a dataset and its columns that of its id, of others their full name.

        So a table that is stored as files has one name, its path, where only ids of its columns are known.
        Assets of dashboard tools, whose names are ids, have a title.
        """
        if self.label == COLUMN:
            owner = self.properties.get("dataset_title") or title_of_id(dataset_of(self.id))
            return f"{owner}#{self.qualified_name}"
        if "title" in self.properties:
            return str(self.properties["title"])
        is_by_id = self.label in _TITLED_BY_ID and self.id.count("|") >= _MARKS
        return title_of_id(self.id) if is_by_id else self.qualified_name

    @property
    def environment(self) -> str:
        """``dev``."""
        return str(self.properties.get("environment") or decode(self.id.partition("|")[0]))

    @property
    def dags(self) -> tuple[str, ...]:
        """The DAGs of the vertex, sorted."""
        return tuple(self.properties.get("dag_name", ()))


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge; `properties` includes `environment`, `dag_name` and, except for `has_column`, the job."""

    id: str
    label: str
    from_id: str
    to_id: str
    properties: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def job(self) -> str:
        """The name of the job that moves the data; "" for `has_column`."""
        return str(self.properties.get("job_name", ""))


@dataclass(frozen=True, slots=True)
class Subgraph:
    """A part of the graph: vertices by id, and edges between them, both in a fixed order."""

    vertices: Mapping[str, Vertex] = field(default_factory=dict)
    edges: tuple[Edge, ...] = ()

    @property
    def datasets(self) -> list[Vertex]:
        """The datasets among the vertices."""
        return [vertex for vertex in self.vertices.values() if vertex.is_dataset]


def subgraph(vertices: Iterable[Vertex], edges: Iterable[Edge] = ()) -> Subgraph:
    """Return vertices and edges by id, without duplicates; edges without both ends are omitted."""
    by_id = {vertex.id: vertex for vertex in sorted(vertices, key=lambda vertex: vertex.id)}
    there = {edge.id: edge for edge in edges if edge.from_id in by_id and edge.to_id in by_id}
    ordered = sorted(there.values(), key=lambda edge: (edge.from_id, edge.to_id, edge.label, edge.id))
    return Subgraph(by_id, tuple(ordered))


def values_of(vertex: Vertex, key: str) -> tuple[Any, ...]:
    """Return the values of a property: several of a set, at most one of others."""
    value = vertex.properties.get(key, ())
    return value if isinstance(value, tuple) else (value,)


def name_parts(dataset_id: str) -> tuple[str, str, str]:
    """Split a dataset id into environment, namespace and name."""
    environment, _, rest = dataset_id.partition("|")
    namespace, _, name = rest.partition("|")
    return decode(environment), decode(namespace), decode(name)


def name_of_id(identifier: str) -> str:
    """Return the last part of an id: the name of a column, job or dataset."""
    return decode(identifier.rpartition("|")[2])


def column_title(column_id: str) -> str:
    """Return the display name of a column id: ``dev.public.sales#qtysold``, of a field ``#address.city``."""
    return f"{title_of_id(dataset_of(column_id))}#{dot_path(column_of(column_id))}"


def column_order(columns: Mapping[str, Vertex], column: Vertex) -> tuple[int, str, str]:
    """Return the sort key of a column of a dataset: position, then name, each before its fields.

    `columns`: those of the dataset, by id.
    """
    top = columns.get((*structures_of(column.id), column.id)[0], column)
    return top.properties.get("position", 1 << 31), top.name, column.id


def title_of_id(dataset_id: str) -> str:
    """Return the display name of a dataset id: ``s3://tickit-raw/sales``, ``dev.public.sales``."""
    _, namespace, name = name_parts(dataset_id)
    if namespace == "file":
        return f"/{name.lstrip('/')}"
    is_path = "://" in namespace and (name.startswith("/") or namespace.partition("://")[0] in _BUCKETS)
    return f"{namespace}/{name.lstrip('/')}" if is_path else name


def title_in(vertices: Mapping[str, Vertex], identifier: str) -> str:
    """Return the title of a dataset or column, that of a column with its dataset's title if known."""
    vertex = vertices.get(identifier)
    if vertex is None:
        return title_of_id(identifier)
    owner = vertices.get(dataset_of(identifier)) if vertex.label == COLUMN else None
    return f"{owner.title}#{vertex.qualified_name}" if owner else vertex.title


def normalize_properties(values: Mapping[str, Any]) -> dict[str, Any]:
    """Convert properties of a graph or file to those of `Vertex` and `Edge`, without empty ones."""
    properties: dict[str, Any] = {}
    for key, value in values.items():
        if type(value) is str and key not in LONGS:  # fast path for most values
            properties[key] = value
            continue
        if value is None:
            continue
        many = list(value) if isinstance(value, list | tuple | set | frozenset) else [value]
        many = [value for value in many if value is not None]
        if not many:
            continue
        if key in SETS and isinstance(value, list | tuple | set | frozenset):
            properties[key] = tuple(sorted(str(value) for value in many))
        else:
            properties[key] = int(many[0]) if key in LONGS else many[0]
    return properties


def vertex_properties(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return `normalize_properties` of a vertex; `dag_name` becomes a set if it is a single text."""
    properties = normalize_properties(values)
    if isinstance(properties.get("dag_name"), str):
        properties["dag_name"] = (properties["dag_name"],)
    return properties


def vertex_of_row(row: dict[str, Any], dags: Iterable[str] | None = None) -> Vertex:
    """Return the vertex of a row of a node file; `dags`: its DAGs, if the row has none."""
    properties = vertex_properties({key: value for key, value in row.items() if key not in _KEYS_OF_ROWS})
    if dags is not None:
        properties["dag_name"] = tuple(sorted(dags))
    return Vertex(row["id"], row["label"], properties)


def edge_of_row(row: dict[str, Any]) -> Edge:
    """Return the edge of a row of an edge file."""
    properties = normalize_properties({key: value for key, value in row.items() if key not in _KEYS_OF_ROWS})
    return Edge(row["id"], row["label"], row["from"], row["to"], properties)

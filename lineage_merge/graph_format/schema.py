"""Declaration of the graph model: labels and their properties.

The Spark schemas of node and edge files, their JSON Schemas (`json_schemas`), and the cardinality of
properties in requests are derived from it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, get_args

from lineage_merge.model.elements import DatasetLabel

# A node or edge: values by property name, without unknown ones.
Row = dict[str, Any]

PropertyType = Literal["string", "long"]


@dataclass(frozen=True, slots=True)
class Property:
    """One property. `many`: a set of values, on vertices only (edges have no cardinality)."""

    name: str
    description: str
    type: PropertyType = "string"
    many: bool = False


@dataclass(frozen=True, slots=True)
class Label:
    """A kind of vertex or edge, with the names of its allowed and required properties."""

    name: str
    description: str
    properties: tuple[str, ...]
    required: tuple[str, ...] = ()


# More specific than the format of their files, which is all that some clients see of a table.
TABLE_FORMATS = frozenset({"delta", "hudi", "iceberg", "paimon"})

NODE_PROPERTIES: tuple[Property, ...] = (
    Property("name", "the short name: last path segment, table or job"),
    Property("namespace", "the namespace of the dataset as in OpenLineage"),
    Property(
        "qualified_name",
        "the full name within the namespace; of a table stored in files, the table; of a field its path",
    ),
    Property("format", "table format (iceberg, delta, hudi, paimon), or file format (parquet, csv, ...)"),
    Property("description", "description by its owner"),
    Property("location", "the path of a table's files"),
    Property("tags", "tags of the sources (dbt, OpenLineage, Lake Formation) and of `metadata`", many=True),
    Property("owners", "who is responsible: e-mail addresses or names", many=True),
    Property("meta", "custom metadata of the source (dbt's meta), as JSON"),
    Property("file_path", "file of the dbt project that defines it"),
    Property("access", "dbt's access level: private, protected or public"),
    Property("group", "dbt's group"),
    Property("contract", "enforced: dbt checks the declared columns when it builds the model"),
    Property("version", "version of a dbt model"),
    Property("latest_version", "latest version of the same dbt model"),
    Property("deprecation_date", "when the dbt model will be removed"),
    Property("materialization", "dbt's materialization: table, view, incremental, materialized_view, ..."),
    Property("constraints", "declared constraints, such as not_null or primary_key (id)", many=True),
    Property("exposure_type", "dashboard, notebook, analysis, ml or application"),
    Property("metric_type", "simple, ratio, derived, cumulative or conversion"),
    Property("url", "address of an exposure"),
    Property("maturity", "maturity of an exposure: high, medium or low"),
    Property("published_at", "when a dashboard was last published, in ms since 1970", type="long"),
    Property("title", "title of a dashboard, data set or visual, or label of a field, if it has one"),
    Property("dataset_title", "title of the dashboard or data set of a column, whose name is an id"),
    Property("sheet", "the sheet of a dashboard that has the visual"),
    Property("visual_id", "the dashboard tool's id of a visual"),
    Property("visual_type", "kind of a visual, as its tool calls it: BarChart, KPI, PivotTable, ..."),
    Property("field_id", "the dashboard tool's id of a field of a visual"),
    Property("aliases", "other identities, each with the rule that joined it", many=True),
    Property(
        "resolved_names",
        "names that the configuration of a DAG resolves to it: DAG, rule, namespace and name, separated by |",
        many=True,
    ),
    Property("data_type", "data type of a column, as its builder declares it"),
    Property("position", "position of a column in its dataset, from 0", type="long"),
    Property("job_type", "spark, dbt, ..."),
    Property("job_name", "the job that an operation or assertion belongs to"),
    Property("operation_type", "Read, Write or Transformation"),
    Property("framework", "the framework that ran the job, with its version"),
    Property("last_run_id", "the newest run (Spark's application id, dbt's invocation id)"),
    Property(
        "described_at",
        "time of the dbt manifest that describes the job or assertion, in ms since 1970",
        type="long",
    ),
    Property("last_run_at", "time of the last write of the newest run, in ms since 1970", type="long"),
    Property(
        "skipped_at",
        "when dbt last skipped the job, because something upstream failed, in ms since 1970",
        type="long",
    ),
    Property("duration_ms", "total duration of the writes of the newest run", type="long"),
    Property("sla_ms", "time in which a task of Airflow 2 is to end after the DAG run's", type="long"),
    Property("rows_written", "rows written by the newest run, summed over its writes", type="long"),
    Property(
        "last_versions",
        "snapshots (Iceberg) and versions (Delta) of tables after the newest run: table@version, by name",
    ),
    Property(
        "status",
        "of the newest run; a job: succeeded or failed; an assertion: passed, warned, failed or error",
    ),
    Property("project", "the dbt project"),
    Property("assertion_type", "unique, not_null, relationships, custom_sql, unit_test, freshness, ..."),
    Property("column_name", "the column or expression that an assertion checks"),
    Property("severity", "what a failed assertion causes: error or warn"),
    Property("failures", "number of failing rows of an assertion's newest run", type="long"),
    Property(
        "max_loaded_at",
        "newest row of a source, in ms since 1970, as its freshness check found it",
        type="long",
    ),
    Property("warn_after_ms", "age of the newest row from which a freshness check warns", type="long"),
    Property("error_after_ms", "age of the newest row from which a freshness check fails", type="long"),
    Property(
        "read_count",
        "statements in the query log of its warehouse that read it, other than those that write it",
        type="long",
    ),
    Property("last_read_at", "time of the last of these statements, in ms since 1970", type="long"),
    Property(
        "readers", "who read it: hashes or groups of users, if the configuration asks for them", many=True
    ),
    Property(
        "observed_from", "begin of the history of statements that was read, in ms since 1970", type="long"
    ),
    Property("observed_until", "its end, in ms since 1970", type="long"),
    Property("first_seen", "when a load created it in the graph, in ms since 1970", type="long"),
    Property("last_merged_at", "time of the last merge of the DAG, in ms since 1970", type="long"),
    Property("documents_read", "number of documents that the merge read", type="long"),
    Property("elements_written", "number of vertices and edges that it wrote", type="long"),
    Property("elements_retired", "number of vertices and edges that it retired", type="long"),
    Property("requests", "number of requests that its load sent to the graph", type="long"),
    Property(
        "elements_read", "number of elements, ids and numbers that its load read from the graph", type="long"
    ),
    Property("not_joined", "number of datasets that it could not join", type="long"),
    Property("report", "datasets that it joined and could not join, as JSON"),
    Property("load_token", "token of the running load"),
    Property("state", "digests of what the last load wrote"),
    Property("touched", "loads that wrote to elements of the DAG since its last load ended", many=True),
)

EDGE_PROPERTIES: tuple[Property, ...] = (
    Property("job_type", "the type of the job that moves the data"),
    Property("job_name", "the name of the job that moves the data"),
    Property(
        "operations", "the operations between two datasets, source first; several chains joined with ' | '"
    ),
    Property("sequence", "position of the write in its run, from 1", type="long"),
    Property("write_mode", "append, overwrite; merge, update or delete of a row-level operation"),
    Property("via", "collapsed temporary datasets and ephemeral models, joined with ' | '"),
    Property("column_lineage", "unavailable: the columns are unknown, for example behind an RDD"),
    Property("undeclared", "true: the dbt SQL references the source without ref() or source()"),
    Property("reads", "metadata: no rows of the source, only its metadata, such as Iceberg's snapshots"),
    Property("transformation", "how a column is transformed, or what it controls (subtypes of OpenLineage)"),
    Property("expression", "how the column is computed, as readable text"),
    Property("assumed", "true: the name of a column is assumed (sql.assume_insert_names)"),
    Property("first_seen", "when a load created it in the graph, in ms since 1970", type="long"),
)

# Written when an element is created, and never changed by a load: merges do not know it.
FIRST_SEEN = "first_seen"

# Of vertices. The tag (`dag_name`) is a key of nodes, not a declared property.
SETS = frozenset(
    {"dag_name", *(node_property.name for node_property in NODE_PROPERTIES if node_property.many)}
)
LONGS = frozenset(
    node_property.name
    for node_property in (*NODE_PROPERTIES, *EDGE_PROPERTIES)
    if node_property.type == "long"
)

# Of datasets, from dbt projects.
_OF_DBT = tuple(
    "meta file_path access group contract version latest_version deprecation_date materialization".split()
)
# Of datasets and columns, from query logs: they do not depend on a job.
_USAGE = ("read_count", "last_read_at", "readers")
_DATASET = (
    "name",
    "namespace",
    "qualified_name",
    "format",
    "description",
    "location",
    "tags",
    "owners",
    *_OF_DBT,
    "constraints",
    "aliases",
    "resolved_names",
    *_USAGE,
    FIRST_SEEN,
)
_OF_JOB = ("job_type", "job_name")
_JOB = (
    *"""
    name job_type framework described_at last_run_id last_run_at skipped_at duration_ms sla_ms rows_written
    last_versions status project owners tags
    """.split(),
    FIRST_SEEN,
)
_ASSERTION = (
    *"""
    name assertion_type description column_name severity status failures last_run_id last_run_at
    duration_ms max_loaded_at warn_after_ms error_after_ms described_at project file_path owners tags
    job_type job_name
    """.split(),
    FIRST_SEEN,
)

NODE_LABELS: tuple[Label, ...] = (
    Label("file", "a file or a directory of files", _DATASET),
    Label("table", "a table, in a warehouse or stored in files", _DATASET),
    Label("view", "a view, or a data set of a dashboard tool", (*_DATASET, "title")),
    Label("topic", "a topic of a message broker", _DATASET),
    Label("seed", "a table that dbt fills from a file of its project", _DATASET),
    Label("snapshot", "a table in which dbt records history", _DATASET),
    Label(
        "exposure",
        "a user of data: a dashboard with its visuals, a notebook",
        (*_DATASET, "exposure_type", "url", "maturity", "published_at", "title"),
    ),
    Label("semantic_model", "entities, dimensions and measures of a dbt model", _DATASET),
    Label("metric", "a metric of dbt's semantic layer", (*_DATASET, "metric_type")),
    Label("saved_query", "a query of metrics, saved in dbt's semantic layer", _DATASET),
    Label(
        "column",
        "a column of a dataset, or a field of a structure; a visual of a dashboard, or a field of a visual",
        (
            *"name qualified_name data_type description position tags owners meta constraints".split(),
            *"title dataset_title sheet visual_id visual_type field_id".split(),
            *_USAGE,
            FIRST_SEEN,
        ),
    ),
    Label("job", "a named process that moves data", _JOB),
    Label("assertion", "a test or data quality check of a dataset or column", _ASSERTION),
    Label(
        "operation",
        "a step of a job, as recorded by Spline",
        ("name", "operation_type", "job_type", "job_name", FIRST_SEEN),
    ),
    Label(
        "query_log",
        "the history of statements of a warehouse: the time for which the reads of its datasets were counted",
        ("name", "namespace", "observed_from", "observed_until", FIRST_SEEN),
    ),
    Label(
        "merge_run",
        "the last merge of a DAG",
        tuple(
            """
            name last_merged_at documents_read elements_written elements_retired requests elements_read
            not_joined report load_token state touched
            """.split()
        ),
    ),
    Label("merge_state", "digests of elements that the last load of a DAG wrote", ("name", "state")),
)

EDGE_LABELS: tuple[Label, ...] = (
    Label(
        "feeds",
        "data flows from one dataset to another",
        (
            *_OF_JOB,
            *"operations sequence write_mode via column_lineage undeclared reads".split(),
            FIRST_SEEN,
        ),
        _OF_JOB,
    ),
    Label(
        "feeds_column",
        "a column is computed from, or indirectly affected by, another; or filters or sorts a visual",
        (*_OF_JOB, "transformation", "expression", "assumed", FIRST_SEEN),
        _OF_JOB,
    ),
    Label(
        "influences",
        "a column controls which rows a dataset has",
        (*_OF_JOB, "transformation", "assumed", FIRST_SEEN),
        _OF_JOB,
    ),
    Label("has_column", "a dataset has a column, a structure a field", (FIRST_SEEN,)),
    Label("writes", "a job writes a dataset", (*_OF_JOB, FIRST_SEEN), _OF_JOB),
    Label("checks", "an assertion checks a dataset or a column", (*_OF_JOB, FIRST_SEEN), _OF_JOB),
    Label(
        "references", "an assertion compares what it checks with a column", (*_OF_JOB, FIRST_SEEN), _OF_JOB
    ),
    Label("follows", "an operation consumes another", (*_OF_JOB, FIRST_SEEN), _OF_JOB),
)

# All labels of a DAG's edges. Without labels a server may search all edges at a vertex.
EDGE_LABEL_NAMES = tuple(edge_label.name for edge_label in EDGE_LABELS)
DATASET_LABELS: tuple[str, ...] = get_args(DatasetLabel)
# Sets that a merge may know completely: a row with an empty one says that there is no value.
REPLACED_SETS = ("tags", "owners", "constraints", "readers")
# Of a dataset or column, what the last merge counted counts, whichever DAG it is of.
COUNTED = ("read_count", "readers")
# Facts that only dbt projects state, of which a project always states all.
PROJECT_FACTS = (*_OF_DBT, "exposure_type", "metric_type", "url", "maturity")
# dbt's semantic layer: no platform stores these.
SEMANTIC_LABELS = ("semantic_model", "metric", "saved_query")
# Vertices with properties of their newest run: only these change with every run of a pipeline.
RUN_LABELS = frozenset({"job", "assertion"})

NODE_KEYS = ("id", "label", "environment", "dag_name")
EDGE_KEYS = ("id", "label", "from", "to", "environment", "dag_name")


def _spark_type(declared: Property) -> str:
    one = "bigint" if declared.type == "long" else "string"
    return f"array<{one}>" if declared.many else one


def _spark_ddl(keys: Iterable[str], declared: Iterable[Property]) -> str:
    columns = [f"`{key}` string" for key in keys]
    columns += [f"`{item.name}` {_spark_type(item)}" for item in declared]
    return ", ".join(columns)


def node_ddl() -> str:
    """Return the Spark schema of node files as DDL."""
    return _spark_ddl(NODE_KEYS, NODE_PROPERTIES)


def edge_ddl() -> str:
    """Return the Spark schema of edge files as DDL."""
    return _spark_ddl(EDGE_KEYS, EDGE_PROPERTIES)


_SEPARATOR = "::"


def labels_of(label: str) -> tuple[str, ...]:
    """Return the single labels of a label as returned by the graph."""
    return tuple(label.split(_SEPARATOR))


def one_label(label: str) -> str:
    """Return one label for a vertex with several: the greatest, so that it is the same everywhere."""
    return max(labels_of(label))

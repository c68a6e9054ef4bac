"""The classic Spark session in the JVM: plans of DataFrames and SQL, and facts about their nodes.

Among these are the sources of relations and RDDs. No data is read, nothing is run.
"""

import json
import re
from collections.abc import Sequence, Set
from copy import copy
from dataclasses import replace
from datetime import UTC, tzinfo
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

from lineage_merge.column_lineage.pseudo_columns import DELTA_CHANGE, ICEBERG_CHANGE
from lineage_merge.column_lineage.table_parts import part_of_path
from lineage_merge.model.elements import Reference
from lineage_merge.model.errors import SourceError
from lineage_merge.naming import redact
from lineage_merge.sources.spline.columns.documents import PSEUDO_COLUMNS
from lineage_merge.spark_capture.plan_tree import (
    Json,
    PlanNode,
    RddSources,
    SparkRelation,
    build_tree,
    expression_id,
)

_CONSTANTS = frozenset({"LocalRelation", "OneRowRelation", "Range", "EmptyRelation", "CommandResult"})
# Lists of lists of expressions. `toJSON` writes null for those whose inner lists are Scala vectors, which
# they become when an analyzer rule rewrites the plan, for example above a union.
_NESTED = {"Expand": "projections"}
_CHANGE_DATA_FEED = "DeltaCDFRelation"
_TOPICS = re.compile(r"Subscribe\[([^\]]+)\]")


def relation_of(node: PlanNode) -> SparkRelation | None:
    """Return what a leaf of a plan reads; None for constants."""
    if node.name in _CONSTANTS:
        return None
    try:
        match node.name:
            case "LogicalRelation":
                base = node.java.relation()
                fields = json.loads(str(base.schema().json()))["fields"]
                stored = {str(field["name"]) for field in fields}
                if _class_name(base) == _CHANGE_DATA_FEED:
                    stored.difference_update(DELTA_CHANGE)
                return _drop_pseudo_columns(_version_1(node), node, stored)
            case "HiveTableRelation":
                location = node.java.tableMeta().location().toString()
                return SparkRelation((location,), None, "hive", _describe_table(node.fields.get("tableMeta")))
            case "DataSourceV2Relation" | "DataSourceV2ScanRelation":
                java = node.java if node.name == "DataSourceV2Relation" else node.java.relation()
                # `schema` is deprecated, and fails for tables of Spark 4.1 that only have `columns`.
                stored = {str(column.name()) for column in java.table().columns()}
                return _drop_pseudo_columns(version_2(java), node, stored)
    except (Py4JError, PySparkException):  # PySpark converts exceptions of Java that it knows
        return SparkRelation(problem="Spark does not report what it reads")
    return SparkRelation(problem=f"{node.name} is unknown, and so are its sources")


def _drop_pseudo_columns(relation: SparkRelation, node: PlanNode, stored: Set[str]) -> SparkRelation:
    """Return the relation with the names of the columns that it has and its source does not store."""
    output = {str(tree[0].get("name")) for tree in node.fields.get("output") or ()}
    pseudo = sorted(output - stored)
    return replace(relation, params={**relation.params, PSEUDO_COLUMNS: pseudo}) if pseudo else relation


def _version_1(node: PlanNode) -> SparkRelation:
    base = node.java.relation()
    table = node.fields.get("catalogTable")
    params = _describe_table(table)
    name = _class_name(base)
    provider = str((table or {}).get("provider") or "")
    if name == "HadoopFsRelation":
        paths = tuple(str(item) for item in items(base.location().rootPaths()))
        if node.fields.get("isStreaming"):  # the files of a micro-batch
            folder = base.options().get("basePath")
            paths = (str(folder.get()),) if folder.isDefined() else paths
        return SparkRelation(paths, None, provider or format_of(base.fileFormat()), params)
    if name == "JDBCRelation":
        return jdbc(base.jdbcOptions())
    if name == "KafkaRelation":
        match = _TOPICS.search(str(base.toString()))
        return _topics(match[1] if match else "")
    if table:
        return SparkRelation((str(node.java.catalogTable().get().location()),), None, provider, params)
    if name == _CHANGE_DATA_FEED:
        path = base.snapshotWithSchemaMode().snapshot().deltaLog().dataPath()
        return SparkRelation((str(path.toString()),), None, "delta")
    return SparkRelation(problem=f"a relation of {name}: its sources are unknown")


def _topics(listed: str) -> SparkRelation:
    uris = tuple(f"kafka:{topic.strip()}" for topic in listed.split(",") if topic.strip())
    return SparkRelation(uris, None, "kafka", problem="" if uris else "Kafka's topics are a pattern")


def version_2(java: Any) -> SparkRelation:
    """Return the source of a `DataSourceV2Relation`."""
    table = java.table()
    if str(table.getClass().getSimpleName()) == "RowLevelOperationTable":
        table = table.table()
    catalog = java.catalog()
    identifier = java.identifier()
    name = str(table.name())
    known = table.properties()
    location = known.get("location")
    data_format = str(known.get("provider") or known.get("format") or "").lower()
    class_name = str(table.getClass().getSimpleName())
    if class_name == "JDBCTable":
        return jdbc(table.jdbcOptions())
    if not (catalog.isDefined() and identifier.isDefined()):
        if location:  # a stream's source
            params = {} if "/" in name else {"table": {"identifier": name}}
            return SparkRelation((str(location),), None, data_format, params)
        if class_name == "KafkaTable":
            return _topics(str(java.extraOptions().get("subscribe") or ""))
        # Reads by path: the paths are options of the table.
        paths = items(table.paths()) if hasattr(table, "paths") else ()
        return SparkRelation(tuple(map(str, paths)), None, format_of(table))
    *above, last = map(str, [*identifier.get().namespace(), identifier.get().name()])
    whole = ".".join([*above, last])
    of_catalog = str(catalog.get().name())
    if class_name == "SparkChangelogTable":  # it knows only the name of its table
        params = {"table": {"identifier": name}}
        by_path = part_of_path(name, ICEBERG_CHANGE)
        if by_path:
            return SparkRelation((by_path[0],), None, "iceberg", params)
        return SparkRelation((), Reference(of_catalog, ".".join(above)), "iceberg", params)
    if location:
        # A table by path has its path as the name.
        params = {"table": {"identifier": name if "/" in name else f"{of_catalog}.{whole}"}}
        return SparkRelation((str(location),), None, data_format or class_name, params)
    return SparkRelation((), Reference(of_catalog, whole), data_format, {"table": {"identifier": name}})


def _class_name(relation: Any) -> str:
    """Return the class of a relation; Delta's are anonymous subclasses of Spark's."""
    java_class = relation.getClass()
    while not str(java_class.getSimpleName()):
        java_class = java_class.getSuperclass()
    return str(java_class.getSimpleName())


def jdbc(options: Any) -> SparkRelation:
    """Return the address of a JDBC source or target, without its password."""
    return SparkRelation((redact(str(options.url())) + ":" + str(options.tableOrQuery()),), None, "jdbc")


def format_of(named: Any) -> str:
    """Return ``parquet``."""
    if str(named.getClass().getSimpleName()) == "DeltaParquetFileFormat":
        return "delta"
    try:
        return str(named.shortName()).lower()
    except Py4JError:
        return (
            str(named.getClass().getSimpleName())
            .removesuffix("FileFormat")
            .removesuffix("Table")
            .removesuffix("Sink")
            .lower()
        )


def _describe_table(table: Json | None) -> dict[str, Any]:
    """Return `params.table` of a read in the agent's form."""
    identifier = (table or {}).get("identifier") or {}
    names = {key: identifier[key] for key in ("catalog", "database", "table") if key in identifier}
    return {"table": {"identifier": names}} if names.get("database") else {}


def items(sequence: Any) -> list[Any]:
    """Return the elements of a Scala `Seq`, or of a Java collection."""
    if hasattr(sequence, "__len__"):
        return list(sequence)
    return [sequence.apply(index) for index in range(sequence.size())]


_INPUT = "mapreduce.input.fileinputformat.inputdir"
_MAX_RDDS = 10_000
_RDD_CONSTANTS = frozenset({"ParallelCollectionRDD", "EmptyRDD"})


def rdd_sources(rdd: Any) -> RddSources:
    """Return the files below an RDD, and the RDDs without dependencies whose files are unknown."""
    uris: dict[str, None] = {}
    unknown: dict[str, None] = {}
    seen: set[int] = set()
    waiting = [rdd]
    while waiting and len(seen) < _MAX_RDDS:
        rdd = waiting.pop()
        if rdd.id() in seen:
            continue
        seen.add(rdd.id())
        name = str(rdd.getClass().getSimpleName())
        files = _files(name, rdd)
        if files is not None:
            uris.update(dict.fromkeys(files))
            continue
        below = [dependency.rdd() for dependency in items(rdd.dependencies())]
        if not below and name not in _RDD_CONSTANTS:
            unknown[name] = None
        waiting.extend(below)
    return RddSources(tuple(sorted(uris)), tuple(sorted(unknown)))


def _files(name: str, rdd: Any) -> list[str] | None:
    """Return the files that an RDD itself reads; None if there are none, or they are unknown."""
    try:
        if name == "FileScanRDD":
            return _list_folders(items(rdd.filePartitions()))
        if name == "DataSourceRDD":
            return None
        if name == "JDBCRDD":
            return list(jdbc(rdd.options()).uris)
        configuration = rdd.getConf()
        folders = configuration.get(_INPUT) if configuration is not None else None
    except (Py4JError, TypeError):
        return None
    # A comma in a path is escaped.
    return [re.sub(r"\\(.)", r"\1", folder) for folder in re.split(r"(?<!\\),", folders)] if folders else None


def _list_folders(partitions: list[Any]) -> list[str]:
    """Return the folders of files, without Spark's part file names."""
    folders: dict[str, None] = {}
    for partition in partitions:
        for file in partition.files():
            folders[str(file.filePath().toString())] = None
    return list(folders)


class JvmSession:
    """Plans, and facts about single nodes: a few calls per method, none runs a Spark job."""

    def __init__(self, spark: Any) -> None:
        self.java = spark._jsparkSession
        self.jvm = spark._jvm
        self.version = str(spark.version)
        self.application = str(spark.sparkContext.appName)
        self.zone = self._zone()
        # Spark's `StreamExecution`s whose batches a plan may read, besides those of active streams.
        self.streams: Sequence[Any] = ()
        self._expressions: tuple[PlanNode | None, Any] = (None, None)

    def wrap(self, java: Any) -> "JvmSession":
        """Return another session of the application, which the JVM has."""
        other = copy(self)
        other.java = java
        other._expressions = (None, None)
        return other

    def _zone(self) -> tzinfo:
        try:
            return ZoneInfo(str(self.jvm.java.util.TimeZone.getDefault().getID()))
        except (ZoneInfoNotFoundError, ValueError):
            return UTC

    def analyze(self, sql: str) -> Any:
        """Return the analyzed plan of a statement, without running it. Spark's errors are passed on."""
        state = self.java.sessionState()
        skip = self.jvm.org.apache.spark.sql.execution.CommandExecutionMode.SKIP()
        return state.executePlan(state.sqlParser().parsePlan(sql), skip).analyzed()

    def is_command(self, plan: Any) -> bool:
        """Return whether a plan is a command, which does more than return rows."""
        command = self.jvm.java.lang.Class.forName("org.apache.spark.sql.catalyst.plans.logical.Command")
        return bool(command.isInstance(plan))

    def table_identifier(self, table: str, database: str) -> Any:
        """Return Spark's identifier of a table."""
        of = self.jvm.scala.Option.apply(database)
        return self.jvm.org.apache.spark.sql.catalyst.TableIdentifier(table, of)

    def tree(self, plan: Any) -> PlanNode:
        """Return a plan as a tree, in one call, however large it is."""
        try:
            return build_tree(json.loads(plan.toJSON()), lambda: plan)
        except Py4JJavaError as error:
            raise SourceError(f"Spark cannot serialize this plan: {type_of(error)}") from None

    def output(self, node: PlanNode) -> list[Json]:
        """Return the output attributes of an operation, as trees of one node each."""
        return self.attributes(node.java.output())

    def attributes(self, output: Any) -> list[Json]:
        """Return any number of attributes with their types, in one call."""
        return [expression[0] for expression in self._expressions_of(output)]

    def complete(self, node: PlanNode) -> None:
        """Add the field of an operation that its JSON lacks."""
        field = _NESTED.get(node.name)
        if field and node.fields.get(field) is None:
            matrix = getattr(node.java, field)()
            rows = [self._expressions_of(matrix.apply(index).toList()) for index in range(matrix.size())]
            node.fields = {**node.fields, field: rows}

    def _expressions_of(self, sequence: Any) -> list[list[Json]]:
        """Return the trees of a flat sequence of expressions, in one call."""
        logical = self.jvm.org.apache.spark.sql.catalyst.plans.logical
        project = logical.Project(sequence, logical.OneRowRelation())
        listed: list[list[Json]] = json.loads(project.toJSON())[0].get("projectList") or []
        return listed

    def find_cached(self, node: PlanNode) -> PlanNode | None:
        """Return the plan behind an `InMemoryRelation`; None if it is no longer available."""
        linked = node.java.cacheBuilder().cachedPlan().logicalLink()
        return self.tree(linked.get()) if linked.isDefined() else None

    def micro_batch(self, node: PlanNode) -> PlanNode | None:
        """Return the plan of the micro-batch that a `LogicalRDD` is, as `foreachBatch` hands it over.

        None if no known stream's last batch has its attributes.
        """
        wanted = _output_ids(node)
        for stream in self._list_streams():
            execution = stream.lastExecution()
            if execution is None:  # a stream without a batch yet
                continue
            plan = execution.analyzed()
            is_sink = str(plan.getClass().getSimpleName()).startswith("WriteToMicroBatch")
            below = plan.query() if is_sink else plan
            if wanted and wanted == {expression_id(item) for item in self.attributes(below.output())}:
                return self.tree(below)
        return None

    def stream_source(self, node: PlanNode) -> SparkRelation:
        """Return what a micro-batch reads of a source of version 2."""
        if node.name == "StreamingDataSourceV2ScanRelation":  # Spark 4
            return version_2(node.java.relation())
        wanted = _output_ids(node)
        for stream in self._list_streams():
            for leaf in items(stream.analyzedPlan().collectLeaves()):
                is_source = str(leaf.getClass().getSimpleName()) == "StreamingRelationV2"
                if is_source and wanted == {expression_id(item) for item in self.attributes(leaf.output())}:
                    return version_2(leaf)
        return SparkRelation(problem="the source of a stream that is no longer known")

    def _list_streams(self) -> list[Any]:
        default = self.jvm.org.apache.spark.sql.SparkSession.getDefaultSession()
        # A batch belongs to a clone of the session, which does not know the streams.
        sessions = [self.java, *([default.get()] if default.isDefined() else [])]
        active = [query.streamingQuery() for session in sessions for query in session.streams().active()]
        return [*active, *self.streams]

    def top(self, operation: PlanNode, index: int) -> Any:
        """Return the JVM's expression at a position in an operation's expressions."""
        known, expressions = self._expressions
        if known is not operation:
            # As a vector: indexing a list visits all elements before.
            expressions = operation.java.expressions().toIndexedSeq()
            self._expressions = (operation, expressions)
        return expressions.apply(index)

    def data_type(self, node: PlanNode) -> Any:
        """Return the type of an expression in Spark's JSON, None if it is unknown."""
        try:
            return json.loads(str(node.java.dataType().json()))
        except (AttributeError, Py4JError):
            return None

    def function_name(self, node: PlanNode) -> str:
        """Return the SQL name of a function expression."""
        if node.java is None:
            return node.name.lower()
        try:
            return str(node.java.prettyName())
        except Py4JError:
            return node.name.rstrip("$").lower()


def _output_ids(node: PlanNode) -> set[int]:
    return {expression_id(tree[0]) for tree in node.fields.get("output") or ()}


def type_of(error: Py4JJavaError) -> str:
    """Return the class of a Java exception; its message may contain anything."""
    return str(error.java_exception.getClass().getSimpleName())

"""The classic Spark session in the JVM: plans of DataFrames and SQL, and facts about their nodes."""

import json
from datetime import UTC, tzinfo
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from py4j.protocol import Py4JError, Py4JJavaError

from lineage_merge.model.errors import SourceError
from lineage_merge.spark_capture.plan_tree import Json, PlanNode, RddSources, SparkRelation, build_tree
from lineage_merge.spark_capture.relations import rdd_sources, relation


class JvmSession:
    """Spark as `spark_metadata.SparkMetadata`: a few calls per method, none runs a Spark job."""

    def __init__(self, spark: Any) -> None:
        self.java = spark._jsparkSession
        self.jvm = spark._jvm
        self.version = str(spark.version)
        self.application = str(spark.sparkContext.appName)
        self.zone = self._zone()
        self._expressions: tuple[PlanNode | None, Any] = (None, None)

    def _zone(self) -> tzinfo:
        try:
            return ZoneInfo(str(self.jvm.java.util.TimeZone.getDefault().getID()))
        except (ZoneInfoNotFoundError, ValueError):
            return UTC

    def analyzed(self, sql: str) -> Any:
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
        return self.attributes(node.java.output())

    def attributes(self, output: Any) -> list[Json]:
        """Return any number of attributes with their types, in one call."""
        return [expression[0] for expression in self._expressions_of(output)]

    def rows(self, node: PlanNode, field: str) -> list[list[list[Json]]]:
        found = getattr(node.java, field)()
        return [self._expressions_of(found.apply(index).toList()) for index in range(found.size())]

    def _expressions_of(self, sequence: Any) -> list[list[Json]]:
        """Return the trees of a flat sequence of expressions, in one call."""
        logical = self.jvm.org.apache.spark.sql.catalyst.plans.logical
        project = logical.Project(sequence, logical.OneRowRelation())
        listed: list[list[Json]] = json.loads(project.toJSON())[0].get("projectList") or []
        return listed

    def relation(self, node: PlanNode) -> SparkRelation | None:
        return relation(node)

    def rdd(self, node: PlanNode) -> RddSources:
        return rdd_sources(node.java.rdd())

    def cached(self, node: PlanNode) -> PlanNode | None:
        linked = node.java.cacheBuilder().cachedPlan().logicalLink()
        return self.tree(linked.get()) if linked.isDefined() else None

    def inner(self, node: PlanNode) -> Any:
        return node.java.plan()

    def top(self, operation: PlanNode, index: int) -> Any:
        known, expressions = self._expressions
        if known is not operation:
            # As a vector: indexing a list visits all elements before.
            expressions = operation.java.expressions().toIndexedSeq()
            self._expressions = (operation, expressions)
        return expressions.apply(index)

    def function_name(self, node: PlanNode) -> str:
        try:
            return str(node.java.prettyName())
        except Py4JError:
            return node.name.rstrip("$").lower()


def type_of(error: Py4JJavaError) -> str:
    """Return the class of a Java exception; its message may contain anything."""
    return str(error.java_exception.getClass().getSimpleName())

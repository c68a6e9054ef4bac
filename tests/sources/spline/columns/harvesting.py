"""What Spline's agent records of a query that Spark has analysed: a `PlanBuilder` filled with it.

By the rules of the agent 2.2: an operation's output attribute is its child's where the id is known
there, otherwise a new one; Project, Aggregate, Window and Generate say what computes their columns, a
union is a function of its branches' columns, and everything else says nothing. A subquery's plan
is no more than text.
"""

from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from tests.sources.spline.columns.plan_building import Operation, PlanBuilder

_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions."
_PARAMETERS = {
    "Filter": ("condition",),
    "Join": ("condition",),
    "LateralJoin": ("condition", "right"),
    "Project": ("projectList",),
    "Aggregate": ("groupingExpressions", "aggregateExpressions"),
    "Window": ("windowExpressions", "partitionSpec", "orderSpec"),
    "Generate": ("generator",),
    "Expand": ("projections",),
    "Sort": ("order",),
    "Deduplicate": ("keys",),
    "FlatMapGroupsInPandas": ("groupingAttributes", "functionExpr"),
}
# What says what computes an operation's new attributes.
_COMPUTING = {"Project": "projectList", "Aggregate": "aggregateExpressions", "Window": "windowExpressions"}


def harvest(frame: DataFrame, target: str) -> PlanBuilder:
    """The plan of writing a frame to a target."""
    return harvest_plan(frame._jdf.queryExecution().analyzed(), target)


def harvest_plan(plan: Any, target: str) -> PlanBuilder:
    """The plan of writing the result of a Catalyst plan to a target."""
    builder = PlanBuilder()
    harvester = _Harvester(builder)
    operation, _ = harvester.operation(plan)
    builder.write(target, operation)
    return builder


_Known = dict[int, str]


class _Harvester:
    def __init__(self, builder: PlanBuilder) -> None:
        self._builder = builder
        self._done: dict[Any, tuple[Operation, _Known]] = {}

    def operation(self, plan: Any) -> tuple[Operation, _Known]:
        """An operation and its attributes by Spark's id. One that Spark calls equal is the same."""
        for other, done in self._done.items():
            if other.equals(plan):
                return done
        made = self._new_operation(plan)
        self._done[plan] = made
        return made

    def _new_operation(self, plan: Any) -> tuple[Operation, _Known]:
        name = plan.nodeName()
        name = name if isinstance(name, str) else str(name)
        below = [self.operation(child) for child in _each(plan.children())]
        children = [operation for operation, _ in below]
        known: _Known = {}
        for _, attributes in below:
            known.update(attributes)
        output = list(_each(plan.output()))
        ids = [_id(each) for each in output]
        if name.startswith(("Relation", "LogicalRelation", "HiveTableRelation")):
            read = self._read(plan, output)
            return read, dict(zip(ids, read.output, strict=True))
        if name == "Union":
            united = self._union(children, output)
            operation = self._builder.operation(name, *children, output=united)
            return operation, dict(zip(ids, united, strict=True))
        node = _Node(self._builder, known)
        node.computing = self._computing(plan, name)
        values = [node.attribute(each) for each in output]
        uses = dict(self._uses(plan, name, node))
        params = self._params(plan, name)
        operation = self._builder.operation(name, *children, output=values, uses=uses, params=params)
        return operation, dict(zip(ids, values, strict=True))

    def _read(self, plan: Any, output: list[Any]) -> Operation:
        if plan.catalogTable().isDefined():
            name = plan.catalogTable().get().identifier().table()
        else:
            name = plan.relation().location().rootPaths().head().getName()
        columns = [f"{each.name()} {_type(self._builder, each)}" for each in output]
        return self._builder.read(f"s3://lake/{name}", *columns)

    def _union(self, children: list[Operation], output: list[Any]) -> list[str]:
        made: list[str] = []
        for position, each in enumerate(output):
            data_type = _type(self._builder, each)
            branches = [child.output[position] for child in children]
            function = self._builder.call(
                "", *branches, name="union", data_type=data_type, extra={"synthetic": True}
            )
            made.append(self._builder.attribute(children[0].names[position], data_type, function))
        return made

    @staticmethod
    def _computing(plan: Any, name: str) -> dict[int, Any]:
        if name == "Generate":
            return {_id(each): plan.generator() for each in _each(plan.generatorOutput())}
        if name not in _COMPUTING:
            return {}
        expressions = _each(getattr(plan, _COMPUTING[name])())
        return {_id(each): each for each in expressions if _class(each) == "Alias"}

    def _uses(self, plan: Any, name: str, node: "_Node") -> Iterator[tuple[str, str]]:
        for parameter in _PARAMETERS.get(name, ()):
            value = getattr(plan, parameter)()
            kind = value.getClass().getName()
            if parameter == "projections":
                for row, expressions in enumerate(_each(value)):
                    for column, each in enumerate(_each(expressions)):
                        yield f"{parameter}.{row}.{column}", node.value(each)
            elif parameter == "order":
                for index, each in enumerate(_each(value)):
                    yield f"{parameter}.{index}.expression", node.value(each.child())
            elif kind == "scala.Some":
                yield parameter, node.value(value.get())
            elif kind.startswith("scala.collection"):
                for index, each in enumerate(_each(value)):
                    yield f"{parameter}.{index}", node.value(each)
            elif kind != "scala.None$":
                yield parameter, node.value(value)

    @staticmethod
    def _params(plan: Any, name: str) -> dict[str, Any]:
        if name == "CTERelationRef":
            return {"cteId": plan.cteId()}
        if name == "View":
            return {"desc": plan.desc().toString(), "isTempView": plan.isTempView()}
        if name == "FlatMapCoGroupsInPandas":
            lengths = ("leftGroupingLen", "rightGroupingLen")
            return {each: getattr(plan, each)() for each in lengths}
        return {"id": plan.id()} if name == "CTERelationDef" else {}


class _Node:
    """The values of one operation; each expression is recorded once."""

    def __init__(self, builder: PlanBuilder, known: _Known) -> None:
        self._builder = builder
        self._known = known
        self._made: _Known = {}
        self._expressions: list[tuple[Any, str]] = []
        self.computing: dict[int, Any] = {}

    def attribute(self, attribute: Any) -> str:
        each = _id(attribute)
        if each in self._known:
            return self._known[each]
        if each not in self._made:
            computed = self.value(self.computing[each]) if each in self.computing else None
            data_type = _type(self._builder, attribute)
            self._made[each] = self._builder.attribute(attribute.name(), data_type, computed)
        return self._made[each]

    def value(self, expression: Any) -> str:
        class_name = _class(expression)
        if class_name == "AttributeReference":
            return self.attribute(expression)
        for other, made in self._expressions:
            if other.equals(expression):
                return made
        made = self._expression(expression, class_name)
        self._expressions.append((expression, made))
        return made

    def _expression(self, expression: Any, class_name: str) -> str:
        if class_name == "Literal":
            value = expression.value()
            if value is not None and not isinstance(value, bool | int | float | str):
                value = value.toString()
            return self._builder.literal(value, _type(self._builder, expression))
        arguments = [self.value(child) for child in _each(expression.children())]
        untyped = class_name in (
            "WindowSpecDefinition",
            "SpecifiedWindowFrame",
            "UnspecifiedFrame$",
            "ListQuery",
            "WithField",
            "DropField",
        )
        return self._builder.call(
            class_name,
            *arguments,
            name=expression.name() if class_name == "Alias" else expression.prettyName(),
            data_type="" if untyped else _type(self._builder, expression),
            params=_expression_params(expression, class_name),
        )


def _expression_params(expression: Any, class_name: str) -> dict[str, Any]:
    if class_name in ("ScalarSubquery", "ListQuery", "Exists", "LateralSubquery"):
        outer = [each.toString() for each in _each(expression.outerAttrs())]
        found: dict[str, Any] = {"plan": expression.plan().toString()}
        if outer:
            found["outerAttrs"] = outer
        if class_name == "ListQuery":
            found["numCols"] = expression.numCols()
        return found
    if class_name in ("PythonUDF", "NamedLambdaVariable"):
        return {"name": expression.name()}
    if class_name == "aggregate.AggregateExpression":
        return {"isDistinct": expression.isDistinct()}
    if class_name == "SortOrder":
        return {"direction": expression.direction().toString()}
    if class_name == "GetArrayStructFields":
        return {"field": expression.field().toString(), "ordinal": expression.ordinal()}
    if class_name in ("WithField", "DropField"):
        return {"name": expression.name()}
    if class_name == "GetStructField":
        name = expression.name()
        return {"ordinal": expression.ordinal(), **({"name": name.get()} if name.isDefined() else {})}
    return {}


def _type(builder: PlanBuilder, typed: Any) -> str:
    """The id of a type: its text; the plan gets the types of a structure's fields, too."""
    return _add_type(builder, typed.dataType())


def _add_type(builder: PlanBuilder, data_type: Any) -> str:
    name: str = data_type.catalogString()
    if data_type.typeName() == "struct":
        fields = [
            {"name": field.name(), "dataTypeId": _add_type(builder, field.dataType())}
            for field in data_type.fields()
        ]
        return builder.complex_type(name, {"_typeHint": "dt.Struct", "fields": fields})
    if data_type.typeName() == "array":
        element = _add_type(builder, data_type.elementType())
        return builder.complex_type(name, {"_typeHint": "dt.Array", "elementDataTypeId": element})
    return name


def _each(sequence: Any) -> Iterator[Any]:
    return (sequence.apply(index) for index in range(sequence.length()))


def _class(expression: Any) -> str:
    name: str = expression.getClass().getName()
    return name.removeprefix(_EXPRESSIONS)


def _id(attribute: Any) -> int:
    found: int = attribute.exprId().id()
    return found


def harvest_insert(spark: SparkSession, statement: str, target: str) -> PlanBuilder:
    """The plan of an INSERT that is analysed, not run."""
    jvm = spark._jvm
    assert jvm is not None
    state = spark._jsparkSession.sessionState()
    mode = getattr(jvm, "org.apache.spark.sql.execution.CommandExecutionMode$").__getattr__("MODULE$").SKIP()
    execution = state.executePlan(state.sqlParser().parsePlan(statement), mode)
    return harvest_plan(execution.analyzed().query(), target)

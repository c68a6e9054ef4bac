"""What Spark would do for a plan: operations bottom up, attributes, and expressions between them. Pure."""

from dataclasses import dataclass, field
from typing import Any

from .pipeline import At, Dataset, Made, Plan


@dataclass(frozen=True, slots=True)
class Attribute:
    """A column that an operation makes; `computed_by` is an expression's id, "" for one that is read."""

    id: str
    name: str
    data_type: str
    computed_by: str = ""
    derives_from: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Expression:
    """A call over attributes and expressions, or a constant."""

    id: str
    class_name: str
    name: str
    data_type: str
    arguments: tuple[str, ...] = ()
    params: dict[str, Any] = field(default_factory=dict)
    hint: str = "Generic"
    value: Any = None


@dataclass(frozen=True, slots=True)
class Operation:
    """`output` and `new` are attributes, `uses` parameters by path; `schema` is who put that output out."""

    id: str
    name: str
    children: tuple[str, ...]
    output: tuple[str, ...]
    schema: str
    new: tuple[str, ...] = ()
    uses: tuple[tuple[str, str], ...] = ()
    params: dict[str, Any] = field(default_factory=dict)
    read: Dataset | None = None


@dataclass(slots=True)
class Drawn:
    """All of one plan."""

    operations: list[Operation] = field(default_factory=list)
    attributes: list[Attribute] = field(default_factory=list)
    expressions: list[Expression] = field(default_factory=list)


def draw(plan: Plan) -> Drawn:
    """Reads (filtered), joined from the left, sorted, projected, computed step by step, grouped, written."""
    return _Drawing(plan).drawn()


class _Drawing:
    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._made = Drawn()
        self._read: dict[At, str] = {}

    def drawn(self) -> Drawn:
        top = self._joined([self._source(place) for place in range(len(self._plan.reads))])
        if self._plan.sorts:
            top = self._sorted(top)
        top = self._computed(top)
        self._operation("Write", (top,), top.output)
        # Spark's agent counts from the top: op-0 is the write.
        last = len(self._made.operations) - 1
        ids = {each.id: f"op-{last - place}" for place, each in enumerate(self._made.operations)}
        self._made.operations = [_renamed(each, ids) for each in self._made.operations]
        return self._made

    # Operations

    def _source(self, place: int) -> Operation:
        read = self._plan.reads[place]
        output = tuple(self._attribute(name) for name in read.columns)
        self._read |= {At(place, name): value for name, value in zip(read.columns, output, strict=True)}
        top = self._operation("Read", (), output, new=output, read=read)
        # A constant that changes from version to version makes another plan of it, as dates do.
        limit = self._plan.version
        conditions = [
            self._call(
                "GreaterThan", self._read[each], self._constant(limit), data_type="boolean", hint="Binary"
            )
            for each in self._plan.filters
            if each.read == place
        ]
        if not conditions:
            return top
        condition = self._all_of(conditions)
        return self._operation("Filter", (top,), output, uses=(("['condition']", condition),))

    def _joined(self, sides: list[Operation]) -> Operation:
        top = sides[0]
        for place, side in enumerate(sides[1:], 1):
            pairs = [pair for pair in self._plan.joins if max(pair[0].read, pair[1].read) == place]
            conditions = [
                self._call(
                    "EqualTo", *(self._read[each] for each in pair), data_type="boolean", hint="Binary"
                )
                for pair in pairs
            ]
            uses = (("['condition']", self._all_of(conditions)),) if conditions else ()
            kind = {"hint": "", "joinType": "INNER" if conditions else "CROSS"}
            top = self._operation("Join", (top, side), top.output + side.output, uses=uses, params=kind)
        return top

    def _sorted(self, below: Operation) -> Operation:
        uses = tuple(
            (f"['order'][{index}]['expression']", self._read[each])
            for index, each in enumerate(self._plan.sorts)
        )
        order = [
            {"expression": {"__attrId": value}, "direction": "ASC", "nullOrdering": "NULLS FIRST"}
            for _, value in uses
        ]
        return self._operation(
            "Sort", (below,), below.output, uses=uses, params={"order": order, "global": True}
        )

    def _computed(self, top: Operation) -> Operation:
        columns = self._plan.columns
        # Sums take their sources as they are; everything else is ready below them.
        ready = {each.name: self._column(each) for each in columns if each.how != "aggregation"}
        carried = tuple(
            dict.fromkeys(
                self._read[source] for each in columns if each.how == "aggregation" for source in each.sources
            )
        )
        top = self._project(top, (*ready.values(), *carried))
        changing = [each.name for each in columns if each.how == "transformation"]
        unwanted: tuple[str, ...] = ()
        for step in range(self._plan.steps):
            if changing:
                name = changing[step % len(changing)]
                ready[name] = self._alias(name, self._call("Upper", ready[name]), (ready[name],))
            else:
                below = unwanted or top.output[:1]
                unwanted = (self._alias(f"step_{step}", self._call("Upper", *below), below),)
            top = self._project(top, (*ready.values(), *carried, *unwanted))
        if len(ready) == len(columns):
            return self._project(top, tuple(ready.values())) if unwanted else top
        grouped = tuple(ready.values())
        values = tuple(ready[each.name] if each.name in ready else self._column(each) for each in columns)
        uses = tuple((f"['groupingExpressions'][{index}]", value) for index, value in enumerate(grouped))
        uses += tuple(self._used("aggregateExpressions", values, top))
        return self._operation("Aggregate", (top,), values, new=_without(values, top.output), uses=uses)

    def _project(self, below: Operation, output: tuple[str, ...]) -> Operation:
        uses = tuple(self._used("projectList", output, below))
        return self._operation("Project", (below,), output, new=_without(output, below.output), uses=uses)

    def _used(self, parameter: str, output: tuple[str, ...], below: Operation) -> list[tuple[str, str]]:
        """A projection names what it passes on by attribute, what it computes by expression."""
        known = set(below.output)
        return [
            (f"['{parameter}'][{index}]", value if value in known else self._computed_by(value))
            for index, value in enumerate(output)
        ]

    def _computed_by(self, value: str) -> str:
        return self._made.attributes[int(value.removeprefix("attr-"))].computed_by

    def _operation(
        self, name: str, children: tuple[Operation, ...], output: tuple[str, ...], **more: Any
    ) -> Operation:
        own = f"place-{len(self._made.operations)}"
        same = next((each.schema for each in children if each.output == output), own)
        made = Operation(own, name, tuple(each.id for each in children), output, same, **more)
        self._made.operations.append(made)
        return made

    # Values

    def _column(self, made: Made) -> str:
        sources = tuple(dict.fromkeys(self._read[each] for each in made.sources))
        match made.how:
            case "identity":
                same = made.sources[0].column == made.name
                return sources[0] if same else self._alias(made.name, sources[0], sources)
            case "transformation":
                value = self._call("Concat", *sources)
            case "aggregation":
                # One argument, as a sum has: of several, their sum.
                argument = sources[0] if len(sources) == 1 else self._call("Concat", *sources)
                total = self._call("aggregate.Sum", argument, data_type="double")
                params = {"isDistinct": False, "mode": "Complete"}
                value = self._call("aggregate.AggregateExpression", total, data_type="double", params=params)
            case "conditional":
                tests = [self._call("IsNotNull", each, data_type="boolean") for each in sources]
                condition = self._all_of(tests)
                value = self._call("CaseWhen", condition, self._constant(1), self._constant(0))
        return self._alias(made.name, value, sources)

    def _alias(self, name: str, value: str, sources: tuple[str, ...]) -> str:
        alias = self._call("Alias", value, name=name, params={"name": name}, hint="Alias")
        return self._attribute(name, computed_by=alias, derives_from=sources)

    def _attribute(self, name: str, **more: Any) -> str:
        own = f"attr-{len(self._made.attributes)}"
        data_type = ("string", "bigint", "double")[sum(name.encode()) % 3]
        self._made.attributes.append(Attribute(own, name, data_type, **more))
        return own

    def _all_of(self, conditions: list[str]) -> str:
        whole = conditions[0]
        for each in conditions[1:]:
            whole = self._call("And", whole, each, data_type="boolean", hint="Binary")
        return whole

    def _call(
        self, class_name: str, *arguments: str, name: str = "", data_type: str = "string", **more: Any
    ) -> str:
        own = f"expr-{len(self._made.expressions)}"
        shown = name or class_name.rpartition(".")[2].lower()
        self._made.expressions.append(Expression(own, class_name, shown, data_type, arguments, **more))
        return own

    def _constant(self, value: int) -> str:
        own = f"expr-{len(self._made.expressions)}"
        self._made.expressions.append(Expression(own, "Literal", "", "bigint", value=value))
        return own


def _without(values: tuple[str, ...], known: tuple[str, ...]) -> tuple[str, ...]:
    seen = set(known)
    return tuple(each for each in values if each not in seen)


def _renamed(operation: Operation, ids: dict[str, str]) -> Operation:
    return Operation(
        ids[operation.id],
        operation.name,
        tuple(ids[each] for each in operation.children),
        operation.output,
        ids[operation.schema],
        operation.new,
        operation.uses,
        operation.params,
        operation.read,
    )

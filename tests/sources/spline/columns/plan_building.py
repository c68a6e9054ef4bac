"""One plan of Spline with its columns, as its server writes it: attributes, expressions, operations.

::

    plan = PlanBuilder()
    sales = plan.read("s3://raw/sales", "id bigint", "price double")
    double = plan.attribute("twice", "double", plan.call("Add", sales["price"], sales["price"]))
    project = plan.operation("Project", sales, output=[sales["id"], double])
    plan.write("s3://lake/sales", project)
    column_lineage(plan.documents())

Every method returns the id that edges name, such as ``expression/plan:expr-3``.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lineage_merge.sources.spline.columns.documents import PlanColumns

Document = dict[str, Any]
PLAN = "plan"


@dataclass(frozen=True)
class Operation:
    """An operation's id and what it puts out, by position; `[name]` gives an attribute."""

    id: str
    output: tuple[str, ...]
    names: tuple[str, ...]

    def __getitem__(self, name: str) -> str:
        return self.output[self.names.index(name)]


@dataclass
class PlanBuilder:
    """Collections of one plan that fill with each call."""

    application: str = "job"
    contents: dict[str, list[Document]] = field(default_factory=lambda: defaultdict(list))
    types: dict[str, Document] = field(default_factory=dict)
    _names: dict[str, str] = field(default_factory=dict)
    _edges: int = 0

    def documents(self, leave_out: Iterable[str] = ()) -> PlanColumns:
        """All documents, `leave_out` naming collections that a database lacks."""
        remaining = {name: each for name, each in self.contents.items() if name not in set(leave_out)}
        header = {"_key": PLAN, "name": self.application, "extra": {"dataTypes": list(self.types.values())}}
        return PlanColumns(header, remaining, self.application)

    # Data types

    def type(self, text: str) -> str:
        """The id of a type: a simple one, if the plan has none of this name."""
        if text in self.types:
            return text
        return self.complex_type(text, {"_typeHint": "dt.Simple", "name": text})

    def complex_type(self, name: str, fields: Document) -> str:
        """The id of a type of any kind; `fields` name other types by id."""
        self.types[name] = {"id": name, "nullable": True, **fields}
        return name

    # Values

    def attribute(
        self,
        name: str,
        data_type: str = "int",
        computed_by: str | None = None,
        derives_from: Iterable[str] = (),
    ) -> str:
        """A new attribute."""
        made = self._vertex("attribute", "attr", dataType=self.type(data_type), name=name, extra={})
        self._names[made] = name
        if computed_by:
            self._edge("computedBy", made, computed_by, index=0)
        for other in derives_from:
            self._edge("derivesFrom", made, other)
        return made

    def call(
        self,
        class_name: str,
        *arguments: str,
        name: str | None = None,
        data_type: str = "int",
        params: Mapping[str, Any] | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> str:
        """An expression of a Catalyst class over attributes and other expressions."""
        made = self._vertex(
            "expression",
            "expr",
            dataType=self.type(data_type),
            extra={"simpleClassName": class_name, "_typeHint": "expr.Generic"} if extra is None else extra,
            name=name or class_name.rpartition(".")[2].lower(),
            arity=len(arguments),
            params=dict(params or {}),
            type="Func",
        )
        for index, each in enumerate(arguments):
            self._edge("takes", made, each, index=index)
        return made

    def literal(self, value: Any, data_type: str = "int") -> str:
        """A constant."""
        return self._vertex(
            "expression",
            "expr",
            dataType=self.type(data_type),
            extra={"simpleClassName": "Literal", "_typeHint": "expr.Literal"},
            value=value,
            type="Lit",
        )

    def alias(self, name: str, value: str, data_type: str = "int") -> str:
        """A new attribute that is another value under a name, as `value AS name` gives it."""
        return self.attribute(name, data_type, self.call("Alias", value, name=name, data_type=data_type))

    # Operations

    def read(self, uri: str | Sequence[str], *columns: str, name: str = "LogicalRelation") -> Operation:
        """A read of columns such as ``"price double"``."""
        uris = [uri] if isinstance(uri, str) else list(uri)
        pairs = [each.partition(" ") for each in columns]
        output = [self.attribute(column, data_type or "int") for column, _, data_type in pairs]
        return self._operation(name, (), output, type="Read", inputSources=uris)

    def operation(
        self,
        name: str,
        *children: Operation,
        output: Sequence[str] | None = None,
        uses: Mapping[str, str] | None = None,
        params: Mapping[str, Any] | None = None,
        has_schema: bool = True,
    ) -> Operation:
        """A transformation; `uses` gives parameters by path (``projections.0.2``), without `output` that
        of its first child."""
        values = output if output is not None else children[0].output if children else ()
        made = self._operation(
            name, children, values, has_schema=has_schema, type="Transformation", params=dict(params or {})
        )
        for path, value in (uses or {}).items():
            steps = "".join(f"[{each}]" if each.isdigit() else f"['{each}']" for each in path.split("."))
            self._edge("uses", made.id, value, path=f"$['params']{steps}")
        return made

    def write(
        self,
        uri: str,
        child: Operation,
        name: str = "InsertIntoHadoopFsRelationCommand",
        params: Mapping[str, Any] | None = None,
    ) -> Operation:
        """The write, which puts out what its child does."""
        return self._operation(
            name, (child,), child.output, type="Write", outputSource=uri, params=dict(params or {})
        )

    def _operation(
        self,
        name: str,
        children: Sequence[Operation],
        output: Sequence[str],
        has_schema: bool = True,
        **fields: Any,
    ) -> Operation:
        made = self._vertex("operation", "op", name=name, extra={}, **{"params": {}, **fields})
        for index, child in enumerate(children):
            self._edge("follows", made, child.id, index=index)
        if output and has_schema:
            schema = self._vertex("schema", "op")
            self._edge("emits", made, schema)
            for index, attribute in enumerate(output):
                self._edge("consistsOf", schema, attribute, index=index)
        known = {each for child in children for each in child.output}
        for attribute in output:
            if attribute not in known:
                self._edge("produces", made, attribute)
        return Operation(made, tuple(output), tuple(self._names[each] for each in output))

    def _vertex(self, collection: str, prefix: str, **fields: Any) -> str:
        key = f"{PLAN}:{prefix}-{len(self.contents[collection])}"
        self.contents[collection].append({"_key": key, "_belongsTo": f"executionPlan/{PLAN}", **fields})
        return f"{collection}/{key}"

    def _edge(self, kind: str, start: str, end: str, **fields: Any) -> None:
        self._edges += 1
        edge = {"_key": str(self._edges), "_from": start, "_to": end, **fields}
        self.contents[kind].append({**edge, "_belongsTo": f"executionPlan/{PLAN}"})

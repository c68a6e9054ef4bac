"""Conversion of an analyzed plan to the document that Spline's agent would send (producer API 1.2).

So everything that applies to such documents (`sources/spline`) applies here. Two things are more precise than
from the agent: a subquery's plan is operations, not text, and a cached DataFrame has its inputs.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lineage_merge import naming
from lineage_merge.model.elements import Problem, Reference
from lineage_merge.sources.spline.documents import ROW_OPERATIONS, Document
from lineage_merge.spark_capture.expressions import AttributeIds, Expressions, Ref
from lineage_merge.spark_capture.plan_tree import (
    Json,
    PlanNode,
    SparkRelation,
    bottom_up,
    build_tree,
    expression_id,
    is_tree,
    singleton,
)
from lineage_merge.spark_capture.row_operations import ROW_OPERATION, RowOperation
from lineage_merge.spark_capture.session import JvmSession, rdd_sources, relation_of

# Operations whose output is their input.
_PASSING = frozenset(
    """
    CTERelationDef CollectMetrics Deduplicate DeduplicateWithinWatermark Distinct Except Filter
    GlobalLimit Intersect LocalLimit Offset RebalancePartitions Repartition RepartitionByExpression
    ResolvedHint Sample Sort SubqueryAlias Tail UnresolvedHint View WithWindowDefinition
    """.split()
)
# The field with an operation's output; what is computed there has a name.
_LISTING = {
    "Project": "projectList",
    "Aggregate": "aggregateExpressions",
    "SerializeFromObject": "serializer",
    "Expand": "output",
}
# Fields that are numbers.
_PLAIN = frozenset({"id", "cteId", "leftGroupingLen", "rightGroupingLen"})
_ONE_SIDE = frozenset({"LeftSemi", "LeftAnti"})
_READS = "reads"
_STREAM_SOURCES = frozenset({"StreamingDataSourceV2Relation", "StreamingDataSourceV2ScanRelation"})
_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")


class PlanDocument:
    """Converts one plan; the result is in `document`.

    `tables` maps the addresses of tables without a path (`naming.table_uri`) to the tables.
    """

    def __init__(self, metadata: JvmSession, document_name: str) -> None:
        self._metadata = metadata
        self._document_name = document_name
        self._expressions = Expressions(metadata, self._subquery, self._add_attribute)
        self._attributes: dict[str, Document] = {}
        self._operations: list[Document] = []
        self._renamed: dict[int, AttributeIds] = {}
        self._outputs: dict[int, list[str]] = {}
        self.tables: dict[str, Reference] = {}
        self.problems: list[Problem] = []

    def document(
        self,
        root: PlanNode,
        target: Sequence[Json],
        write: Document,
        application: str,
        version: str,
        plan_id: str,
    ) -> Document:
        """Return the plan below a write with the columns `target`: attributes, as trees of one node each."""
        top = self._read(root, {})
        for attribute in target:
            self._add_type(self._name_fields(attribute, self._renamed[id(root)]), attribute)
        reads = [operation for operation in self._operations if _READS in operation]
        others = [operation for operation in self._operations if _READS not in operation]
        for read in reads:
            read["inputSources"] = read.pop(_READS)
        return {
            "id": plan_id,
            "name": application,
            "systemInfo": {"name": "spark", "version": version},
            "operations": {
                "write": {"name": "Write", **write, "id": "write", "childIds": [top]},
                "reads": reads,
                "other": others,
            },
            "attributes": list(self._attributes.values()),
            "expressions": {
                "functions": self._expressions.functions,
                "constants": self._expressions.constants,
            },
            "extraInfo": {
                "appName": application,
                "dataTypes": list(self._expressions.types.values()),
            },
        }

    # Operations.

    def _read(self, root: PlanNode, outer: AttributeIds) -> str:
        """Add the operations of a plan; return the id of the last."""
        identifier = ""
        keys: dict[int, str] = {}
        for node in bottom_up(root):
            identifier = keys[id(node)] = self._operation(
                node, [keys[id(child)] for child in node.children], outer
            )
        return identifier

    def _operation(self, node: PlanNode, children: list[str], outer: AttributeIds) -> str:
        made: Document = {"id": "", "name": node.name, "childIds": children}
        self._metadata.complete(node)
        names = self._renamed[id(node)] = self._visible_attributes(node)
        if not node.children:
            self._leaf(node, made)
        else:
            made["params"] = self._params(node, names, outer)
            special = _SPECIAL.get(node.name)
            self._outputs[id(node)] = special(self, node, made) if special else self._output(node)
        made["id"] = f"op-{len(self._operations)}"
        if self._outputs[id(node)]:
            made["output"] = self._outputs[id(node)]
        self._operations.append(made)
        return str(made["id"])

    def _visible_attributes(self, node: PlanNode) -> AttributeIds:
        """Return the renamed attributes visible to an operation."""
        seen: AttributeIds = {}
        for child in node.children:
            renamed = self._renamed[id(child)]
            seen = {**seen, **renamed} if seen and renamed else renamed or seen
        return seen

    def _params(self, node: PlanNode, names: AttributeIds, outer: AttributeIds) -> Document:
        """Return the fields of an operation, with references in place of expressions."""
        count = 0

        def value(field: Any) -> Any:
            nonlocal count
            if isinstance(field, PlanNode):
                return self._parameter(field, names, outer)
            if is_tree(field):
                tree = build_tree(field, lambda index=count: self._metadata.top(node, index))  # type: ignore[misc]
                count += 1
                return self._parameter(tree, names, outer)
            return [value(member) for member in field] if isinstance(field, list) else None

        lists = {name: value(field) for name, field in node.fields.items() if isinstance(field, list)}
        plain = _PLAIN & node.fields.keys()
        made = {**lists, **{name: node.fields[name] for name in plain}}
        if kind := singleton(node.fields.get("joinType")):
            made["joinType"] = _WORD.sub(" ", kind).upper()  # as the agent writes it: LEFT OUTER
        return made

    def _parameter(self, tree: PlanNode, names: AttributeIds, outer: AttributeIds) -> Ref | Document:
        if tree.name == "SortOrder":
            return {"expression": self._expressions.reference(tree.children[0], names, outer)}
        reference = self._expressions.reference(tree, names, outer)
        if tree.name == "Alias":
            identifier = f"attr-{expression_id(tree.fields)}"
            self._add_attribute(identifier, tree.fields)
            self._attributes[identifier].setdefault("childRefs", [reference])
        return reference

    # Output of operations.

    def _output(self, node: PlanNode) -> list[str]:
        below = [self._outputs[id(child)] for child in node.children]
        names = self._renamed[id(node)]
        if node.name in _PASSING:
            return below[0]
        if node.name in _LISTING:
            return [self._name_fields(tree[0], names) for tree in node.fields.get(_LISTING[node.name]) or ()]
        if node.name == "WithCTE":
            return below[-1]
        if node.name == "Window":
            new = [
                self._name_fields(expression[0], names)
                for expression in node.fields.get("windowExpressions") or ()
            ]
            return [*below[0], *new]
        if node.name == "Join" and singleton(node.fields.get("joinType")) in _ONE_SIDE:
            return below[0]
        if node.name == "Join" and "ExistenceJoin" not in singleton(node.fields.get("joinType")):
            return [attribute for attributes in below for attribute in attributes]
        return [self._name_fields(attribute, names) for attribute in self._metadata.output(node)]

    def _union(self, node: PlanNode, made: Document) -> list[str]:
        """Add new attributes: Spark continues with those of the first side."""
        sides = [self._outputs[id(child)] for child in node.children]
        if self._expressions.has_structs:
            # Their fields are matched by position.
            for child, side in zip(node.children, sides, strict=True):
                for identifier, attribute in zip(side, self._metadata.output(child), strict=False):
                    self._add_type(identifier, attribute)
        renamed = dict(self._renamed[id(node)])
        output: list[str] = []
        for parts in zip(*sides, strict=False):
            first = self._attributes[parts[0]]
            function = self._expressions.function("", "union", [{"__attrId": part} for part in parts])
            identifier = self._new_id(parts[0])
            self._attributes[identifier] = {**first, "id": identifier, "childRefs": [function]}
            renamed[_spark_id(parts[0])] = identifier
            output.append(identifier)
        self._renamed[id(node)] = renamed
        return output

    def _generate(self, node: PlanNode, made: Document) -> list[str]:
        generator = made["params"].get("generator")
        new = []
        for tree in node.fields.get("generatorOutput") or ():
            identifier = self._name_fields(tree[0], {})
            if generator and "childRefs" not in self._attributes[identifier]:
                self._attributes[identifier]["childRefs"] = [generator]
            new.append(identifier)
        return [*self._outputs[id(node.children[0])], *new]

    def _row_operation(self, node: PlanNode, made: Document) -> list[str]:
        """Add the columns of a row-level operation's target, as what the operation assigns to them."""
        operation: RowOperation = node.fields[ROW_OPERATION]
        names = self._renamed[id(node)]
        renamed = dict(names)
        output: list[str] = []
        for column, values in zip(operation.columns, operation.values, strict=True):
            references = [self._expressions.reference(value, names, {}) for value in values]
            identifier = self._new_id(f"attr-{expression_id(column)}")
            self._attributes[identifier] = {"id": identifier, "name": str(column["name"])}
            called = "union" if references else "unchanged"
            self._attributes[identifier]["childRefs"] = [self._expressions.function("", called, references)]
            self._add_type(identifier, column)
            renamed[expression_id(column)] = identifier
            output.append(identifier)
        self._renamed[id(node)] = renamed
        return output

    # Leaves.

    def _leaf(self, node: PlanNode, made: Document) -> None:
        if node.name == "InMemoryRelation":
            self._add_cached(node, made)
            return
        attributes = [tree[0] for tree in node.fields.get("output") or ()] or self._metadata.output(node)
        if node.name == "CTERelationRef":
            # The first reference to a CTE has the attributes of its definition.
            ids = [expression_id(attribute) for attribute in attributes]
            self._renamed[id(node)] = {identifier: self._new_id(f"attr-{identifier}") for identifier in ids}
            made["params"] = {"cteId": node.fields.get("cteId")}
        self._outputs[id(node)] = [
            self._name_fields(attribute, self._renamed[id(node)]) for attribute in attributes
        ]
        if node.name == "CTERelationRef":
            return
        if node.name == "LogicalRDD":
            self._rdd(node, made)
        else:
            is_stream = node.name in _STREAM_SOURCES
            relation = self._metadata.stream_source(node) if is_stream else relation_of(node)
            if relation:
                self._relation(relation, made)

    def _relation(self, relation: SparkRelation, made: Document) -> None:
        uris = list(relation.uris)
        if relation.table and not uris:
            uri = naming.table_uri(relation.table.namespace, relation.table.name)
            self.tables[uri] = relation.table
            uris = [uri]
        if relation.problem:
            self.problems.append(Problem("not-joined", self._document_name, made["name"], relation.problem))
        extra = {"sourceType": relation.data_format} if relation.data_format else {}
        made.update({_READS: uris, "params": dict(relation.params), "extra": extra})

    def _rdd(self, node: PlanNode, made: Document) -> None:
        """Add the plan behind a micro-batch, or the files behind an RDD.

        These are reads without columns, because the used columns are unknown.
        """
        batch = self._metadata.micro_batch(node)
        if batch is not None:
            made["childIds"] = [self._read(batch, {})]
            return
        sources = rdd_sources(node.java.rdd())
        if sources.uris:
            key = f"op-{len(self._operations)}"
            self._operations.append({"id": key, "name": "RDD", "childIds": [], _READS: list(sources.uris)})
            made["childIds"] = [key]
        for rdd in sources.unknown:
            what = f"an RDD ({rdd}) whose sources Spark does not report"
            self.problems.append(Problem("not-joined", self._document_name, "LogicalRDD", what))

    def _add_cached(self, node: PlanNode, made: Document) -> None:
        """Add the plan that a cached DataFrame was computed from."""
        attributes = [tree[0] for tree in node.fields.get("output") or ()] or self._metadata.output(node)
        self._outputs[id(node)] = [self._name_fields(attribute, {}) for attribute in attributes]
        below = self._metadata.find_cached(node)
        if below is None:
            what = "a cached DataFrame whose sources Spark does not report"
            self.problems.append(Problem("not-joined", self._document_name, node.name, what))
            return
        made["childIds"] = [self._read(below, {})]
        for identifier, source in zip(self._outputs[id(node)], self._outputs[id(below)], strict=False):
            attribute = self._attributes[identifier]
            if identifier != source and "childRefs" not in attribute:
                function = self._expressions.function("Alias", attribute["name"], [{"__attrId": source}])
                attribute["childRefs"] = [function]

    # Subqueries and attributes.

    def _subquery(self, node: PlanNode, around: AttributeIds) -> list[str]:
        """Return the attributes of a subquery's plan. Its operations are added as a separate tree."""
        root = build_tree(node.fields["plan"], lambda: node.java.plan())
        self._read(root, around)
        return self._outputs[id(root)]

    def _name_fields(self, fields: Json, names: AttributeIds) -> str:
        spark_id = expression_id(fields)
        identifier = names.get(spark_id) or f"attr-{spark_id}"
        self._add_attribute(identifier, fields)
        return identifier

    def _new_id(self, identifier: str) -> str:
        """Return a separate id for an attribute that Spark uses again under the same id."""
        return f"attr-{_spark_id(identifier)}~{len(self._operations)}"

    def _add_attribute(self, identifier: str, fields: Json) -> None:
        attribute = self._attributes.setdefault(
            identifier, {"id": identifier, "name": str(fields.get("name"))}
        )
        if "dataType" not in attribute:
            attribute.update(self._expressions.data_type(fields.get("dataType")))

    def _add_type(self, identifier: str, fields: Json) -> None:
        self._attributes[identifier].update(self._expressions.data_type(fields.get("dataType")))


def _spark_id(identifier: str) -> int:
    return int(identifier.removeprefix("attr-").partition("~")[0])


_Special = Callable[[PlanDocument, PlanNode, Document], list[str]]
_SPECIAL: Mapping[str, _Special] = {
    "Union": PlanDocument._union,
    "Generate": PlanDocument._generate,
    **dict.fromkeys(ROW_OPERATIONS.values(), PlanDocument._row_operation),
}

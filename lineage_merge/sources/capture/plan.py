"""An analyzed plan as the document that Spline's agent would send of it (producer API 1.2).

So what is known of such documents (`sources/spline`) holds here too. Two things are told better than the
agent tells them: a subquery's plan is operations, not text, and what a cached frame is made of.
"""

from collections.abc import Callable, Mapping
from typing import Any

from lineage_merge.model.elements import Problem, Reference
from lineage_merge.sources.capture.expressions import DatasetResolver, Expressions, Ref
from lineage_merge.sources.capture.plan_tree import (
    Json,
    Node,
    bottom_up,
    expression_id,
    grow,
    is_tree,
    singleton,
)
from lineage_merge.sources.capture.spark_metadata import Relation, SparkMetadata
from lineage_merge.sources.spline.documents import Document

# They put out what they take.
_PASSING = frozenset(
    [
        "CTERelationDef",
        "CollectMetrics",
        "Deduplicate",
        "DeduplicateWithinWatermark",
        "Distinct",
        "Except",
        "Filter",
        "GlobalLimit",
        "Intersect",
        "LocalLimit",
        "Offset",
        "RebalancePartitions",
        "Repartition",
        "RepartitionByExpression",
        "ResolvedHint",
        "Sample",
        "Sort",
        "SubqueryAlias",
        "Tail",
        "UnresolvedHint",
        "View",
        "WithWindowDefinition",
    ]
)
# The field that lists what an operation puts out; what is computed there has a name.
_LISTING = {
    "Project": "projectList",
    "Aggregate": "aggregateExpressions",
    "SerializeFromObject": "serializer",
    "Expand": "output",
}
# Lists of lists of expressions. `toJSON` writes null for one whose inner lists are Scala's vectors, which
# they are after a rule of the analyzer has rewritten the plan, as it does above a union.
_NESTED = {"Expand": "projections"}
_ONE_SIDE = frozenset({"LeftSemi", "LeftAnti"})
_READS = "reads"


class PlanDocument:
    """Reads one plan; afterwards `document` is it.

    `tables` says which table is meant by an address that was made up for a read without a path.
    """

    def __init__(self, metadata: SparkMetadata, place: str) -> None:
        self._metadata = metadata
        self._place = place
        self._expressions = Expressions(metadata, self._subquery, self._add_attribute)
        self._attributes: dict[str, Document] = {}
        self._operations: list[Document] = []
        self._renamed: dict[int, DatasetResolver] = {}
        self._outputs: dict[int, list[str]] = {}
        self.tables: dict[str, Reference] = {}
        self.problems: list[Problem] = []

    def document(
        self, root: Node, target: list[Json], write: Document, application: str, version: str
    ) -> Document:
        """The plan below a write, whose columns are `target`: attributes, as trees of one node each."""
        top = self._read(root, {})
        for each in target:
            self._typed(self._named(each, self._renamed[id(root)]), each)
        reads = [each for each in self._operations if _READS in each]
        others = [each for each in self._operations if _READS not in each]
        for each in reads:
            each["inputSources"] = each.pop(_READS)
        types = self._expressions.types.values()
        return {
            "id": "capture",
            "name": application,
            "systemInfo": {"name": "spark", "version": version},
            "operations": {
                "write": {**write, "id": "write", "name": "Write", "childIds": [top]},
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
                "dataTypes": [{"id": each, "name": each, "_typeHint": "dt.Simple"} for each in types],
            },
        }

    # Operations.

    def _read(self, root: Node, outer: DatasetResolver) -> str:
        """The operations of a plan; the id of the last."""
        identifier = ""
        keys: dict[int, str] = {}
        for node in bottom_up(root):
            identifier = keys[id(node)] = self._operation(
                node, [keys[id(each)] for each in node.children], outer
            )
        return identifier

    def _operation(self, node: Node, children: list[str], outer: DatasetResolver) -> str:
        made: Document = {"id": "", "name": node.name, "childIds": children}
        nested = _NESTED.get(node.name)
        if nested and node.fields.get(nested) is None:
            node.fields = {**node.fields, nested: self._metadata.rows(node, nested)}
        names = self._renamed[id(node)] = self._seen(node)
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

    def _seen(self, node: Node) -> DatasetResolver:
        """The renamed attributes as an operation sees them."""
        seen: DatasetResolver = {}
        for each in node.children:
            renamed = self._renamed[id(each)]
            seen = {**seen, **renamed} if seen and renamed else renamed or seen
        return seen

    def _params(self, node: Node, names: DatasetResolver, outer: DatasetResolver) -> Document:
        """The fields of an operation, with references in the place of expressions."""
        count = 0

        def value(field: Any) -> Any:
            nonlocal count
            if is_tree(field):
                tree = grow(field, lambda index=count: self._metadata.top(node, index))  # type: ignore[misc]
                count += 1
                return self._parameter(tree, names, outer)
            return [value(each) for each in field] if isinstance(field, list) else None

        found = {name: value(field) for name, field in node.fields.items() if isinstance(field, list)}
        plain = {"id", "cteId"} & node.fields.keys()
        return {**found, **{name: node.fields[name] for name in plain}}

    def _parameter(self, tree: Node, names: DatasetResolver, outer: DatasetResolver) -> Ref | Document:
        if tree.name == "SortOrder":
            return {"expression": self._expressions.reference(tree.children[0], names, outer)}
        found = self._expressions.reference(tree, names, outer)
        if tree.name == "Alias":
            identifier = f"attr-{expression_id(tree.fields)}"
            self._add_attribute(identifier, tree.fields)
            self._attributes[identifier].setdefault("childRefs", [found])
        return found

    # What operations put out.

    def _output(self, node: Node) -> list[str]:
        below = [self._outputs[id(each)] for each in node.children]
        names = self._renamed[id(node)]
        if node.name in _PASSING:
            return below[0]
        if node.name in _LISTING:
            return [self._named(each[0], names) for each in node.fields.get(_LISTING[node.name]) or ()]
        if node.name == "WithCTE":
            return below[-1]
        if node.name == "Window":
            new = [self._named(each[0], names) for each in node.fields.get("windowExpressions") or ()]
            return [*below[0], *new]
        if node.name == "Join" and singleton(node.fields.get("joinType")) in _ONE_SIDE:
            return below[0]
        if node.name == "Join" and "ExistenceJoin" not in singleton(node.fields.get("joinType")):
            return [attribute for each in below for attribute in each]
        return [self._named(each, names) for each in self._metadata.output(node)]

    def _union(self, node: Node, made: Document) -> list[str]:
        """New attributes: Spark goes on with those of the first side."""
        sides = [self._outputs[id(each)] for each in node.children]
        renamed = dict(self._renamed[id(node)])
        output: list[str] = []
        for parts in zip(*sides, strict=False):
            first = self._attributes[parts[0]]
            found = self._expressions.function("", "union", [{"__attrId": each} for each in parts])
            identifier = self._again(parts[0])
            self._attributes[identifier] = {**first, "id": identifier, "childRefs": [found]}
            renamed[_spark_id(parts[0])] = identifier
            output.append(identifier)
        self._renamed[id(node)] = renamed
        return output

    def _generate(self, node: Node, made: Document) -> list[str]:
        generator = made["params"].get("generator")
        new = []
        for each in node.fields.get("generatorOutput") or ():
            identifier = self._named(each[0], {})
            if generator and "childRefs" not in self._attributes[identifier]:
                self._attributes[identifier]["childRefs"] = [generator]
            new.append(identifier)
        return [*self._outputs[id(node.children[0])], *new]

    # Leaves.

    def _leaf(self, node: Node, made: Document) -> None:
        if node.name == "InMemoryRelation":
            self._cached(node, made)
            return
        attributes = [each[0] for each in node.fields.get("output") or ()] or self._metadata.output(node)
        if node.name == "CTERelationRef":
            # The first one of a CTE has the very attributes of its definition.
            ids = [expression_id(each) for each in attributes]
            self._renamed[id(node)] = {each: self._again(f"attr-{each}") for each in ids}
            made["params"] = {"cteId": node.fields.get("cteId")}
        self._outputs[id(node)] = [self._named(each, self._renamed[id(node)]) for each in attributes]
        if node.name == "CTERelationRef":
            return
        if node.name == "LogicalRDD":
            self._rdd(node, made)
        else:
            relation = self._metadata.relation(node)
            if relation:
                self._relation(relation, made)

    def _relation(self, relation: Relation, made: Document) -> None:
        uris = list(relation.uris)
        if relation.table and not uris:
            uri = f"table:{len(self.tables)}"
            self.tables[uri] = relation.table
            uris = [uri]
        if relation.problem:
            self.problems.append(Problem("not-joined", self._place, made["name"], relation.problem))
        extra = {"sourceType": relation.data_format} if relation.data_format else {}
        made.update({_READS: uris, "params": dict(relation.params), "extra": extra})

    def _rdd(self, node: Node, made: Document) -> None:
        """The files behind an RDD are reads without columns: by which columns nobody knows."""
        found = self._metadata.rdd(node)
        if found.uris:
            key = f"op-{len(self._operations)}"
            self._operations.append({"id": key, "name": "RDD", "childIds": [], _READS: list(found.uris)})
            made["childIds"] = [key]
        for each in found.unknown:
            what = f"an RDD ({each}) of which Spark does not tell what it was made of"
            self.problems.append(Problem("not-joined", self._place, "LogicalRDD", what))

    def _cached(self, node: Node, made: Document) -> None:
        """A cached frame is what it was computed from."""
        attributes = [each[0] for each in node.fields.get("output") or ()] or self._metadata.output(node)
        self._outputs[id(node)] = [self._named(each, {}) for each in attributes]
        below = self._metadata.cached(node)
        if below is None:
            what = "a cached frame of which Spark does not tell what it was made of"
            self.problems.append(Problem("not-joined", self._place, node.name, what))
            return
        made["childIds"] = [self._read(below, {})]
        for identifier, source in zip(self._outputs[id(node)], self._outputs[id(below)], strict=False):
            kept = self._attributes[identifier]
            if identifier != source and "childRefs" not in kept:
                found = self._expressions.function("Alias", kept["name"], [{"__attrId": source}])
                kept["childRefs"] = [found]

    # Subqueries and attributes.

    def _subquery(self, node: Node, around: DatasetResolver) -> list[str]:
        """The attributes of a subquery's plan. Its operations stand beside the others, below none."""
        root = grow(node.fields["plan"], lambda: self._metadata.inner(node))
        self._read(root, around)
        return self._outputs[id(root)]

    def _named(self, fields: Json, names: DatasetResolver) -> str:
        spark_id = expression_id(fields)
        identifier = names.get(spark_id) or f"attr-{spark_id}"
        self._add_attribute(identifier, fields)
        return identifier

    def _again(self, identifier: str) -> str:
        """An id of its own for an attribute that Spark goes on with under the same one."""
        return f"attr-{_spark_id(identifier)}~{len(self._operations)}"

    def _add_attribute(self, identifier: str, fields: Json) -> None:
        kept = self._attributes.setdefault(identifier, {"id": identifier, "name": str(fields.get("name"))})
        if "dataType" not in kept:
            kept.update(self._expressions.data_type(fields.get("dataType")))

    def _typed(self, identifier: str, fields: Json) -> None:
        self._attributes[identifier].update(self._expressions.data_type(fields.get("dataType")))


def _spark_id(identifier: str) -> int:
    return int(identifier.removeprefix("attr-").partition("~")[0])


_Special = Callable[[PlanDocument, Node, Document], list[str]]
_SPECIAL: Mapping[str, _Special] = {"Union": PlanDocument._union, "Generate": PlanDocument._generate}

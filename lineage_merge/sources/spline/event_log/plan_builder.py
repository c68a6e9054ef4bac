"""A document of the producer API that is built of a physical plan: what all operations need. Pure.

Ids of attributes are those of Spark, but an operation that outputs the ids of its first input under another
value (a union) or that repeats those of another part of the plan gives them new ones: they are resolved per
operation.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from lineage_merge.sources.spline.columns.plan_text import TextItem, items
from lineage_merge.sources.spline.columns.plan_text import item as parse_item
from lineage_merge.sources.spline.documents import Document
from lineage_merge.sources.spline.event_log.document_parts import DocumentParts, split_by_names
from lineage_merge.sources.spline.event_log.formatted_plan import PhysicalNode

# Spark's own function for the columns that a table is partitioned by.
_EMPTY_TO_NULL = re.compile(r"^empty2null\((.*)\)$", re.DOTALL)
_CAST = re.compile(r"^(?:ansi_)?cast\((?P<column>[^\s()]*#(?P<id>\d+)L?) as (?P<type>\w+(?:\(\d+,\d+\))?)\)$")

Column = tuple[int, str]


@dataclass(slots=True)
class Output:
    """What an operation returns: its columns in order, as (id in Spark, attribute).

    `scope`: the attributes of all ids that are known below, also of those that are no longer passed on.
    `aggregated`: the partial functions of an aggregation, by their text.
    """

    operation: str
    columns: list[Column] = field(default_factory=list)
    scope: dict[int, str] = field(default_factory=dict)
    aggregated: dict[str, str] = field(default_factory=dict)


class PlanBuilder:
    """Collects operations, attributes and expressions; `problems` are (kind, field, message).

    `by_number`: what operations return, by their number in the text. `join_keys`: ids of columns that joins
    compare. `expected`: the columns of an operation as the one above lists them, by the operation's `id()`.
    """

    def __init__(self) -> None:
        self.by_number: dict[int, Output] = {}
        self.join_keys: set[int] = set()
        self.expected: dict[int, list[TextItem]] = {}
        self.reads: list[Document] = []
        self.others: dict[str, Document] = {}
        self.parts = DocumentParts()
        self.problems: list[tuple[str, str, str]] = []

    def add_operation(self, name: str, children: Sequence[Output], params: Document | None = None) -> str:
        identifier = f"op-{len(self.others)}"
        document: Document = {"id": identifier, "name": name}
        document["childIds"] = [child.operation for child in children]
        self.others[identifier] = document | ({"params": params} if params else {})
        return identifier

    def finish(self, operation: str, columns: Iterable[Column]) -> None:
        output = [attribute for _, attribute in columns]
        if output:
            self.others[operation]["output"] = output

    def list_columns(self, node: PhysicalNode, key: str) -> list[TextItem]:
        """Return the columns of a list; literals in it may look like separators and columns."""
        text = node.list_of(key)
        expected = self.expected.get(id(node))
        listed, more = items(text)
        if expected is None or more:
            return self.list_items(node, text)
        if [item.id for item in listed] == [item.id for item in expected]:
            return listed
        return split_by_names(text, expected) or [TextItem(i.id, i.name, "", i.text) for i in expected]

    def list_items(self, node: PhysicalNode, text: str, known: Collection[int] = ()) -> list[TextItem]:
        """Return the entries of a list; report those that Spark left out of the text.

        `known`: ids of columns that the operation may only pass on, which the one above lists.
        """
        listed, more = items(text)
        rest = self.expected.get(id(node), [])[len(listed) :]
        if more and len(rest) == more and all(item.id in known for item in rest):
            return [*listed, *(TextItem(item.id, item.name, "", item.text) for item in rest)]
        if more:
            what = f"Spark left out {more} of its columns (spark.sql.debug.maxToStringFields)"
            self.problems.append(("no-columns", node.name, what))
        return listed

    def compute(self, listed: Sequence[TextItem], seen: Output, scope: Mapping[int, str]) -> list[Column]:
        """Return the columns of a list of expressions."""
        columns: list[Column] = []
        known = dict(seen.columns)
        for item in (self._parse_named(item, scope) for item in listed):
            if not item.expression and item.id in known:
                columns.append((item.id, known[item.id]))
            elif not item.expression and item.id in scope:
                columns.append((item.id, scope[item.id]))
            elif item.expression:
                text = _EMPTY_TO_NULL.sub(r"\1", item.expression)
                value = self.parts.add_expression(self._strip_cast(text, scope), scope)
                columns.append((item.id, self.parts.add_attribute(item.id, item.name, value)))
            else:
                columns.append((item.id, self.parts.add_attribute(item.id, item.name, None)))
        return columns

    def _strip_cast(self, text: str, scope: Mapping[int, str]) -> str:
        """Return the text without a cast of a column to the type that it has."""
        matched = _CAST.match(text)
        attribute = scope.get(int(matched["id"])) if matched else None
        is_same = matched and attribute and self.parts.types.get(attribute) == matched["type"]
        return matched["column"] if matched and is_same else text

    def find(self, known: Mapping[int, str], item: TextItem) -> Column:
        """Return a column of those that are known; else it is one of unknown origin."""
        return item.id, known.get(item.id) or self.parts.add_attribute(item.id, item.name, None)

    def _parse_named(self, item: TextItem, scope: Mapping[int, str]) -> TextItem:
        """Return an item whose text begins with a column's name that looks like an alias."""
        for identifier, attribute in scope.items():
            name = str(self.parts.attributes[attribute]["name"])
            if " AS " in name and item.text.startswith(name):
                rest = item.text[len(name) :].removeprefix("`").removeprefix(f"#{identifier}")
                return parse_item(f"`{identifier}`#{identifier}{rest}")
        return item

    def output(self, operation: str, columns: list[Column], *below: Output) -> Output:
        scope: dict[int, str] = {}
        for output in below:
            scope |= output.scope
        return Output(operation, columns, scope | dict(columns))

    def select(self, name: str, seen: Output, columns: list[Column]) -> Output:
        """Return columns of another output."""
        operation = self.add_operation(name, [seen])
        self.finish(operation, columns)
        return self.output(operation, columns, seen)

    def read_unknown(self, node: PhysicalNode, below: list[Output]) -> Output:
        listed, _ = items(node.list_of("Output"))
        known = {identifier: attribute for output in below for identifier, attribute in output.columns}
        if not listed and below:
            return below[0]
        if not all(item.id in known for item in listed):
            self.problems.append(("no-columns", node.name, "an operation that is unknown: it loses columns"))
        operation = self.add_operation(node.name, below)
        columns = [self.find(known, item) for item in listed]
        self.finish(operation, columns)
        return self.output(operation, columns, *below)

    def lose_columns(self, node: PhysicalNode, below: list[Output]) -> Output:
        """Add columns of a function over whole rows: their origin is unknown."""
        operation = self.add_operation(node.name, below)
        listed, _ = items(node.list_of("Output"))
        columns = [self.find({}, item) for item in listed]
        self.finish(operation, columns)
        return self.output(operation, columns, *below)

"""Attributes and expressions of a plan's document, by their text in a physical plan. Pure."""

import re
from collections.abc import Mapping, Sequence

from lineage_merge.column_lineage.transformations import Transformation
from lineage_merge.sources.spline.columns.argument_roles import TEXT_EXPRESSION
from lineage_merge.sources.spline.columns.plan_text import TextItem, column_references, readable, split_top
from lineage_merge.sources.spline.documents import Document

GROUPING_ID = "spark_grouping_id"
# Spark converts `grouping(column)` to a bit of the grouping id.
_GROUPING = re.compile(rf"shiftright\({GROUPING_ID}#(?P<id>\d+)L?, (?P<bit>\d+)\)")


class DocumentParts:
    """Collects the attributes and expressions of a plan, and the `types` of attributes that are read.

    `subqueries`: the attribute that a subquery's value is, by its id; `grouped`: the grouping columns behind
    a grouping id.
    """

    def __init__(self) -> None:
        self.attributes: dict[str, Document] = {}
        self.functions: list[Document] = []
        self.types: dict[str, str] = {}
        self.subqueries: dict[int, str] = {}
        self.grouped: dict[int, list[str]] = {}

    def add_attribute(self, identifier: int, name: str, value: Mapping[str, str] | None) -> str:
        """Add an attribute; `value`: the expression or attribute that it is (None: unknown)."""
        key = f"attr-{identifier}"
        if key in self.attributes:
            key = f"attr-{identifier}~{len(self.attributes)}"
        self.attributes[key] = {"id": key, "name": name} | ({"childRefs": [dict(value)]} if value else {})
        return key

    def add_expression(self, text: str, scope: Mapping[int, str], shown: str | None = None) -> dict[str, str]:
        """Add an expression by its text; `shown`: the text that readers see."""
        children: list[dict[str, str]] = []
        steps: list[str] = []
        paths: list[list[str]] = []
        for matched in _GROUPING.finditer(text):
            grouped, bit = self.grouped.get(int(matched["id"]), []), int(matched["bit"])
            if bit < len(grouped):
                children.append({"__attrId": grouped[len(grouped) - 1 - bit]})
                steps.append(Transformation.CONDITIONAL.name)
                paths.append([])
        for column in column_references(_GROUPING.sub("0", text)):
            attribute = scope.get(column.id) or self.subqueries.get(column.id)
            if attribute is not None:
                children.append({"__attrId": attribute})
                steps.append(column.step.name)
                paths.append(list(column.path))
        identifier = f"expr-{len(self.functions)}"
        params = {"text": readable(text if shown is None else shown), "steps": steps, "paths": paths}
        self.functions.append(
            {
                "id": identifier,
                "name": "expression",
                "childRefs": children,
                "params": params,
                "extra": {"simpleClassName": TEXT_EXPRESSION},
            }
        )
        return {"__exprId": identifier}

    def add_conditional(self, attributes: Sequence[str]) -> dict[str, str]:
        """Add a value that attributes only choose."""
        value = self.add_expression("", {}, "grouping_id()")
        document = self.functions[-1]
        document["childRefs"] = [{"__attrId": attribute} for attribute in attributes]
        document["params"]["steps"] = [Transformation.CONDITIONAL.name] * len(attributes)
        document["params"]["paths"] = [[]] * len(attributes)
        return value

    def add_union(self, children: Sequence[Mapping[str, str]]) -> dict[str, str]:
        """Add a value that is one of several: of the inputs of a union, or of the rows of an `Expand`."""
        identifier = f"expr-{len(self.functions)}"
        self.functions.append({"id": identifier, "name": "union", "childRefs": [*map(dict, children)]})
        return {"__exprId": identifier}


def split_by_names(text: str, expected: Sequence[TextItem]) -> list[TextItem]:
    """Split a list at the ends of its entries, whose names and ids are known; none if one is missing."""
    found: list[TextItem] = []
    position = 0
    for known in expected:
        ending = re.compile(rf"{re.escape(known.text)}(?=, |$)")
        end = ending.search(text, position)
        if end is None:
            return []
        part = text[position : end.end()]
        alias = f" AS {known.text}"
        expression = part.removesuffix(alias) if part.endswith(alias) else ""
        found.append(TextItem(known.id, known.name, expression, part))
        position = end.end() + 2
    return found


def split_conjuncts(condition: str) -> list[str]:
    """Split ``((a AND b) AND c)`` into its parts."""
    parts: list[str] = []
    waiting = [condition.strip()]
    while waiting:
        text = waiting.pop()
        inner = text[1:-1] if text.startswith("(") and _closes_at_end(text) else text
        halves = split_top(inner, " AND ")
        if len(halves) > 1:
            waiting.extend(reversed(halves))
        elif text:
            parts.append(text)
    return parts


def _closes_at_end(text: str) -> bool:
    depth = 0
    for position, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return position == len(text) - 1
    return False

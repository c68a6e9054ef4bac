"""Attributes, expressions and types of a plan's document, by their text in a physical plan. Pure."""

import re
from collections.abc import Mapping, Sequence

from lineage_merge.column_lineage.data_types import fields_of
from lineage_merge.column_lineage.transformations import Transformation
from lineage_merge.sources.spline.columns.argument_roles import TEXT_EXPRESSION
from lineage_merge.sources.spline.columns.plan_text import TextItem, column_references, readable, split_top
from lineage_merge.sources.spline.documents import Document
from lineage_merge.sources.spline.event_log.expression_text import (
    is_struct,
    read_structure,
    strip_brackets,
    write_windows,
)

GROUPING_ID = "spark_grouping_id"
# Spark converts `grouping(column)` to a bit of the grouping id.
_GROUPING = re.compile(rf"shiftright\({GROUPING_ID}#(?P<id>\d+)L?, (?P<bit>\d+)\)")

# Ids of columns are smaller.
_FIRST_FIELD = 1 << 50

# A reference to an expression or an attribute of the document.
ValueReference = dict[str, str]


class DocumentParts:
    """Collects the attributes, expressions and data types of a plan.

    `types`: the types of attributes that are read, as text; `subqueries`: the attribute that a subquery's
    value is, by its id; `grouped`: the grouping columns behind a grouping id.
    """

    def __init__(self) -> None:
        self.attributes: dict[str, Document] = {}
        self.functions: dict[str, Document] = {}
        self.constants: dict[str, str] = {}
        self.data_types: dict[str, Document] = {}
        self.types: dict[str, str] = {}
        self.subqueries: dict[int, str] = {}
        self.grouped: dict[int, list[str]] = {}
        # Of subqueries that Spark merged into one: the names of fields in texts, by ids of their own.
        self._merged_fields: dict[int, str] = {}
        self._merged_names: dict[str, int] = {}

    def add_attribute(self, identifier: int, name: str, value: Mapping[str, str] | None) -> str:
        """Add an attribute; `value`: the expression or attribute that it is (None: unknown)."""
        key = f"attr-{identifier}"
        if key in self.attributes:
            key = f"attr-{identifier}~{len(self.attributes)}"
        self.attributes[key] = {"id": key, "name": name} | ({"childRefs": [dict(value)]} if value else {})
        return key

    def add_column(self, identifier: int, name: str, data_type: str) -> str:
        """Add an attribute that is read; `data_type` in Spark's notation, "" if it is not known."""
        attribute = self.add_attribute(identifier, name, None)
        self.types[attribute] = data_type
        if fields_of(data_type):
            self.attributes[attribute]["dataType"] = self._add_type(data_type)
        return attribute

    def add_expression(self, text: str, scope: Mapping[int, str], shown: str | None = None) -> ValueReference:
        """Add an expression by its text; `shown`: the text that readers see.

        Structures are built of their fields.
        """
        built = read_structure(text)
        if built is None:
            return self._add_text(text, scope, shown)
        children: list[ValueReference] = []
        for name, value in built.parts:
            if name is not None:
                children.append(self._add_constant(name))
            children.append(self.add_expression(value, scope))
        return self.add_function(built.function, children, built.class_name)

    def add_value(self, text: str, scope: Mapping[int, str]) -> ValueReference:
        """Return a column, or an expression that is added."""
        columns = [*column_references(text)]
        attribute = scope.get(columns[0].id) if len(columns) == 1 else None
        is_column = attribute and text.rstrip("L").endswith(f"#{columns[0].id}") and not columns[0].path
        return {"__attrId": attribute} if attribute and is_column else self.add_expression(text, scope)

    def add_function(
        self,
        name: str,
        children: Sequence[ValueReference],
        class_name: str = "",
        params: Document | None = None,
    ) -> ValueReference:
        """Add a function of values."""
        identifier = f"expr-{len(self.functions)}"
        document: Document = {"id": identifier, "name": name, "childRefs": [*children]}
        document |= {"params": params} if params else {}
        document |= {"extra": {"simpleClassName": class_name}} if class_name else {}
        self.functions[identifier] = document
        return {"__exprId": identifier}

    def add_union(self, children: Sequence[ValueReference]) -> ValueReference:
        """Add a value that is one of several: of the inputs of a union, or of the rows of an `Expand`."""
        return self.add_function("union", children)

    def add_conditional(self, attributes: Sequence[str]) -> ValueReference:
        """Add a value that attributes only choose."""
        return self._add_steps(
            "grouping_id()", [(each, Transformation.CONDITIONAL, ()) for each in attributes]
        )

    def _add_text(self, text: str, scope: Mapping[int, str], shown: str | None) -> ValueReference:
        """Add an expression of which only the columns are known, with what they do."""
        steps: list[tuple[str, Transformation, Sequence[str]]] = []
        for matched in _GROUPING.finditer(text):
            grouped, bit = self.grouped.get(int(matched["id"]), []), int(matched["bit"])
            if bit < len(grouped):
                steps.append((grouped[len(grouped) - 1 - bit], Transformation.CONDITIONAL, ()))
        for column in column_references(_GROUPING.sub("0", self._mark_fields(text))):
            attribute = scope.get(column.id) or self.subqueries.get(column.id)
            if attribute is not None:
                field = self._merged_fields.get(column.id)
                steps.append((attribute, column.step, column.path if field is None else (field,)))
        return self._add_steps(readable(write_windows(text) if shown is None else shown), steps)

    def add_subquery(self, identifier: int, attribute: str) -> None:
        """Add the attribute that the value of a subquery is; several may be one structure."""
        self.subqueries[identifier] = attribute
        for child in self.attributes[attribute].get("childRefs", ()):
            function = self.functions.get(child.get("__exprId"), {})
            for name in function.get("childRefs", ())[0::2] if is_struct(function) else ():
                field = self.constants[name["__exprId"]]
                number = _FIRST_FIELD + len(self._merged_fields)
                self._merged_fields[number], self.subqueries[number] = field, attribute
                self._merged_names[f"subquery#{identifier}.{field}"] = number

    def _mark_fields(self, text: str) -> str:
        """Return an expression with fields of merged subqueries as columns: their names are expressions."""
        for name in sorted(self._merged_names, key=len, reverse=True):
            text = text.replace(name, f"#{self._merged_names[name]}")
        return text

    def _add_steps(
        self, text: str, steps: Sequence[tuple[str, Transformation, Sequence[str]]]
    ) -> ValueReference:
        params: Document = {"text": text}
        params["steps"] = [step.name for _, step, _ in steps]
        params["paths"] = [list(path) for _, _, path in steps]
        children = [{"__attrId": attribute} for attribute, _, _ in steps]
        return self.add_function("expression", children, TEXT_EXPRESSION, params)

    def _add_constant(self, value: str) -> ValueReference:
        identifier = f"const-{len(self.constants)}"
        self.constants[identifier] = value
        return {"__exprId": identifier}

    def _add_type(self, text: str) -> str:
        """Add a type with its fields; return its id."""
        waiting = [text]
        while waiting:
            data_type = waiting.pop()
            if data_type in self.data_types:
                continue
            # Of an array or a map those of what is in it: this is what a reader asks for.
            fields = fields_of(data_type) or ()
            listed = [{"name": name, "dataTypeId": inner} for name, inner in fields]
            document: Document = {"id": data_type, "name": data_type}
            self.data_types[data_type] = document | ({"fields": listed} if listed else {})
            waiting.extend(inner for _, inner in fields)
        return text


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
        halves = split_top(strip_brackets(text), " AND ")
        if len(halves) > 1:
            waiting.extend(reversed(halves))
        elif text:
            parts.append(text)
    return parts

"""Column lineage of one Spline plan: the target's columns and their inputs."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from lineage_merge.column_lineage.derive import Rows, derive_flows, derive_influences
from lineage_merge.column_lineage.row_rules import compares_both_sides, influence_of, only_filters
from lineage_merge.column_lineage.transformations import ColumnFlow, Influence, InfluenceKind
from lineage_merge.column_lineage.value_graph import Node, Value
from lineage_merge.model.elements import Reference
from lineage_merge.model.graph_walks import reachable
from lineage_merge.sources.spline.columns.attributes import Attributes
from lineage_merge.sources.spline.columns.documents import PlanColumns
from lineage_merge.sources.spline.columns.expressions import ExpressionTexts
from lineage_merge.sources.spline.columns.row_changes import read_row_changes
from lineage_merge.sources.spline.columns.text_columns import KnownColumns, TextColumns, read_subquery
from lineage_merge.sources.spline.columns.written_columns import PlanColumn, read_written_columns
from lineage_merge.sources.spline.documents import row_level_mode
from lineage_merge.sources.spline.subqueries import temporary_views

_OUTER = re.compile(r"outer\((?:[\w.`]*\.)?`?(?P<name>[^#`()]+)`?#(?P<id>\d+)L?\)")
_ATTRIBUTE_ID = re.compile(r"#(\d+)L?\)?$")
# The deciding parameters of operations.
_DECIDING = {
    "Filter": "condition",
    "Join": "condition",
    "LateralJoin": "condition",
    "AsOfJoin": "asOfCondition",
    "Aggregate": "groupingExpressions",
    "Deduplicate": "keys",
    "Sort": "order",
}
# The grouping columns of operations that apply a function to each group, such as `FlatMapGroupsInPandas`.
# `FlatMapCoGroupsInPandas` of newer versions only has their number: they are the first of each input.
_GROUPS = ("groupingAttributes", "leftGroup", "rightGroup", "leftAttributes", "rightAttributes")
_GROUP_LENGTHS = ("leftGroupingLen", "rightGroupingLen")


@dataclass(frozen=True, slots=True)
class SourceColumns:
    """The columns of a dataset that the plan reads.

    `source` is ``("", uri)``, or ``(catalog, database.table)`` if only a subquery's text has it. `complete`
    False: only the columns that a query names, untyped and unordered.
    """

    source: Reference
    columns: tuple[PlanColumn, ...]
    complete: bool = True


@dataclass(frozen=True, slots=True)
class ColumnLineage:
    """The column lineage of a plan.

    `untraced` are sources that lose some or all columns in an RDD or a function over whole rows: the target
    depends on them, by unknown columns. Of `metadata_only` it reads no rows, and `rewritten` are only read
    because their own rows change. `problems` are keys of operations, with what could not be traced.
    """

    columns: tuple[PlanColumn, ...]
    sources: tuple[SourceColumns, ...]
    flows: tuple[ColumnFlow[Reference], ...]
    influences: tuple[Influence[Reference], ...]
    untraced: tuple[Reference, ...]
    metadata_only: frozenset[Reference] = frozenset()
    rewritten: frozenset[Reference] = frozenset()
    problems: tuple[tuple[str, str], ...] = ()


def column_lineage(plan: PlanColumns) -> ColumnLineage:
    """Return the column lineage of a plan."""
    return _PlanLineage(plan).lineage()


class _PlanLineage:
    """The values of a plan and of its subqueries' text."""

    def __init__(self, plan: PlanColumns) -> None:
        self._plan = plan
        self._attributes = Attributes(plan)
        self._graph = self._attributes.graph
        self._queries = self._attributes.queries
        self._subqueries: dict[str, TextColumns] = {}
        self._read_subqueries()
        self._row_changes = read_row_changes(plan, self._graph)

    def lineage(self) -> ColumnLineage:
        changes = self._row_changes
        columns, values = (changes.columns, changes.values) if changes else read_written_columns(self._plan)
        flows = self._flows(columns, values)
        read_again = {flow.source for flow in flows}
        return ColumnLineage(
            columns=columns,
            sources=self._sources(),
            flows=flows,
            influences=derive_influences(self._rows()),
            untraced=self._find_untraced(),
            metadata_only=self._metadata_only(),
            rewritten=(changes.rewritten if changes else self._find_rewritten()) - read_again,
            problems=(
                *(changes.problems if changes else ()),
                *(
                    (operation.partition("/")[2], f"a query over JDBC {problem}")
                    for operation, read in sorted(self._queries.items())
                    for problem in read.problems
                ),
            ),
        )

    # Subqueries

    def _read_subqueries(self) -> None:
        """Read the text of each subquery's plan; adds its columns to the graph."""
        plan = self._plan
        names = {
            str(plan.params(operation).get("id")): tuple(map(plan.name, plan.output(operation)))
            for operation, document in plan.operations.items()
            if document.get("name") == "CTERelationDef"
        }
        views = {
            name: tuple((plan.name(attribute), attribute) for attribute in plan.output(operation))
            for name, operation in temporary_views(plan.operations).items()
        }
        for expression in plan.expressions:
            text = plan.params(expression).get("plan")
            if isinstance(text, str):
                known = KnownColumns(self._outer_columns(expression), names, views)
                subquery = read_subquery(text, f"{expression}/plan", self._graph, known)
                self._subqueries[expression] = subquery
                for value in filter(None, subquery.output[: self._count_selected(expression)]):
                    self._graph[expression].add(value)
        for operation, document in plan.operations.items():
            if document.get("name") == "LateralJoin":
                self._lateral(operation)

    def _count_selected(self, expression: str) -> int:
        """Return how many of a subquery's columns its value is made of: none for EXISTS."""
        class_name = self._plan.class_name(expression)
        if class_name == "ListQuery":
            columns = self._plan.params(expression).get("numCols")
            return columns if isinstance(columns, int) and columns > 0 else 1
        return 1 if class_name == "ScalarSubquery" else 0

    def _outer_columns(self, expression: str) -> dict[int, Node]:
        """Return the outer query's columns by the ids that a subquery's text has for them."""
        params, arguments = self._plan.params(expression), self._plan.arguments.get(expression, ())
        written = params.get("outerAttrs")
        if not isinstance(written, list):
            # Spark 3.1 and older do not record the ids, only which columns they are.
            names = {self._plan.name(argument): argument for argument in arguments}
            outer = _OUTER.finditer(str(params.get("plan")))
            return {int(ref["id"]): names[ref["name"]] for ref in outer if ref["name"] in names}
        ids = (_ATTRIBUTE_ID.search(str(text)) for text in written)
        return {int(match[1]): argument for match, argument in zip(ids, arguments, strict=False) if match}

    def _lateral(self, operation: str) -> None:
        """Add a lateral join, whose right side is text: its columns follow those of the left side."""
        plan = self._plan
        right = next((key for key in plan.parameter(operation, "right") if key in self._subqueries), None)
        children = plan.children.get(operation, ())
        if right is None or len(children) != 1:
            return
        new = plan.output(operation)[len(plan.output(children[0])) :]
        for attribute, value in zip(new, self._subqueries[right].output, strict=False):
            if value:
                self._graph[attribute].add(value)

    # The target

    def _flows(
        self, columns: tuple[PlanColumn, ...], values: tuple[Node, ...]
    ) -> tuple[ColumnFlow[Reference], ...]:
        texts = ExpressionTexts(
            self._plan, {key: _write_selected(subquery) for key, subquery in self._subqueries.items()}
        )

        def text(value: Value[Reference]) -> str:
            if isinstance(value.text, str):
                return value.text
            return texts.text(self._attributes.generated.get(value.key, value.key))

        names = (column.name for column in columns)
        return derive_flows(list(zip(names, map(self._graph.__getitem__, values), strict=False)), text)

    # Values that decide on rows

    def _rows(self) -> Rows[Reference]:
        """Return what decides on the target's rows.

        DISTINCT groups by every column. INTERSECT and EXCEPT compare every column of both sides. A semi or
        anti join only filters.
        """
        plan = self._plan
        rows = Rows(of=(read.rows for read in self._subqueries.values()))
        for query in self._queries.values():
            rows.include(query.rows)
        if self._row_changes:
            rows.include(self._row_changes.rows)

        def add(kind: InfluenceKind, nodes: Iterable[Node]) -> None:
            rows.add(kind, *map(self._graph.__getitem__, nodes))

        filtering = [
            key for key in plan.bottom_up if only_filters(str(plan.params(key).get("joinType") or ""))
        ]
        if filtering and row_level_mode(plan.operations.get(plan.write, {})) == "merge":
            filtering.pop()  # a MERGE that only inserts finds the rows that exist by an anti join
        for operation in plan.bottom_up:
            name = str(plan.operations[operation].get("name"))
            if name in _DECIDING:
                kind = InfluenceKind.FILTER if operation in filtering else influence_of(name)
                add(kind, plan.parameter(operation, _DECIDING[name]))
            elif name == "Distinct":
                add(InfluenceKind.GROUP_BY, plan.output(operation))
            elif compares_both_sides(name):
                for child in plan.children.get(operation, ()):
                    add(InfluenceKind.JOIN, plan.output(child))
            else:
                add(InfluenceKind.GROUP_BY, self._groups(operation))
        return rows

    def _groups(self, operation: str) -> Iterator[Node]:
        """Return the columns by which an operation groups the rows for a function."""
        for parameter in _GROUPS:
            yield from self._plan.parameter(operation, parameter)
        for parameter, child in zip(_GROUP_LENGTHS, self._plan.children.get(operation, ()), strict=False):
            length = self._plan.params(operation).get(parameter)
            if isinstance(length, int):
                yield from self._plan.output(child)[:length]

    # Sources

    def _sources(self) -> tuple[SourceColumns, ...]:
        plan = self._plan
        types: dict[Reference, dict[str, str]] = {}
        for operation, sources in plan.reads.items():
            for source in () if plan.queries(operation) else sources:
                columns = types.setdefault(source, {})
                for attribute in plan.list_stored(operation):
                    columns.setdefault(plan.name(attribute), plan.data_type(attribute))
        complete = set(types)
        named = (
            *(subquery.tables for subquery in self._subqueries.values()),
            *(query.columns for query in self._queries.values()),
        )
        for tables in named:
            for source, names in tables.items():
                columns = types.setdefault(source, {})
                known = {name.casefold() for name in columns}
                for name in names:
                    if name.casefold() not in known:
                        columns.setdefault(name, "")
        return tuple(
            SourceColumns(
                source,
                tuple(PlanColumn(at, *column) for at, column in enumerate(types[source].items())),
                source in complete,
            )
            for source in sorted(types)
            if types[source]
        )

    def _find_untraced(self) -> tuple[Reference, ...]:
        """Return sources without columns, and those below operations with columns of unknown origin."""
        plan = self._plan
        reads = {key for key in plan.reads if plan.read_part(key) != "metadata"}
        untraced = {key for key in reads if not plan.output(key)} | {
            key
            for key, read in self._queries.items()
            if read.problems or not all(map(self._attributes.is_known, plan.output(key)))
        }
        below = reachable((key for key in plan.operations if self._attributes.is_lost(key)), plan.children)
        return tuple(sorted({source for key in untraced | (reads & below) for source in plan.reads[key]}))

    def _find_rewritten(self) -> frozenset[Reference]:
        """Return the target of a row-level operation, whose rows are read to be changed."""
        write = self._plan.operations.get(self._plan.write, {})
        if not row_level_mode(write):
            return frozenset()
        return frozenset({Reference("", str(write["outputSource"]), self._plan.application)})

    def _metadata_only(self) -> frozenset[Reference]:
        """Return the sources of which the plan only reads metadata tables."""
        reads: defaultdict[bool, set[Reference]] = defaultdict(set)
        for key, sources in self._plan.reads.items():
            reads[self._plan.read_part(key) == "metadata"].update(sources)
        return frozenset(reads[True] - reads[False])


def _write_selected(subquery: TextColumns) -> str:
    text = next((value.text for value in subquery.output[:1] if value), None)
    return f"SELECT {text}" if text else "SELECT ..."

"""Column lineage of one Spline plan: the target's columns and their inputs."""

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lineage_merge.column_lineage.transformations import (
    ColumnFlow,
    Influence,
    InfluenceKind,
    Transformation,
    listed,
)
from lineage_merge.model.elements import Reference
from lineage_merge.sources.spline.columns.attributes import Attributes, build
from lineage_merge.sources.spline.columns.data_types import type_texts
from lineage_merge.sources.spline.columns.documents import PlanColumns
from lineage_merge.sources.spline.columns.expressions import LIMIT, ExpressionTexts
from lineage_merge.sources.spline.columns.influences import deciding
from lineage_merge.sources.spline.columns.stored_columns import stored_columns
from lineage_merge.sources.spline.columns.table_schema import TableColumn, table_columns
from lineage_merge.sources.spline.columns.text_columns import KnownColumns, TextColumns, read_subquery
from lineage_merge.sources.spline.columns.value_graph import Node
from lineage_merge.sources.spline.subqueries import temporary_views

_OUTER = re.compile(r"outer\((?:[\w.`]*\.)?`?(?P<name>[^#`()]+)`?#(?P<id>\d+)L?\)")
_ATTRIBUTE_ID = re.compile(r"#(\d+)L?\)?$")


@dataclass(frozen=True, slots=True)
class Column:
    """A column by position, from 0; `data_type` in Spark's SQL notation, "" if unknown."""

    position: int
    name: str
    data_type: str


@dataclass(frozen=True, slots=True)
class SourceColumns:
    """The columns of a dataset that the plan reads.

    `source` is ``("", uri)``, or ``(catalog, database.table)`` if only a subquery's text has it. `complete`
    False: only the columns that a query names, untyped and unordered.
    """

    source: Reference
    columns: tuple[Column, ...]
    complete: bool = True


@dataclass(frozen=True, slots=True)
class ColumnLineage:
    """The column lineage of a plan.

    `untraced` are sources that lose some or all columns in an RDD or a function over whole rows: the target
    depends on them, by unknown columns. Of `metadata_only` it reads no rows. `problems` are keys of read
    operations, with what could not be traced in their queries.
    """

    columns: tuple[Column, ...]
    sources: tuple[SourceColumns, ...]
    flows: tuple[ColumnFlow[Reference], ...]
    influences: tuple[Influence[Reference], ...]
    untraced: tuple[Reference, ...]
    metadata_only: frozenset[Reference] = frozenset()
    problems: tuple[tuple[str, str], ...] = ()


def column_lineage(plan: PlanColumns, application: str = "") -> ColumnLineage:
    """Return the column lineage of a plan; `application` is set on the references of its sources."""
    attributes = build(plan, application)
    subqueries = _subqueries(plan, attributes)
    columns, values = _written(plan)
    return ColumnLineage(
        columns=columns,
        sources=_sources(plan, attributes, application, subqueries),
        flows=_flows(plan, attributes, columns, values, subqueries),
        influences=_influences(plan, attributes, subqueries),
        untraced=_untraced(plan, attributes, application),
        metadata_only=_metadata_only(plan, application),
        problems=tuple(
            (operation.partition("/")[2], problem)
            for operation, read in sorted(attributes.queries.items())
            for problem in read.problems
        ),
    )


def _subqueries(plan: PlanColumns, attributes: Attributes) -> dict[str, TextColumns]:
    """Read the text of each subquery's plan, by expression; adds its columns to the graph."""
    names: dict[str, tuple[str, ...]] = {}
    for operation, document in plan.operations.items():
        if document.get("name") == "CTERelationDef":
            output = plan.output(operation)
            names[str(plan.params(operation).get("id"))] = tuple(plan.name(each) for each in output)
    views = {
        name: tuple((plan.name(each), each) for each in plan.output(operation))
        for name, operation in temporary_views(plan.operations).items()
    }
    subqueries: dict[str, TextColumns] = {}
    for expression in plan.expressions:
        text = plan.params(expression).get("plan")
        if not isinstance(text, str):
            continue
        outer = _outer_columns(plan, expression)
        known = KnownColumns(outer, names, views)
        subqueries[expression] = read_subquery(text, f"{expression}/plan", attributes.graph, known)
        for node in subqueries[expression].output[: _selected(plan, expression)]:
            if node:
                attributes.graph.add(expression, node)
    for operation, document in plan.operations.items():
        if document.get("name") == "LateralJoin":
            _lateral(plan, attributes, subqueries, operation)
    return subqueries


def _selected(plan: PlanColumns, expression: str) -> int:
    """Return how many of a subquery's columns its value is made of: none for EXISTS."""
    class_name = plan.class_name(expression)
    if class_name == "ListQuery":
        columns = plan.params(expression).get("numCols")
        return columns if isinstance(columns, int) and columns > 0 else 1
    return 1 if class_name == "ScalarSubquery" else 0


def _outer_columns(plan: PlanColumns, expression: str) -> dict[int, Node]:
    """Return the outer query's columns by the ids that a subquery's text has for them."""
    written = plan.params(expression).get("outerAttrs")
    if not isinstance(written, list):
        # Spark 3.1 and older do not record the ids, only which columns they are.
        text = str(plan.params(expression).get("plan"))
        names = {plan.name(each): each for each in plan.arguments.get(expression, ())}
        outer_columns = ((int(each["id"]), each["name"]) for each in _OUTER.finditer(text))
        return {each: names[name] for each, name in outer_columns if name in names}
    found: dict[int, Node] = {}
    for text, argument in zip(written, plan.arguments.get(expression, ()), strict=False):
        matched = _ATTRIBUTE_ID.search(str(text))
        if matched:
            found[int(matched[1])] = argument
    return found


def _lateral(
    plan: PlanColumns, attributes: Attributes, subqueries: Mapping[str, TextColumns], operation: str
) -> None:
    """Add a lateral join, whose right side is text: its columns follow those of the left side."""
    right = next((each for each in plan.parameter(operation, "right") if each in subqueries), None)
    children = plan.children.get(operation, ())
    if right is None or len(children) != 1:
        return
    first = len(plan.output(children[0]))
    new = plan.output(operation)[first:]
    for attribute, node in zip(new, subqueries[right].output, strict=False):
        if node:
            attributes.graph.add(attribute, node)


def _written(plan: PlanColumns) -> tuple[tuple[Column, ...], tuple[Node, ...]]:
    """Return the target's columns and the value of each: the write's input, by position."""
    below = plan.children.get(plan.write, ())
    operation = below[0] if below else plan.write
    types = type_texts(plan.data_types)
    output = plan.output(operation)
    columns = [
        Column(
            position, plan.name(each), types.get(str((plan.attributes.get(each) or {}).get("dataType")), "")
        )
        for position, each in enumerate(output)
    ]
    table = _table(plan, below)
    if not output:
        declared = tuple(Column(position, each.name, each.data_type) for position, each in enumerate(table))
        return declared, ()
    names = _table_names(table, len(columns))
    if names:
        columns = [
            Column(each.position, name, each.data_type) for each, name in zip(columns, names, strict=True)
        ]
    return tuple(columns), plan.output(operation)


def _table(plan: PlanColumns, below: tuple[str, ...]) -> tuple[TableColumn, ...]:
    """Return the columns of the written table if the write or the command below it has them."""
    commands = [
        each for each in below if plan.operations[each].get("name") == plan.operations[plan.write].get("name")
    ]
    for operation in filter(None, (plan.write, *commands)):
        columns = _shown_columns(plan.params(operation).get("table"))
        if columns:
            return columns
    return ()


def _shown_columns(table: Any) -> tuple[TableColumn, ...]:
    if isinstance(table, str):
        return table_columns(table)
    output = table.get("output") if isinstance(table, dict) else None
    if not isinstance(output, list):
        return ()
    # A DataSource V2 write lists the table's columns in Spark's notation: `id#12L`.
    names = [each.rpartition("#")[0] if isinstance(each, str) else "" for each in output]
    return tuple(TableColumn(name, "") for name in names) if all(names) else ()


def _table_names(table: tuple[TableColumn, ...], count: int) -> tuple[str, ...]:
    """Return the table's column names for a number of columns, none if they do not match.

    An INSERT may omit static partition columns, which precede the dynamic ones.
    """
    partitions = [table_column for table_column in table if table_column.is_partition]
    left_out = partitions[: len(table) - count] if count < len(table) else []
    names = tuple(table_column.name for table_column in table if table_column not in left_out)
    return names if len(names) == count else ()


def _flows(
    plan: PlanColumns,
    attributes: Attributes,
    columns: tuple[Column, ...],
    values: tuple[Node, ...],
    subqueries: Mapping[str, TextColumns],
) -> tuple[ColumnFlow[Reference], ...]:
    computed = {node: text for subquery in subqueries.values() for node, text in subquery.texts.items()}
    for read in attributes.queries.values():
        computed |= read.texts
    texts = ExpressionTexts(plan, {key: _selected_text(each) for key, each in subqueries.items()})
    written: dict[Node, str] = {}
    # By name: two columns of one name from a join are one column for the reader.
    transformations: defaultdict[tuple[str, Reference, str], set[Transformation]] = defaultdict(set)
    steps: defaultdict[tuple[str, Reference, str], set[str]] = defaultdict(set)
    for column, value in zip(columns, values, strict=False):
        for (source, name), transformation, step in attributes.graph.chains(value):
            transformations[column.name, source, name].add(transformation)
            if not step:
                continue
            if step not in written:
                known = computed.get(step)
                node = attributes.generated.get(step, step)
                written[step] = texts.text(node) if known is None else known
            steps[column.name, source, name].add(written[step])
    positions = {column.name: column.position for column in reversed(columns)}
    return tuple(
        ColumnFlow(source, name, target, listed(transformations[target, source, name]), text)
        for target, source, name in sorted(transformations, key=lambda key: (positions[key[0]], *key))
        for text in [" | ".join(sorted(steps[target, source, name]))[:LIMIT]]
    )


def _selected_text(subquery: TextColumns) -> str:
    shown = [subquery.texts.get(node, "") if node else "" for node in subquery.output[:1]]
    return f"SELECT {shown[0]}" if shown and shown[0] else "SELECT ..."


def _influences(
    plan: PlanColumns, attributes: Attributes, subqueries: Mapping[str, TextColumns]
) -> tuple[Influence[Reference], ...]:
    nodes: defaultdict[InfluenceKind, list[Node]] = defaultdict(list)
    read = (query.influences for query in attributes.queries.values())
    for found in (deciding(plan), *(subquery.influences for subquery in subqueries.values()), *read):
        for kind, values in found.items():
            nodes[kind].extend(values)
    kinds: defaultdict[tuple[Reference, str], set[InfluenceKind]] = defaultdict(set)
    for kind, values in nodes.items():
        for source, name in attributes.graph.leaves(values):
            kinds[source, name].add(kind)
    order = list(InfluenceKind)
    return tuple(Influence(*key, tuple(sorted(kinds[key], key=order.index))) for key in sorted(kinds))


def _sources(
    plan: PlanColumns, attributes: Attributes, application: str, subqueries: Mapping[str, TextColumns]
) -> tuple[SourceColumns, ...]:
    types = type_texts(plan.data_types)
    found: dict[Reference, dict[str, str]] = {}
    for operation, document in plan.operations.items():
        if document.get("type") != "Read" or plan.queries(operation):
            continue
        for uri in document.get("inputSources") or ():
            columns = found.setdefault(Reference("", str(uri), application), {})
            for attribute in stored_columns(plan, operation):
                data_type = str((plan.attributes.get(attribute) or {}).get("dataType"))
                columns.setdefault(plan.name(attribute), types.get(data_type, ""))
    complete = set(found)
    named = [
        *(subquery.tables for subquery in subqueries.values()),
        *(query.columns for query in attributes.queries.values()),
    ]
    for tables in named:
        for source, names in tables.items():
            columns = found.setdefault(source, {})
            known = {name.casefold() for name in columns}
            for name in names:
                if name.casefold() not in known:
                    columns.setdefault(name, "")
    return tuple(
        SourceColumns(
            source,
            tuple(
                Column(position, name, each) for position, (name, each) in enumerate(found[source].items())
            ),
            source in complete,
        )
        for source in sorted(found)
        if found[source]
    )


def _untraced(plan: PlanColumns, attributes: Attributes, application: str) -> tuple[Reference, ...]:
    """Return sources without columns, and those below an operation that creates columns of unknown origin."""
    reads = {
        key
        for key, each in plan.operations.items()
        if each.get("type") == "Read" and plan.read_part(key) != "metadata"
    }
    blind = {key for key in reads if not plan.output(key)}
    blind |= {
        key
        for key, read in attributes.queries.items()
        if read.problems or not attributes.graph.inputs.keys() >= set(plan.output(key))
    }
    open_operations = [key for key in plan.operations if attributes.is_lost(plan, key)]
    seen = set(open_operations)
    while open_operations:
        for child in plan.children.get(open_operations.pop(), ()):
            if child not in seen:
                seen.add(child)
                open_operations.append(child)
    uris = {uri for key in blind | (reads & seen) for uri in plan.operations[key].get("inputSources") or ()}
    return tuple(Reference("", str(uri), application) for uri in sorted(uris))


def _metadata_only(plan: PlanColumns, application: str) -> frozenset[Reference]:
    """Return the sources of which the plan only reads metadata tables."""
    reads: defaultdict[bool, set[str]] = defaultdict(set)
    for key, document in plan.operations.items():
        if document.get("type") == "Read":
            reads[plan.read_part(key) == "metadata"].update(map(str, document.get("inputSources") or ()))
    return frozenset(Reference("", uri, application) for uri in reads[True] - reads[False])

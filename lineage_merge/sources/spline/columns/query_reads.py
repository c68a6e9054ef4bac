"""Reads of a JDBC query: its result's columns as values of the plan's graph."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lineage_merge.column_lineage.transformations import InfluenceKind, Transformation
from lineage_merge.model.elements import Reference
from lineage_merge.sources.spline.columns.documents import PlanColumns
from lineage_merge.sources.spline.columns.value_graph import Node, SourceColumn, ValueGraph

if TYPE_CHECKING:
    from lineage_merge.column_lineage.sql.derivation import ColumnOrigin, Derivation, DerivationStep

# The length limit of a plan's expressions.
_LIMIT = 1_000


@dataclass(slots=True)
class QueryRead:
    """What a query contributes besides its values in the graph.

    `texts` are expressions by node, `influences` the values that decide on its rows, `columns` the used
    columns of each table, `problems` what could not be traced.
    """

    texts: dict[Node, str] = field(default_factory=dict)
    influences: Mapping[InfluenceKind, list[Node]] = field(default_factory=dict)
    columns: Mapping[Reference, tuple[str, ...]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


def read_query(plan: PlanColumns, graph: ValueGraph, operation: str, application: str) -> QueryRead:
    """Add the inputs of a read's attributes, as columns of the query's tables."""
    query = next(iter(plan.queries(operation)), None)
    attributes = plan.output(operation)
    # Unreadable queries are reported where their tables are determined.
    if query is None or len(plan.queries(operation)) != 1:
        return QueryRead()
    names = [plan.name(each) for each in attributes]
    columns = query.columns(names)
    read = QueryRead(
        columns={Reference("", uri, application): each for uri, each in columns.columns.items()},
        problems=columns.problems,
    )

    def column(origin: "ColumnOrigin") -> Node:
        node = f"{operation}/{origin.dataset}|{origin.column}"
        graph.columns[node] = (SourceColumn(Reference("", origin.dataset, application), origin.column),)
        return node

    for attribute, derivation in zip(attributes, columns.derivations, strict=True):
        if derivation is not None:
            graph.inputs[attribute] = []  # a constant has none, and is not unknown
            for text, steps in _by_text(derivation).items():
                node = f"{operation}/{attribute}/{len(read.texts)}"
                read.texts[node] = text
                for origin, step in steps.items():
                    for kind in sorted(step.kinds):
                        is_itself = kind is Transformation.IDENTITY
                        graph.add(attribute if is_itself else node, column(origin), kind)
                if node in graph.inputs:
                    graph.add(attribute, node)
    influences: defaultdict[InfluenceKind, list[Node]] = defaultdict(list)
    for origin, kinds in columns.influences.items():
        for each in kinds:
            influences[each].append(column(origin))
    read.influences = influences
    return read


def _by_text(derivation: "Derivation") -> dict[str, dict["ColumnOrigin", "DerivationStep"]]:
    """Group the origins of a column by their expression."""
    found: defaultdict[str, dict[ColumnOrigin, DerivationStep]] = defaultdict(dict)
    for origin, step in sorted(derivation.items(), key=lambda item: item[0]):
        text = " | ".join(sorted({each() for each in step.texts} - {""}))[:_LIMIT]
        found[text][origin] = step
    return found

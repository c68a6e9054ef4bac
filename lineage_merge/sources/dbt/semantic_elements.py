"""Columns of metrics and saved queries, and their lineage, as `lineage_merge.model.elements`. Pure.

The columns of semantic models are derived from SQL (`sources.dbt.columns`).
"""

from collections.abc import Iterator, Mapping

from lineage_merge.column_lineage.transformations import InfluenceKind, Transformation
from lineage_merge.model.elements import Authority, Column, Element, FeedsColumn, Influences, Reference
from lineage_merge.sources.dbt.jobs import Jobs
from lineage_merge.sources.dbt.nodes import Manifest, Node
from lineage_merge.sources.dbt.semantic_layer import Input

# A cumulative metric sums a measure over time, a conversion metric counts events.
_AGGREGATING = frozenset({"cumulative", "conversion"})
_MAX_EXPRESSION_LENGTH = 1_000


def semantic_elements(
    manifest: Manifest, references: Mapping[str, Reference], jobs: Jobs
) -> Iterator[Element]:
    """Yield the columns of metrics and saved queries, what they are computed from, and what filters them."""
    for unique_id, node in manifest.nodes.items():
        if node.semantics is None:
            continue
        target = references[unique_id]
        for item in node.semantics.items:
            sets = item.metadata.sets
            properties = dict(item.metadata.properties)
            if item.description:
                properties["description"] = item.description
            yield Column(target, item.name, Authority.BUILDER, properties, sets)
        for name in node.semantics.filters:
            if filtered := _find_filtered(manifest, node, name):
                source, column = filtered
                kinds = (InfluenceKind.FILTER.value,)
                yield Influences(jobs.key(unique_id), references[source], column, target, kinds)
        for column, inputs in node.semantics.columns.items():
            yield Column(target, column, Authority.BUILDER)
            how = _transformation(node, inputs)
            expression = node.semantics.expression[:_MAX_EXPRESSION_LENGTH]
            for input_ in inputs:
                for source in _sources(manifest, node, input_):
                    yield FeedsColumn(
                        jobs.key(unique_id),
                        references[source],
                        input_.name,
                        target,
                        column,
                        (how.name,),
                        expression if how is Transformation.TRANSFORMATION else "",
                    )


def _transformation(node: Node, inputs: tuple[Input, ...]) -> Transformation:
    semantics = node.semantics
    if semantics is not None and semantics.metric_type in _AGGREGATING:
        return Transformation.AGGREGATION
    is_computed = len(inputs) > 1 or bool(semantics and semantics.expression)
    return Transformation.TRANSFORMATION if is_computed else Transformation.IDENTITY


def _sources(manifest: Manifest, node: Node, wanted: Input) -> Iterator[str]:
    """Yield the inputs of the node that have this measure, or are this metric."""
    for parent in node.parents:
        parent_node = manifest.nodes.get(parent)
        if parent_node is None or parent_node.semantics is None:
            continue
        if (wanted.kind == "metric" and parent_node.kind == "metric" and parent_node.name == wanted.name) or (
            wanted.kind == "measure"
            and any(item.aggregation and item.name == wanted.name for item in parent_node.semantics.items)
        ):
            yield parent


def _find_filtered(manifest: Manifest, node: Node, name: str) -> tuple[str, str] | None:
    """Return the semantic model and column that a filter names; None unless exactly one has the name.

    ``order__country`` is the dimension `country` of the semantic model whose rows the entity `order`
    identifies, ``customer`` an entity of a semantic model that the node reads.
    """
    *path, column = name.split("__")
    dimensions = []
    for unique_id, model in manifest.nodes.items():
        semantics = model.semantics
        if semantics is None or not any(
            item.name == column and not item.aggregation for item in semantics.items
        ):
            continue
        keys = {item.name for item in semantics.items if item.is_key} | {semantics.primary_entity}
        if path[-1] in keys if path else unique_id in node.parents:
            dimensions.append((unique_id, column))
    return dimensions[0] if len(dimensions) == 1 else None

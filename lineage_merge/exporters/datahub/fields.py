"""Column lineage and single aspects, which datasets and jobs have alike."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.metadata.schema_classes import (
    FineGrainedLineageClass,
    FineGrainedLineageDownstreamTypeClass,
    FineGrainedLineageUpstreamTypeClass,
)

from lineage_merge.exporters.datahub.names import Names
from lineage_merge.query.elements import Edge, Vertex


def aspects(urn: str, values: Iterable[Any]) -> Iterator[MetadataChangeProposalWrapper]:
    """A proposal for each aspect."""
    return (MetadataChangeProposalWrapper(entityUrn=urn, aspect=each) for each in values)


def fine_grained(
    names: Names, edges: Iterable[Edge], columns: Mapping[str, Vertex]
) -> list[FineGrainedLineageClass]:
    """One for each column and each way in which it is made: of which columns.

    `columns` has the ends of the edges by id; an edge that lacks one is left out.
    """
    made: dict[tuple[str, str], set[str]] = defaultdict(set)
    for each in edges:
        if each.from_id in columns and each.to_id in columns:
            target = names.column(columns[each.to_id])
            made[target, _operation(each)].add(names.column(columns[each.from_id]))
    return [
        FineGrainedLineageClass(
            upstreamType=FineGrainedLineageUpstreamTypeClass.FIELD_SET,
            downstreamType=FineGrainedLineageDownstreamTypeClass.FIELD,
            upstreams=sorted(sources),
            downstreams=[target],
            transformOperation=operation or None,
        )
        for (target, operation), sources in sorted(made.items())
    ]


def _operation(edge: Edge) -> str:
    """``AGGREGATION: sum(pricepaid)``."""
    said = (edge.properties.get("transformation", ""), edge.properties.get("expression", ""))
    return ": ".join(each for each in said if each)

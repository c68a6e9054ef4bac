"""Aspects and column lineage of datasets and jobs."""

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
from lineage_merge.graph_format.elements import Edge, Vertex

# The graph does not contain who made a change; DataHub requires a user.
NO_USER = "urn:li:corpuser:unknown"


def aspects(urn: str, values: Iterable[Any]) -> Iterator[MetadataChangeProposalWrapper]:
    """Yield a proposal per aspect."""
    return (MetadataChangeProposalWrapper(entityUrn=urn, aspect=each) for each in values)


def fine_grained(
    names: Names, edges: Iterable[Edge], columns: Mapping[str, Vertex]
) -> list[FineGrainedLineageClass]:
    """Return the source columns per column and operation.

    `columns`: the ends of the edges by id; edges without both are omitted.
    """
    sources_of: dict[tuple[str, str], set[str]] = defaultdict(set)
    for each in edges:
        if each.from_id in columns and each.to_id in columns:
            target = names.column(columns[each.to_id])
            sources_of[target, _operation(each)].add(names.column(columns[each.from_id]))
    return [
        FineGrainedLineageClass(
            upstreamType=FineGrainedLineageUpstreamTypeClass.FIELD_SET,
            downstreamType=FineGrainedLineageDownstreamTypeClass.FIELD,
            upstreams=sorted(sources),
            downstreams=[target],
            transformOperation=operation or None,
        )
        for (target, operation), sources in sorted(sources_of.items())
    ]


def _operation(edge: Edge) -> str:
    """``AGGREGATION: sum(pricepaid)``."""
    parts = (edge.properties.get("transformation", ""), edge.properties.get("expression", ""))
    return ": ".join(each for each in parts if each)

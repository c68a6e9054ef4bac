"""DataHub's proposals as its own library reads them back from a file."""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.ingestion.source.file import read_metadata_file
from datahub.metadata.schema_classes import MetadataChangeEventClass, MetadataChangeProposalClass
from datahub.metadata.urns import Urn

from lineage_merge.exporters.datahub import EXPORTER
from lineage_merge.exporters.exporter import Export
from lineage_merge.questions.graph import LineageGraph

Aspects = dict[str, dict[str, Any]]


def exported(
    graph: LineageGraph,
    folder: Path,
    dag: str | None = None,
    before: LineageGraph | None = None,
    **settings: Any,
) -> Aspects:
    """Return what the library reads from the file: aspects by URN and name, each valid by its schema."""
    file = folder / "datahub.json"
    EXPORTER.send(Export(graph, {"out": str(file), **settings}, dag=dag, before=before))
    found: Aspects = defaultdict(dict)
    for proposal in read_metadata_file(file):
        assert not isinstance(proposal, MetadataChangeEventClass)
        assert proposal.validate()
        name, urn = str(proposal.aspectName), str(proposal.entityUrn)
        assert Urn.from_string(urn).urn() == urn
        assert name not in found[urn], "duplicate aspect"
        if isinstance(proposal, MetadataChangeProposalWrapper):
            assert proposal.aspect is not None
            assert proposal.aspect.validate()
            found[urn][name] = proposal.aspect
        else:
            assert isinstance(proposal, MetadataChangeProposalClass)
            assert proposal.aspect is not None
            found[urn][name] = json.loads(proposal.aspect.value)
    return dict(found)


def of_kind(aspects: Aspects, name: str) -> dict[str, Any]:
    """The aspects of one name by URN."""
    return {urn: held[name] for urn, held in aspects.items() if name in held}

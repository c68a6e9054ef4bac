"""Streaming of proposals to a file for DataHub's file source: a JSON array.

The format is that of the library's own writer, which holds all proposals in memory.
"""

import json
from collections.abc import Iterable
from typing import Any

from lineage_merge.exporters.datahub.proposals import Proposal, ProposalCounter
from lineage_merge.exporters.output import open_text


def write(destination: str | None, proposals: Iterable[Proposal]) -> dict[str, int]:
    """Write proposals (None: to standard output) and return counts. Raises the errors of `open_text`."""
    counter = ProposalCounter()
    separator = "[\n"
    with open_text(destination) as write_text:
        for each in proposals:
            write_text(separator + json.dumps(_as_json(each)))
            counter.add(each)
            separator = ",\n"
        write_text("\n]\n" if separator == ",\n" else "[]\n")
    return counter.counts


def _as_json(proposal: Proposal) -> dict[str, Any]:
    from datahub.emitter.mcp import MetadataChangeProposalWrapper

    if isinstance(proposal, MetadataChangeProposalWrapper):
        return dict(proposal.to_obj(simplified_structure=True))
    written: dict[str, Any] = proposal.to_obj()
    if proposal.aspect:  # a patch: the file source expects plain JSON
        written["aspect"] = {"json": json.loads(proposal.aspect.value)}
    return written

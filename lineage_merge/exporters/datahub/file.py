"""Proposals as a file for DataHub's file source: a JSON array, written as they are made.

The library's own writer holds all of them in memory first; the form is the same.
"""

import json
from collections.abc import Iterable
from typing import Any

from lineage_merge.exporters.datahub.counting import Counting
from lineage_merge.exporters.datahub.proposals import Proposal
from lineage_merge.exporters.output import text_to


def write(place: str | None, proposals: Iterable[Proposal]) -> dict[str, int]:
    """Write them, None to standard output, and count. Errors as `text_to`."""
    counting = Counting()
    before = "[\n"
    with text_to(place) as write_text:
        for each in proposals:
            write_text(before + json.dumps(_as_json(each)))
            counting.add(each)
            before = ",\n"
        write_text("\n]\n" if before == ",\n" else "[]\n")
    return counting.counts


def _as_json(proposal: Proposal) -> dict[str, Any]:
    from datahub.emitter.mcp import MetadataChangeProposalWrapper

    if isinstance(proposal, MetadataChangeProposalWrapper):
        return dict(proposal.to_obj(simplified_structure=True))
    told: dict[str, Any] = proposal.to_obj()
    if proposal.aspect:  # a patch: JSON, in the simple form of the file source
        told["aspect"] = {"json": json.loads(proposal.aspect.value)}
    return told

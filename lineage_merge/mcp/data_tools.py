"""Tools on tags and on late or wrong data: tags, freshness, tests, why."""

import logging

from lineage_merge.mcp.answer_values import SHORT, text, texts
from lineage_merge.mcp.answers import TagRow
from lineage_merge.mcp.arguments import TagsArguments
from lineage_merge.mcp.paging import Found
from lineage_merge.mcp.scoped_graph import ScopedGraph
from lineage_merge.mcp.untrusted_text import escape
from lineage_merge.query.tag_results import TagsResult
from lineage_merge.questions.tag_answers import TagCounts
from lineage_merge.questions.tag_propagation import Carrier, Stop

_COUNTS = ("own_datasets", "own_columns", "inherited_datasets", "inherited_columns", "stops")
# Shown of the datasets without tests.
_UNTESTED = 10
_log = logging.getLogger(__name__)


def tags(scoped: ScopedGraph, given: TagsArguments) -> Found:
    """Return what carries tags, or numbers by tag."""
    found = scoped.lineage.tags(given.name, tag=given.tag, own=given.own)
    note = text(found.note)
    if not isinstance(found, TagsResult):
        return Found(found.counts, _count, {"note": note})
    of = escape(found.of.id) if found.of else ""
    items: list[Carrier | Stop] = [*found.chosen.carriers, *found.chosen.stops]
    # Nearest to the origin first: own tags have no path.
    items.sort(key=lambda each: (len(each.path), each.tag, each.id))
    return Found(items, _tag, {"of": of, "note": note})


def _count(counts: TagCounts) -> TagRow:
    return TagRow(tag=escape(counts.tag), **{each: getattr(counts, each) for each in _COUNTS})


def _tag(found: Carrier | Stop) -> TagRow:
    # Of edges: the first begins at the origin.
    path = [*(each.from_id for each in found.path[:1]), *(each.to_id for each in found.path)]
    if isinstance(found, Stop):
        how, reason = "stopped", found.reason
    else:
        how, reason = "own" if found.own else "by rows" if found.by_rows else "inherited", ""
    return TagRow(
        tag=escape(found.tag),
        id=escape(found.id),
        how=how,
        origin=escape(found.origin),
        reason=text(reason, SHORT),
        path=texts(path),
    )

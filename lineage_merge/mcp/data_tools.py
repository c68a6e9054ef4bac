"""Tools on tags and on late or wrong data: tags, freshness, tests, why."""

import logging
from typing import Any

from lineage_merge.mcp.answer_values import SHORT, moment, text, texts
from lineage_merge.mcp.answers import AssertionRow, CauseRow, FreshnessRow, TagRow
from lineage_merge.mcp.arguments import AssertionsArguments, FreshnessArguments, TagsArguments, WhyArguments
from lineage_merge.mcp.paging import Found
from lineage_merge.mcp.scoped_graph import ScopedGraph
from lineage_merge.mcp.tool_errors import as_error
from lineage_merge.mcp.untrusted_text import escape
from lineage_merge.model.times import duration_text
from lineage_merge.query.data_results import causes_note
from lineage_merge.query.tag_results import TagsResult
from lineage_merge.questions.assertions import Check
from lineage_merge.questions.causes import Cause
from lineage_merge.questions.formats.freshness_tables import freshness_counts
from lineage_merge.questions.freshness import Freshness
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


def freshness(scoped: ScopedGraph, given: FreshnessArguments) -> Found:
    """Return datasets by last update."""
    found = scoped.lineage.freshness(given.name, older_than=given.older_than, stale=given.stale)
    header: dict[str, Any] = {
        "of": escape(found.start.id) if found.start else "",
        "note": text(found.note),
        "counts": dict(freshness_counts(found.assessed)),
    }
    return Found(found.datasets, _freshness, header)


def tests(scoped: ScopedGraph, given: AssertionsArguments) -> Found:
    """Return tests with their newest results."""
    found = scoped.lineage.tests(given.name, failed=given.failed, depth=given.depth)
    counts: dict[str, int] = {}
    for each in found.found.checks:
        status = each.status or "no result"
        counts[status] = counts.get(status, 0) + 1
    header: dict[str, Any] = {"note": text(found.note), "counts": counts}
    if found.start:
        untested = [each.id for each in found.found.unchecked]
        header |= {"of": escape(found.start.id), "untested": texts(untested[:_UNTESTED])}
        header["untested_total"] = len(untested)
    return Found(found.tests, _assertion, header)


def why(scoped: ScopedGraph, given: WhyArguments) -> Found:
    """Return the nearest causes of late or wrong data."""
    found = scoped.lineage.why(given.name, older_than=given.older_than, depth=given.depth)
    note, error = found.note, found.changes_error
    if error:
        # Its message names files of this machine.
        _log.warning("why: recent changes are unknown: %s", error.message)
        note = causes_note(found.start, found.diagnosis, str(as_error(error)["message"]))
    header = {"of": escape(found.start.id), "note": text(note.replace("\n", "; "))}
    return Found(found.causes, _cause, header)


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


def _freshness(found: Freshness) -> FreshnessRow:
    return FreshnessRow(
        id=escape(found.dataset.id),
        status=found.status,
        reasons=texts(found.reasons),
        expectations=texts(each.policy or each.source for each in found.expectations),
        updated_at=moment(found.update.updated_at),
        age=duration_text(found.age_ms),
        because_of=escape(found.because_of.dataset) if found.because_of else "",
    )


def _assertion(check: Check) -> AssertionRow:
    held = check.assertion.properties
    return AssertionRow(
        id=escape(check.assertion.id),
        name=text(check.assertion.name, SHORT),
        type=text(held.get("assertion_type"), SHORT),
        dataset=escape(check.dataset),
        column=text(check.column),
        distance=check.distance,
        severity=text(held.get("severity"), SHORT),
        status=text(check.status, SHORT),
        failures=held.get("failures"),
        last_run_at=moment(held.get("last_run_at")),
    )


def _cause(cause: Cause) -> CauseRow:
    finding = cause.finding
    return CauseRow(
        kind=cause.kind,
        distance=cause.distance,
        dataset=escape(cause.dataset),
        element=escape(finding.element.id),
        evidence=text(finding.evidence),
        at=moment(finding.at),
        status=text(finding.status, SHORT),
        failures=finding.failures,
        other=escape(finding.other or ""),
        path=texts(cause.path),
    )

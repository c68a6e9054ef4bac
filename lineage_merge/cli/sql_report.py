"""Report of a change of SQL files, in addition to its lineage."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from lineage_merge.graph_format.elements import title_of_id
from lineage_merge.orchestration.report_text import counted

if TYPE_CHECKING:
    from lineage_merge.review.changes import Flow
    from lineage_merge.review.readers import AffectedElement
    from lineage_merge.review.review import Review

# Tables that are listed by name.
_MAX_TARGETS = 5
_ARROWS = {"feeds": "->", "feeds_column": "->", "influences": "determines rows of"}


def review_lines(found: "Review") -> Iterator[str]:
    """Yield changes and breaks; nothing without a comparison."""
    if found.difference is None:
        return
    difference = found.difference
    for each in found.changed:
        names = " -> ".join(dict.fromkeys(name for name in (each.before, each.after) if name))
        yield f"{each.status:<8} {names}"
    yield ""
    if difference.is_empty:
        yield "lineage, columns and conditions are unchanged"
    yield from (f"+ {flow_text(each)}" for each in difference.added_flows)
    yield from (f"- {flow_text(each)}" for each in difference.removed_flows)
    for altered in difference.altered_flows:
        yield f"~ {flow_text(altered.flow)}: was {altered.before}, is {altered.after}"
    yield from (f"- {title_of_id(each)} is no longer created" for each in difference.dropped_datasets)
    for dataset, columns in difference.dropped_columns.items():
        yield f"- {title_of_id(dataset)} dropped columns: {', '.join(columns)}"
    for retyped in difference.retyped_columns:
        place = f"{title_of_id(retyped.dataset)}#{retyped.column}"
        yield f"~ {place} was {retyped.before}, is {retyped.after}"
    for clause in difference.altered_clauses:
        was, now = (" and ".join(each) or "none" for each in (clause.removed, clause.added))
        yield f"~ {title_of_id(clause.dataset)}: {clause.kind} was {was}, is {now}"
    yield from (f"? {title_of_id(each)}: columns are no longer known" for each in difference.unknown_columns)
    yield from (_affected(each) for each in found.affected)
    yield from (f"! {each.where}: {each.why}" for each in found.breaks)


def assumption(found: "Review") -> str:
    """Return a line about INSERT statements of which the columns are assumed, "" without any."""
    targets = found.assumed_inserts
    if not targets:
        return ""
    inserts = counted(len(targets), "INSERT", "INSERTs")
    names = sorted({title_of_id(each) for each in targets})
    shown = ", ".join(names[:_MAX_TARGETS])
    more = f" and {len(names) - _MAX_TARGETS} more" if len(names) > _MAX_TARGETS else ""
    return f"assumed: {inserts} by the names of the query, because the columns are unknown: {shown}{more}"


def _affected(affected: "AffectedElement") -> str:
    counts = ", ".join(f"{number} {what}" for what, number in affected.impact.counts.items() if number)
    change = "is dropped" if affected.is_dropped else "changes"
    return f"  {affected.title} {change}; downstream: {counts or 'nothing'}"


def flow_text(flow: "Flow") -> str:
    """Return ``db.t#a -> db.u#b``."""
    source = _title(flow.source) if flow.label != "feeds" else title_of_id(flow.source)
    target = _title(flow.target) if flow.label == "feeds_column" else title_of_id(flow.target)
    return f"{source} {_ARROWS[flow.label]} {target}"


def _title(column: str) -> str:
    dataset, _, name = column.rpartition("|")
    return f"{title_of_id(dataset)}#{name}"


def as_json(found: "Review") -> dict[str, Any]:
    """Return the JSON fields before vertices and edges."""
    graph = found.shown.graph
    values: dict[str, Any] = {
        "files": list(found.files),
        "written": sorted({target for _, target in graph.pairs(["writes"])}),
        "read": sorted({source for source, _ in graph.pairs(["feeds"])}),
        "assumed": sorted(set(found.assumed_inserts)),
        "problems": [asdict(each) for each in found.shown.problems],
        "breaks": [each._asdict() for each in found.breaks],
    }
    if found.difference is not None:
        difference = found.difference
        values["changes"] = {
            "files": [each._asdict() for each in found.changed],
            "added": _flows(difference.added_flows),
            "removed": _flows(difference.removed_flows),
            "altered": [
                {**each.flow._asdict(), "before": each.before, "after": each.after}
                for each in difference.altered_flows
            ],
            "dropped_datasets": list(difference.dropped_datasets),
            "dropped_columns": {
                dataset: list(names) for dataset, names in difference.dropped_columns.items()
            },
            "clauses": [
                {**each._asdict(), "removed": list(each.removed), "added": list(each.added)}
                for each in difference.altered_clauses
            ],
            "retyped_columns": [each._asdict() for each in difference.retyped_columns],
            "unknown_columns": list(difference.unknown_columns),
            "affected": [
                {
                    "of": each.title,
                    "is_dropped": each.is_dropped,
                    "readers": list(each.readers),
                    **each.impact.counts,
                }
                for each in found.affected
            ],
        }
    return values


def _flows(flows: "Iterable[Flow]") -> list[dict[str, str]]:
    return [each._asdict() for each in flows]

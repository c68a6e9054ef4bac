"""What is said of a change of SQL files beside its lineage."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from lineage_merge.query.elements import title_of_id

if TYPE_CHECKING:
    from lineage_merge.query.review.changes import Flow
    from lineage_merge.query.review.readers import Touched
    from lineage_merge.query.review.review import Review

_ARROWS = {"feeds": "->", "feeds_column": "->", "influences": "decides rows of"}


def report_lines(found: "Review") -> Iterator[str]:
    """What changed, and what breaks; nothing where nothing was compared."""
    if found.difference is None:
        return
    difference = found.difference
    for each in found.changed:
        names = " -> ".join(dict.fromkeys(name for name in (each.before, each.after) if name))
        yield f"{each.status:<8} {names}"
    yield ""
    if difference.is_nothing:
        yield "lineage and columns are what they were"
    yield from (f"+ {flow_text(each)}" for each in difference.added)
    yield from (f"- {flow_text(each)}" for each in difference.removed)
    for altered in difference.altered:
        yield f"~ {flow_text(altered.flow)}: was {altered.before}, is {altered.after}"
    yield from (f"- {title_of_id(each)} is not made any more" for each in difference.gone)
    for dataset, lost in difference.lost.items():
        yield f"- {title_of_id(dataset)} has no longer: {', '.join(lost)}"
    for retyped in difference.retyped:
        place = f"{title_of_id(retyped.dataset)}#{retyped.column}"
        yield f"~ {place} was {retyped.before}, is {retyped.after}"
    yield from (f"? {title_of_id(each)}: its columns are no longer known" for each in difference.unsure)
    yield from (_touched(each) for each in found.touched)
    yield from (f"! {each.where}: {each.why}" for each in found.breaks)


def _touched(touched: "Touched") -> str:
    counts = ", ".join(f"{number} {what}" for what, number in touched.impact.counts.items() if number)
    return f"  {touched.title} {'goes' if touched.goes else 'changes'}; downstream: {counts or 'nothing'}"


def flow_text(flow: "Flow") -> str:
    """``db.t#a -> db.u#b``."""
    source = _title(flow.source) if flow.label != "feeds" else title_of_id(flow.source)
    target = _title(flow.target) if flow.label == "feeds_column" else title_of_id(flow.target)
    return f"{source} {_ARROWS[flow.label]} {target}"


def _title(column: str) -> str:
    dataset, _, name = column.rpartition("|")
    return f"{title_of_id(dataset)}#{name}"


def as_json(found: "Review") -> dict[str, Any]:
    """What stands in the JSON before vertices and edges."""
    graph = found.shown.graph
    told: dict[str, Any] = {
        "files": list(found.files),
        "written": sorted({target for _, target in graph.pairs(["writes"])}),
        "read": sorted({source for source, _ in graph.pairs(["feeds"])}),
        "problems": [asdict(each) for each in found.shown.problems],
        "breaks": [each._asdict() for each in found.breaks],
    }
    if found.difference is not None:
        difference = found.difference
        told["changes"] = {
            "files": [each._asdict() for each in found.changed],
            "added": _flows(difference.added),
            "removed": _flows(difference.removed),
            "altered": [
                {**each.flow._asdict(), "before": each.before, "after": each.after}
                for each in difference.altered
            ],
            "gone": list(difference.gone),
            "lost": {dataset: list(names) for dataset, names in difference.lost.items()},
            "retyped": [each._asdict() for each in difference.retyped],
            "unsure": list(difference.unsure),
            "touched": [
                {"of": each.title, "goes": each.goes, "readers": list(each.readers), **each.impact.counts}
                for each in found.touched
            ],
        }
    return told


def _flows(flows: "Iterable[Flow]") -> list[dict[str, str]]:
    return [each._asdict() for each in flows]

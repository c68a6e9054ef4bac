"""Tables and trees of carried tags."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from rich.text import Text

from lineage_merge.graph_format.elements import Edge, title_in
from lineage_merge.infra.batches import gather
from lineage_merge.questions.formats.describe import declaration, one_line, truncate
from lineage_merge.questions.formats.table import AnswerTable

if TYPE_CHECKING:
    from lineage_merge.questions.traversal.tag_propagation import Carrier, PropagatedTags, Stop

# In trees, which show the whole path.
_MAX_LENGTH = 48


def carrier_tables(chosen: "PropagatedTags") -> Iterator[AnswerTable | Text]:
    """Yield a row per carrier with its origin and the last step of its path, then a row per stop."""
    titles = chosen.vertices
    table = AnswerTable("carrier", "tag", "kind", "origin", "steps", "last step", "job", name="carrier")
    for carrier in chosen.carriers:
        last = carrier.last.edge if carrier.last else None
        table.add(
            title_in(titles, carrier.id),
            carrier.tag,
            carrier.carried,
            "" if carrier.origin == carrier.id else title_in(titles, carrier.origin),
            len(carrier.path),
            _how(last) if last else "",
            last.job if last else "",
        )
    yield table
    if chosen.stops:
        yield Text()
    table = AnswerTable("stopped at", "tag", "reason", "origin", "job", name="stopped at")
    for stop in chosen.stops:
        job = stop.last.edge.job if stop.last else ""
        table.add(title_in(titles, stop.id), stop.tag, _reason(stop), title_in(titles, stop.origin), job)
    yield table


def carrier_tree(chosen: "PropagatedTags", propagated: "PropagatedTags") -> Iterator[Text]:
    """Yield lines: for each tag its origins, below each the carriers to which it leads, then the stops.

    `propagated`: all carriers, also those on the paths to the chosen ones. Each is at the end of its shortest
    path.
    """
    titles = chosen.vertices
    below = gather(
        ((carrier.tag, carrier.previous), carrier) for carrier in _add_paths(chosen.carriers, propagated)
    )
    stops = gather((stop.tag, stop) for stop in chosen.stops)
    for number, tag in enumerate(sorted({tag for tag, _ in below} | stops.keys())):
        if number:
            yield Text()
        yield Text(one_line(tag), style="bold")
        for guide, carrier in _walk(tag, below):
            line = Text(guide).append(one_line(title_in(titles, carrier.id)), style="" if guide else "bold")
            yield line.append(_describe_arrival(carrier), style="cyan")
        for stop in stops.get(tag, ()):
            line = Text(f"stopped: {one_line(title_in(titles, stop.id))}", style="dim")
            source = f"  ← {one_line(title_in(titles, stop.last.start))}" if stop.last else ""
            yield line.append(f"  {one_line(_reason(stop))}{source}")


def _add_paths(carriers: "Iterable[Carrier]", propagated: "PropagatedTags") -> "Iterator[Carrier]":
    """Yield carriers and all carriers on their paths, by tag and id."""
    known = {(carrier.tag, carrier.id): carrier for carrier in propagated.carriers}
    needed: dict[tuple[str, str], Carrier] = {}
    for carrier in carriers:
        current: Carrier | None = carrier
        while current is not None and (current.tag, current.id) not in needed:
            needed[current.tag, current.id] = current
            current = known.get((current.tag, current.previous))
    return (needed[key] for key in sorted(needed))


def _walk(tag: str, below: "Mapping[tuple[str, str], list[Carrier]]") -> "Iterator[tuple[str, Carrier]]":
    """Yield the carriers of a tag with the guide before them, depth first."""
    stack = [("", "", carrier) for carrier in reversed(below.get((tag, ""), ()))]
    while stack:
        guide, branch, carrier = stack.pop()
        yield guide + branch, carrier
        inner = guide + {"": "", "├── ": "│   ", "└── ": "    "}[branch]
        for number, child in enumerate(reversed(below.get((tag, carrier.id), ()))):
            stack.append((inner, "├── " if number else "└── ", child))


def _describe_arrival(carrier: "Carrier") -> str:
    """Return how the tag arrives at a carrier: job, transformation and expression."""
    if carrier.last is None:
        return ""
    edge = carrier.last.edge
    parts = (edge.job, "rows:" if carrier.by_rows else "", _how(edge))
    return "  ← " + "  ".join(truncate(one_line(part), _MAX_LENGTH) for part in parts if part)


def _reason(stop: "Stop") -> str:
    return stop.reason if stop.reason == stop.kind else f"{stop.kind}: {stop.reason}"


def _how(edge: Edge) -> str:
    values = [edge.properties.get(key) for key in ("transformation", "expression")]
    if edge.label == "feeds":
        values = ["as a whole"]
    return " ".join(str(value) for value in (*values, declaration(edge)) if value)

"""Tables and trees of carried tags."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from lineage_merge.graph_format.elements import Edge, Vertex, dataset_of
from lineage_merge.questions.formats.describe import one_line, truncate
from lineage_merge.questions.formats.table import add_row, new_table

if TYPE_CHECKING:
    from lineage_merge.questions.tag_answers import TagCounts
    from lineage_merge.questions.tag_propagation import Carrier, PropagatedTags, Stop

# In trees, which show the whole path.
_MAX_LENGTH = 48


def count_table(counts: "Iterable[TagCounts]") -> Table:
    """Return a row per tag."""
    table = new_table(
        "tag", "own datasets", "own columns", "inherited datasets", "inherited columns", "stopped"
    )
    for each in counts:
        numbers = (
            each.own_datasets,
            each.own_columns,
            each.inherited_datasets,
            each.inherited_columns,
            each.stops,
        )
        add_row(table, each.tag, *numbers)
    return table


def carrier_tables(found: "PropagatedTags") -> Iterator[Table | Text]:
    """Yield a row per carrier with its origin and the last step of its path, then a row per stop."""
    names = _Names(found)
    table = new_table("carrier", "tag", "kind", "origin", "steps", "last step", "job", name="carrier")
    for carrier in found.carriers:
        last = carrier.last.edge if carrier.last else None
        add_row(
            table,
            names.of(carrier.id),
            carrier.tag,
            "own" if carrier.own else "by rows" if carrier.by_rows else "inherited",
            "" if carrier.origin == carrier.id else names.of(carrier.origin),
            len(carrier.path),
            _how(last) if last else "",
            last.job if last else "",
        )
    yield table
    if found.stops:
        yield Text()
    table = new_table("stopped at", "tag", "reason", "origin", "job", name="stopped at")
    for stop in found.stops:
        job = stop.last.edge.job if stop.last else ""
        add_row(table, names.of(stop.id), stop.tag, _reason(stop), names.of(stop.origin), job)
    yield table


def carrier_tree(found: "PropagatedTags", shown: "Sequence[Carrier]") -> Iterator[Text]:
    """Yield lines: for each tag its origins, below each the carriers to which it leads, then the stops.

    `shown`: carriers with all carriers on their paths. Each is at the end of its shortest path.
    """
    names = _Names(found)
    below: dict[tuple[str, str], list[Carrier]] = defaultdict(list)
    for carrier in shown:
        below[carrier.tag, carrier.previous].append(carrier)
    stops = {tag: [each for each in found.stops if each.tag == tag] for tag in {s.tag for s in found.stops}}
    tags = sorted({each.tag for each in shown} | stops.keys())
    for number, tag in enumerate(tags):
        if number:
            yield Text()
        yield Text(one_line(tag), style="bold")
        left = [("", each, True) for each in reversed(below[tag, ""])]
        for guide, carrier, is_root in _walk(left, below):
            line = Text(guide).append(one_line(names.of(carrier.id)), style="bold" if is_root else "")
            yield line.append(_arrived(carrier), style="cyan")
        for stop in stops.get(tag, ()):
            line = Text(f"stopped: {one_line(names.of(stop.id))}", style="dim")
            source = one_line(names.of(stop.last.start)) if stop.last else ""
            yield line.append(f"  {one_line(_reason(stop))}{f'  ← {source}' if source else ''}")


def _walk(
    left: "list[tuple[str, Carrier, bool]]", below: "dict[tuple[str, str], list[Carrier]]"
) -> "Iterator[tuple[str, Carrier, bool]]":
    """Yield carriers with the guide before them, depth first; `left`: a stack of carriers."""
    stack = [("", "", carrier, is_root) for _, carrier, is_root in left]
    while stack:
        guide, branch, carrier, is_root = stack.pop()
        yield guide + branch, carrier, is_root
        inner = guide + {"": "", "├── ": "│   ", "└── ": "    "}[branch]
        children = below.get((carrier.tag, carrier.id), [])
        for number, child in enumerate(reversed(children)):
            stack.append((inner, "├── " if number else "└── ", child, False))


def _arrived(carrier: "Carrier") -> str:
    """Return how the tag arrives at a carrier: job, transformation and expression."""
    if carrier.last is None:
        return ""
    edge = carrier.last.edge
    parts = (edge.job, "rows:" if carrier.by_rows else "", _how(edge))
    return "  ← " + "  ".join(truncate(one_line(each), _MAX_LENGTH) for each in parts if each)


def _reason(stop: "Stop") -> str:
    return stop.reason if stop.reason == stop.kind else f"{stop.kind}: {stop.reason}"


def _how(edge: Edge) -> str:
    if edge.label == "feeds":
        return "as a whole"
    values = (edge.properties.get(key) for key in ("transformation", "expression"))
    return " ".join(str(each) for each in values if each)


class _Names:
    """Titles of elements; those of columns have the title of their dataset."""

    def __init__(self, found: "PropagatedTags") -> None:
        self._vertices = found.vertices

    def of(self, identifier: str) -> str:
        vertex = self._vertices.get(identifier) or Vertex(identifier, "column")
        owner = None if vertex.is_dataset else self._vertices.get(dataset_of(identifier))
        return f"{owner.title}#{vertex.name}" if owner else vertex.title

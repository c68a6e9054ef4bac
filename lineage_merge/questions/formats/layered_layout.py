"""Layout of boxes in layers from left to right: no box overlaps another, lines turn between boxes. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

_GAP_X, _GAP_Y = 64, 14
_BEND_HEIGHT = 4
_SWEEPS = 6

Pair = tuple[str, str]


class Link(NamedTuple):
    """A line from a box to another; lines of one `bundle` bend at the same points."""

    source: str
    target: str
    bundle: str


class Size(NamedTuple):
    """The size of a box in pixels."""

    width: int
    height: int


class Place(NamedTuple):
    """The upper left corner of a box and its size."""

    x: int
    y: int
    width: int
    height: int


class _Node(NamedTuple):
    """A box (`layer` -1), or the place in a layer where a bundle passes to later layers."""

    name: str
    layer: int = -1


@dataclass(frozen=True, slots=True)
class Layout:
    """Places of boxes, and the points through which a line passes, from left to right."""

    places: Mapping[str, Place] = field(default_factory=dict)
    bends: Mapping[Link, Sequence[tuple[int, int]]] = field(default_factory=dict)

    @property
    def width(self) -> int:
        """The right end of the boxes."""
        return max((place.x + place.width for place in self.places.values()), default=0)

    @property
    def height(self) -> int:
        """The lower end of boxes and lines."""
        lowest = max((place.y + place.height for place in self.places.values()), default=0)
        return max([lowest, *(y for points in self.bends.values() for _, y in points)])


def layout(sizes: Mapping[str, Size], links: Iterable[Link]) -> Layout:
    """Return the layout of boxes by id; those without a line are in rows below the others."""
    known = dict.fromkeys(
        link for link in links if link.source != link.target and sizes.keys() >= {link.source, link.target}
    )
    linked = {end for link in known for end in (link.source, link.target)}
    connected = _lay_out_connected({key: size for key, size in sizes.items() if key in linked}, list(known))
    single = {key: size for key, size in sizes.items() if key not in linked}
    top = connected.height + _GAP_Y if connected.places else 0
    return Layout({**connected.places, **_rows(single, top)}, connected.bends)


def layers(boxes: Sequence[str], pairs: Iterable[Pair]) -> list[list[str]]:
    """Return the boxes by the length of the longest path to them; a pair that closes a cycle is ignored."""
    drawn = set(boxes)
    targets: dict[str, list[str]] = defaultdict(list)
    for source, target in pairs:
        if source != target and {source, target} <= drawn:
            targets[source].append(target)
    order, closing = _topological(boxes, targets)
    depth = dict.fromkeys(boxes, 0)
    for box in order:
        for target in targets[box]:
            if (box, target) not in closing:
                depth[target] = max(depth[target], depth[box] + 1)
    layers: list[list[str]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for box in boxes:
        layers[depth[box]].append(box)
    return layers


def _topological(
    boxes: Sequence[str], targets: Mapping[str, Sequence[str]]
) -> tuple[Sequence[str], set[Pair]]:
    """Return the boxes, each before its targets, and the pairs that close a cycle."""
    finished: list[str] = []
    state: dict[str, bool] = {}  # whether all targets are finished
    closing: set[Pair] = set()
    # Boxes that no pair leads to begin, so that few pairs point back.
    reached = {box for boxes_fed in targets.values() for box in boxes_fed}
    for first in sorted(boxes, key=lambda box: box in reached):
        stack: list[tuple[str, Iterator[str]]] = []
        if first not in state:
            state[first] = False
            stack.append((first, iter(targets.get(first, ()))))
        while stack:
            box, rest = stack[-1]
            target = next(rest, None)
            if target is None:
                state[box] = True
                finished.append(box)
                stack.pop()
            elif target not in state:
                state[target] = False
                stack.append((target, iter(targets.get(target, ()))))
            elif not state[target]:
                closing.add((box, target))
    return finished[::-1], closing


def _lay_out_connected(sizes: Mapping[str, Size], lines: Sequence[Link]) -> Layout:
    by_layer = layers([*sizes], dict.fromkeys((link.source, link.target) for link in lines))
    layer_of = {box: number for number, layer in enumerate(by_layer) for box in layer}
    nodes = [[_Node(box) for box in layer] for layer in by_layer]
    routes: dict[Link, list[_Node]] = {}
    links: dict[tuple[_Node, _Node], None] = {}
    bends: set[_Node] = set()
    for line in lines:
        source, target, bundle = line
        through = [_Node(bundle, number) for number in range(layer_of[source] + 1, layer_of[target])]
        routes[line] = through
        for node in through:
            if node not in bends:
                bends.add(node)
                nodes[node.layer].append(node)
        chain = [_Node(source), *through, _Node(target)]
        if layer_of[source] < layer_of[target]:
            links.update(dict.fromkeys(pairwise(chain)))
    before: dict[_Node, list[_Node]] = defaultdict(list)
    after: dict[_Node, list[_Node]] = defaultdict(list)
    for start, end in links:
        before[end].append(start)
        after[start].append(end)
    _untangle(nodes, before, after)
    heights = {
        node: _BEND_HEIGHT if node.layer >= 0 else sizes[node.name].height
        for layer in nodes
        for node in layer
    }
    tops = _tops(nodes, before, heights)
    places: dict[str, Place] = {}
    points: dict[_Node, list[tuple[int, int]]] = {}
    x = 0
    for layer in nodes:
        width = max((sizes[node.name].width for node in layer if node.layer < 0), default=0)
        for node in layer:
            if node.layer < 0:
                places[node.name] = Place(x, tops[node], width, heights[node])
            else:
                middle = tops[node] + _BEND_HEIGHT // 2
                points[node] = [(x, middle), (x + width, middle)]
        x += width + _GAP_X
    bent = {line: [point for node in through for point in points[node]] for line, through in routes.items()}
    return Layout(places, bent)


def _untangle(
    nodes: list[list[_Node]], before: Mapping[_Node, list[_Node]], after: Mapping[_Node, list[_Node]]
) -> None:
    """Order each layer by the mean position of the neighbours, forwards and backwards."""
    for sweep in range(_SWEEPS):
        neighbours = before if sweep % 2 == 0 else after
        for number in range(len(nodes)) if sweep % 2 == 0 else reversed(range(len(nodes))):
            position = {node: place for layer in nodes for place, node in enumerate(layer)}
            means = {
                node: sum(position[neighbour] for neighbour in near) / len(near)
                if (near := neighbours.get(node))
                else position[node]
                for node in nodes[number]
            }
            nodes[number].sort(key=lambda node: (means[node], position[node]))


def _tops(
    nodes: Sequence[Sequence[_Node]], before: Mapping[_Node, list[_Node]], heights: Mapping[_Node, int]
) -> dict[_Node, int]:
    """Return the upper ends: each near the middle of what precedes it, in order and without overlap."""
    middles: dict[_Node, float] = {}
    for layer in nodes:
        wanted: list[float] = []
        offsets: list[float] = []  # of each middle from the first one, without free space
        for number, node in enumerate(layer):
            height, before_it = heights[node], heights[layer[number - 1]]
            step = (height + before_it) / 2 + _GAP_Y if number else 0.0
            offsets.append((offsets[-1] if number else 0.0) + step)
            near = [middles[neighbour] for neighbour in before.get(node, ())]
            wanted.append(sum(near) / len(near) if near else (wanted[-1] if number else 0.0) + step)
        free = _ascending([middle - offset for middle, offset in zip(wanted, offsets, strict=True)])
        middles.update(zip(layer, map(float.__add__, free, offsets), strict=True))
    tops = {node: round(middle - heights[node] / 2) for node, middle in middles.items()}
    least = min(tops.values(), default=0)
    return {node: top - least for node, top in tops.items()}


def _ascending(values: Iterable[float]) -> list[float]:
    """Return the ascending values that are nearest to these: those out of order become their mean."""
    groups: list[tuple[float, int]] = []
    for value in values:
        mean, number = value, 1
        while groups and groups[-1][0] > mean:
            other, many = groups.pop()
            mean, number = (mean * number + other * many) / (number + many), number + many
        groups.append((mean, number))
    return [mean for mean, number in groups for _ in range(number)]


def _rows(sizes: Mapping[str, Size], top: int) -> dict[str, Place]:
    """Return boxes in rows of a square."""
    in_row = max(1, round(len(sizes) ** 0.5))
    width = max((size.width for size in sizes.values()), default=0)
    places = {}
    boxes = list(sizes.items())
    for start in range(0, len(boxes), in_row):
        row = boxes[start : start + in_row]
        for number, (key, size) in enumerate(row):
            places[key] = Place(number * (width + _GAP_Y), top, width, size.height)
        top += max(size.height for _, size in row) + _GAP_Y
    return places

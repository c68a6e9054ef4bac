"""The layout of a dashboard: which charts it has, in which tabs, and which its filters cover. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lineage_merge.sources.json_values import as_list, as_mapping, as_text
from lineage_merge.sources.superset.documents import Document

_ROOT = "ROOT_ID"
_VERSION = "DASHBOARD_VERSION_KEY"
# Filters of a column, and of the time range of a chart.
_OF_COLUMNS = frozenset({"filter_select", "filter_range"})
_OF_TIME = "filter_time"


@dataclass(frozen=True, slots=True)
class PlacedChart:
    """A chart of a dashboard. `number`: its id in the database. `above`: the ids of what contains it."""

    uuid: str
    number: int
    title: str
    tab: str
    above: frozenset[str]


@dataclass(frozen=True, slots=True)
class NativeFilter:
    """A filter of a dashboard: of columns of data sets (by UUID), or of the time range of charts."""

    name: str
    targets: tuple[tuple[str, str], ...]
    is_of_time: bool
    roots: frozenset[str]
    excluded: frozenset[int]
    charts: frozenset[int] | None

    def covers(self, chart: PlacedChart) -> bool:
        """Return whether a chart is in the scope."""
        if self.charts is not None:
            return chart.number in self.charts
        return chart.number not in self.excluded and not self.roots.isdisjoint(chart.above)


def place_charts(position: Document) -> list[PlacedChart]:
    """Return the charts of a layout in reading order, each once."""
    uuids = _list_uuids(position)
    placed: dict[str, PlacedChart] = {}
    seen: set[str] = set()
    for identifier, above, tabs in _walk(position, seen):
        node = as_mapping(position[identifier])
        meta = as_mapping(node.get("meta"))
        number = next(_numbers([meta.get("chartId")]), 0)
        uuid = as_text(meta.get("uuid")).lower() or uuids.get(number, "")
        if node.get("type") == "CHART" and uuid:
            title = as_text(meta.get("sliceNameOverride"))
            chart = PlacedChart(uuid, number, title, " / ".join(tabs), frozenset(above))
            if (known := placed.get(uuid)) is not None:
                chart = PlacedChart(uuid, number, known.title or title, known.tab, known.above | chart.above)
            placed[uuid] = chart
    return list(placed.values())


def _list_uuids(position: Document) -> dict[int, str]:
    """Return the UUIDs of charts by number."""
    metas = (as_mapping(as_mapping(node).get("meta")) for node in position.values())
    return {
        number: uuid.lower()
        for meta in metas
        if isinstance(number := meta.get("chartId"), int) and (uuid := as_text(meta.get("uuid")))
    }


def find_damages(position: Document) -> Iterator[str]:
    """Yield the ids of parts that are no objects, of missing charts, and of charts without UUID."""
    nodes = {name: node for name, node in position.items() if isinstance(node, Mapping)}
    uuids = _list_uuids(position)
    children = (child for node in nodes.values() for child in as_list(node.get("children")))
    charts = {as_text(child): None for child in children if as_text(child).startswith("CHART")}
    for name in {**position, **charts}:
        meta = as_mapping(nodes.get(name, {}).get("meta"))
        is_chart = name in nodes and nodes[name].get("type") == "CHART"
        has_chart = as_text(meta.get("uuid")) or next(_numbers([meta.get("chartId")]), 0) in uuids
        if (name not in nodes and name != _VERSION) or (is_chart and not has_chart):
            yield name


def _walk(position: Document, seen: set[str]) -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """Yield what a layout contains, with the ids and the titles of the tabs around it."""
    waiting: list[tuple[str, tuple[str, ...], tuple[str, ...]]] = [(_ROOT, (), ())]
    while waiting:
        identifier, above, tabs = waiting.pop()
        if identifier in seen or not isinstance(position.get(identifier), Mapping):
            continue
        seen.add(identifier)
        yield identifier, above, tabs
        node = position[identifier]
        if node.get("type") in ("TAB", "TABS", "ROOT"):
            above = (*above, identifier)
        if node.get("type") == "TAB":
            meta = as_mapping(node.get("meta"))
            tabs = (*tabs, as_text(meta.get("text")) or as_text(meta.get("defaultText")) or identifier)
        below = [as_text(child) for child in as_list(node.get("children"))]
        waiting += ((child, above, tabs) for child in reversed(below))


def read_filters(metadata: Document) -> Iterator[NativeFilter]:
    """Yield the native filters of a dashboard that decide on rows, with any default or none."""
    for written in map(as_mapping, as_list(metadata.get("native_filter_configuration"))):
        kind = as_text(written.get("filterType"))
        targets = tuple(
            (
                as_text(target.get("datasetUuid")).lower(),
                as_text(as_mapping(target.get("column")).get("name")),
            )
            for target in map(as_mapping, as_list(written.get("targets")))
        )
        columns = tuple(target for target in targets if target[1])
        if written.get("type") == "DIVIDER" or not (kind == _OF_TIME or (kind in _OF_COLUMNS and columns)):
            continue
        scope = as_mapping(written.get("scope"))
        is_listed = not scope and isinstance(written.get("chartsInScope"), list)
        yield NativeFilter(
            as_text(written.get("name")),
            () if kind == _OF_TIME else columns,
            kind == _OF_TIME,
            frozenset(map(as_text, as_list(scope.get("rootPath")) or [_ROOT])),
            frozenset(_numbers(scope.get("excluded"))),
            frozenset(_numbers(written.get("chartsInScope"))) if is_listed else None,
        )


def _numbers(value: Any) -> Iterator[int]:
    return (number for number in as_list(value) if isinstance(number, int))

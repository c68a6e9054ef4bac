"""Near misses of dbt exposures: dashboards of a similar name that no rule joined with them."""

from collections.abc import Iterator
from typing import NamedTuple

from lineage_merge.graph_format.schema import Row
from lineage_merge.infra.batches import gather
from lineage_merge.infra.engine.rows import Rows
from lineage_merge.merge.declared_dashboards import is_declared
from lineage_merge.merge.near_misses.names import normalize, parts_of
from lineage_merge.merge.near_misses.pairs import THRESHOLD, Pair

# Exposures that are compared: bounds the memory of the driver.
_MAX_EXPOSURES = 20_000


class _Exposure(NamedTuple):
    id: str
    name: str
    kind: str
    url: str


def pair_dashboards(elements: Rows[Row]) -> list[Pair]:
    """Return the exposures that dbt declares and no rule joined, with the dashboards of their names."""
    found = elements.filter(_is_exposure).map(_read_exposure)
    exposures = sorted(found.collect())[:_MAX_EXPOSURES]
    by_name = gather(((one.kind, normalize(one.name)), one) for one in exposures)
    return [pair for alike in by_name.values() for pair in _pair(alike)]


def _is_exposure(row: Row) -> bool:
    return bool(row["label"] == "exposure")


def _read_exposure(row: Row) -> _Exposure:
    values = (str(row.get(key) or "") for key in ("id", "name", "exposure_type", "url"))
    return _Exposure(*values)


def _pair(alike: list[_Exposure]) -> Iterator[Pair]:
    declared = [one for one in alike if is_declared(one.id)]
    dashboards = [one for one in alike if not is_declared(one.id)]
    for exposure in declared:
        for dashboard in dashboards:
            evidence = [f"dashboards of one name: {dashboard.name}", _advise(exposure, dashboard)]
            if len(dashboards) > 1:
                evidence.append(f"{len(dashboards)} dashboards have this name")
            yield Pair(parts_of(exposure.id), parts_of(dashboard.id), THRESHOLD, tuple(evidence))


def _advise(exposure: _Exposure, dashboard: _Exposure) -> str:
    if not dashboard.url:
        return "the dashboard has no URL: configure the address of its tool"
    known = "another url" if exposure.url else "no url"
    return f"the exposure has {known} in dbt: the dashboard's is {dashboard.url}"

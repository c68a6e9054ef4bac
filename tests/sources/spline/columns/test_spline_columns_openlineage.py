"""Column lineage of Spline and OpenLineage for the same jobs: every difference has a named reason.

OpenLineage reads the optimized plan, Spline the analyzed one.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from lineage_merge.model.elements import Reference
from lineage_merge.sources.spline.columns.lineage import column_lineage
from tests.sources.spline.columns.lineage_reading import captured, short, target

_APPLICATIONS = ("tpch", "seed_queries", "tickit_sales_ingest", "tickit_sales_load")
_DIRECT = {"IDENTITY", "TRANSFORMATION", "AGGREGATION"}

Kinds = frozenset[str]


class _Difference(NamedTuple):
    """A source's column and a target (or its column), with what each side says of them."""

    target: str
    lineage: Kinds
    openlineage: Kinds


_Reasons = Mapping[str, Callable[[_Difference], bool]]

# Both sides name the same columns, one says otherwise what is done to them.
_OF_KINDS: _Reasons = {
    "their listener lost the last write of the job": lambda each: (
        each.target.startswith("sales_dl.") and not each.openlineage
    ),
    "a cast is a TRANSFORMATION to us": lambda each: (
        each.target == "q03.o_orderdate"
        and each.lineage == {"TRANSFORMATION"}
        and each.openlineage == {"IDENTITY"}
    ),
    "an aggregate of what an operation below computed stays an AGGREGATION to us": lambda each: (
        each.lineage == {"AGGREGATION"} and each.openlineage == {"TRANSFORMATION"}
    ),
    "a condition on a column that an operation below renamed stays CONDITIONAL to us": lambda each: (
        each.lineage == {"CONDITIONAL"} and each.openlineage == {"IDENTITY"}
    ),
}

_OF_INFLUENCES: _Reasons = {
    "their listener lost the last write of the job": lambda each: (
        each.target == "sales_dl" and not each.openlineage
    ),
    "they say of a computed value that decides how it was computed, not what it decides": lambda each: (
        bool(each.openlineage & _DIRECT) and bool(each.lineage)
    ),
    "the optimiser makes a join of WHERE a = b, IN and EXISTS": lambda each: (
        "FILTER" in each.lineage
        and "JOIN" in each.openlineage - each.lineage
        and each.openlineage - {"JOIN"} <= each.lineage
        and each.lineage - {"FILTER"} <= each.openlineage
    ),
    "the optimiser groups a subquery by the columns of the query around it": lambda each: (
        each.target in ("q02", "q17", "q20")
        and each.lineage == {"FILTER"}
        and each.openlineage == {"FILTER", "GROUP_BY", "JOIN"}
    ),
    "the optimiser filters one side before an outer join": lambda each: (
        each.target == "q13" and each.lineage == {"JOIN"} and each.openlineage - {"JOIN"} == {"FILTER"}
    ),
}


@pytest.fixture(scope="module")
def lineage(data: Path) -> tuple[dict[str, Kinds], dict[str, Kinds]]:
    """Return the column lineage and influences from Spline, by source column and target."""
    flows: defaultdict[str, set[str]] = defaultdict(set)
    influences: defaultdict[str, set[str]] = defaultdict(set)
    for application in _APPLICATIONS:
        for plan in captured(data / "spline" / application):
            written, found = target(plan), column_lineage(plan)
            for flow in found.flows:
                kinds = (kind.name for kind in flow.transformations)
                flows[_key(flow.source.name, flow.column, f"{written}.{flow.target_column}")].update(kinds)
            for each in found.influences:
                influences[_key(each.source.name, each.column, written)].update(each.kinds)
    return _frozen(flows), _frozen(influences)


@pytest.fixture(scope="module")
def openlineage(data: Path) -> tuple[dict[str, Kinds], dict[str, Kinds]]:
    """Return the same from OpenLineage."""
    flows: defaultdict[str, set[str]] = defaultdict(set)
    influences: defaultdict[str, set[str]] = defaultdict(set)
    for application in _APPLICATIONS:
        for line in (data / "openlineage" / f"{application}.jsonl").read_text().splitlines():
            output = json.loads(line)
            written = short(Reference("", output["name"]))
            for column, made_of in output["columnLineage"]["fields"].items():
                for each in made_of["inputFields"]:
                    flows[_key(each["name"], each["field"], f"{written}.{column}")].update(_subtypes(each))
            for each in output["columnLineage"]["dataset"]:
                influences[_key(each["name"], each["field"], written)].update(_subtypes(each))
    return _frozen(flows), _frozen(influences)


def test_both_see_the_same_columns_flow_but_for_a_write_that_they_lost(
    lineage: tuple[dict[str, Kinds], dict[str, Kinds]], openlineage: tuple[dict[str, Kinds], dict[str, Kinds]]
) -> None:
    known = {each for each in lineage[0] if not each.partition(" > ")[2].startswith("sales_dl.")}

    assert known == set(openlineage[0])
    assert len(known) > 100


def test_every_difference_in_how_a_column_flows_has_a_reason(
    lineage: tuple[dict[str, Kinds], dict[str, Kinds]], openlineage: tuple[dict[str, Kinds], dict[str, Kinds]]
) -> None:
    assert _unexplained(lineage[0], openlineage[0], _OF_KINDS) == ([], [])


def test_every_difference_in_what_decides_on_rows_has_a_reason(
    lineage: tuple[dict[str, Kinds], dict[str, Kinds]], openlineage: tuple[dict[str, Kinds], dict[str, Kinds]]
) -> None:
    assert _unexplained(lineage[1], openlineage[1], _OF_INFLUENCES) == ([], [])


def _unexplained(
    lineage: Mapping[str, Kinds], openlineage: Mapping[str, Kinds], reasons: _Reasons
) -> tuple[list[str], list[str]]:
    """The differences that no reason explains, and the reasons that explain nothing any more."""
    unused = set(reasons)
    unexplained: list[str] = []
    for key in sorted({*lineage, *openlineage}):
        each = _Difference(
            key.partition(" > ")[2], lineage.get(key, frozenset()), openlineage.get(key, frozenset())
        )
        if each.lineage == each.openlineage:
            continue
        reason = next((name for name, explains in reasons.items() if explains(each)), None)
        if reason is None:
            unexplained.append(f"{key}: {sorted(each.lineage)}, OpenLineage: {sorted(each.openlineage)}")
        unused.discard(reason or "")
    return unexplained, sorted(unused)


def _key(source: str, column: str, written: str) -> str:
    return f"{short(Reference('', source.rpartition(':')[2]))}.{column} > {written}"


def _subtypes(field: Mapping[str, list[Mapping[str, str]]]) -> set[str]:
    return {each["subtype"] for each in field["transformations"]}


def _frozen(found: Mapping[str, set[str]]) -> dict[str, Kinds]:
    return {key: frozenset(kinds) for key, kinds in found.items()}

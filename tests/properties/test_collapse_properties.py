"""Folding keeps reachability: what temporary datasets lead to, the folded graph leads to as well."""

from collections import defaultdict
from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from lineage_merge.merge.path_contraction import HopLink, components, contract_paths
from lineage_merge.model.elements import Feeds, FeedsColumn, Influences, JobKey
from lineage_merge.model.records import LinkRecord
from tests.properties.drawn import examples
from tests.record_reading import records_of

# Datasets whose names begin with t are temporary.
_NAMES = [*(f"l{number}" for number in range(4)), *(f"t{number}" for number in range(5))]
_COLUMNS = st.sampled_from(["a", "A", "b"])
_JOBS = st.sampled_from([JobKey("spark", "one"), JobKey("spark", "two")])
_TRANSFORMATIONS = st.lists(
    st.sampled_from(["IDENTITY", "TRANSFORMATION", "AGGREGATION", "CONDITIONAL", "WINDOW"]),
    min_size=1,
    max_size=2,
    unique=True,
)


@st.composite
def graphs(draw: st.DrawFn) -> list[LinkRecord]:
    """Flows between datasets, and columns and influences where there are flows, in circles too."""
    ends = st.tuples(_JOBS, st.sampled_from(_NAMES), st.sampled_from(_NAMES))
    rows: list[LinkRecord] = []
    for job, source, target in draw(st.lists(ends, max_size=14, unique=True)):
        rows.append(Feeds(job, source, target, sets={"operations": [f"{source}{target}"]}))
        for column, other in draw(st.lists(st.tuples(_COLUMNS, _COLUMNS), max_size=2, unique=True)):
            rows.append(FeedsColumn(job, source, column, target, other, draw(_TRANSFORMATIONS)))
        if draw(st.booleans()):
            rows.append(Influences(job, source, draw(_COLUMNS), target, ["FILTER"]))
    return rows


def hops_of(rows: Iterable[LinkRecord]) -> set[str]:
    """The temporary datasets that lie between others."""
    flows = [row for row in records_of(Feeds, rows) if row.source != row.target]
    return {row.source for row in flows if row.source[0] == "t"} & {row.target for row in flows}


def folded(rows: list[LinkRecord]) -> list[LinkRecord]:
    """The rows after `merge.collapse_intermediate`: hops that are tied together in one group."""
    hops = hops_of(rows)
    tied = [(row.source, row.target) for row in rows if row.source in hops and row.target in hops]
    part = {hop: hop for hop in hops} | components(tied)
    touching: defaultdict[str, list[HopLink[LinkRecord]]] = defaultdict(list)
    lasting = []
    for row in rows:
        of = {part[end] for end in (row.source, row.target) if end in hops}
        if of:
            out_of = row.source if row.source in hops else None
            into = row.target if row.target in hops else None
            touching[of.pop()].append(HopLink(row, out_of, into))
        else:
            lasting.append(row)
    return [*lasting, *(each for group in touching.values() for each in contract_paths(group))]


def reached(flows: Iterable[tuple[str, str]], hops: set[str]) -> set[tuple[str, str]]:
    """Pairs of lasting datasets of which one leads to the other through temporary ones alone."""
    after: defaultdict[str, set[str]] = defaultdict(set)
    for source, target in flows:
        after[source].add(target)
    found = set()
    for start in list(after):
        seen: set[str] = set()
        waiting = [start] if start not in hops else []
        while waiting:
            for each in after.get(waiting.pop(), set()) - seen:
                seen.add(each)
                waiting += [each] if each in hops else []
        found |= {(start, each) for each in seen if each not in hops}
    return found


def of_datasets(rows: Iterable[LinkRecord]) -> list[tuple[str, str]]:
    return [(row.source, row.target) for row in records_of(Feeds, rows)]


def of_columns(rows: Iterable[LinkRecord]) -> list[tuple[str, str]]:
    """Flows of columns as if they were datasets of their own."""
    return [
        (f"{row.source}.{row.source_column.lower()}", f"{row.target}.{row.target_column.lower()}")
        for row in records_of(FeedsColumn, rows)
    ]


@examples(120)
@given(graphs())
def test_lasting_datasets_lead_to_just_what_they_led_to(rows: list[LinkRecord]) -> None:
    hops = hops_of(rows)

    left = folded(rows)

    assert {end for row in left for end in (row.source, row.target)} & hops == set()
    assert reached(of_datasets(left), set()) == reached(of_datasets(rows), hops)


@examples(120)
@given(graphs())
def test_the_job_of_a_folded_flow_is_the_one_that_writes_its_target(rows: list[LinkRecord]) -> None:
    writers = {(row.job, row.target) for row in records_of(Feeds, rows)}

    assert {(row.job, row.target) for row in records_of(Feeds, folded(rows))} <= writers


@examples(120)
@given(graphs())
def test_columns_flow_only_where_datasets_do(rows: list[LinkRecord]) -> None:
    left = folded(rows)
    flows = {(row.job, row.source, row.target) for row in records_of(Feeds, left)}

    assert {(row.job, row.source, row.target) for row in left} <= flows


@examples(100)
@given(graphs())
def test_columns_lead_to_just_what_they_led_to(rows: list[LinkRecord]) -> None:
    hops = hops_of(rows)
    of_hops = {f"{hop}.{column}" for hop in hops for column in ("a", "b")}

    assert reached(of_columns(folded(rows)), set()) == reached(of_columns(rows), of_hops)

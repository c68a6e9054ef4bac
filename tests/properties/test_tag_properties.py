"""Carried tags on drawn graphs, compared with a slow oracle."""

from hypothesis import given
from hypothesis import strategies as st

from lineage_merge.config import Cleared, Propagation
from lineage_merge.graph_format.elements import Edge, Vertex
from lineage_merge.questions.backends.in_memory import InMemory
from lineage_merge.questions.traversal.tag_propagation import Carrier, propagate
from tests.properties.drawn import examples
from tests.properties.oracle_tags import Rules, carried

_DATASETS = [f"dev|wh|d{number}" for number in range(6)]
_COLUMNS = [f"{dataset}|{name}" for dataset in _DATASETS for name in "ab"]
_JOBS = ["one", "two"]
_DIRECT = ["IDENTITY", "TRANSFORMATION", "AGGREGATION", "CONDITIONAL"]
_ROWS = ["FILTER", "JOIN"]
_FUNCTIONS = ["md5", "lower"]
_DAG = {"environment": "dev"}

Elements = tuple[list[Vertex], list[Edge]]


@st.composite
def graphs(draw: st.DrawFn) -> Elements:
    """Datasets with and without columns, some tagged; edges between all of them, in circles too."""
    some = st.sets(st.sampled_from(_COLUMNS), max_size=len(_COLUMNS))
    known = draw(some)
    tagged = draw(st.sets(st.sampled_from([*_DATASETS, *sorted(known)]), max_size=3))
    vertices = [
        Vertex(
            each,
            label,
            {"environment": "dev", "dag_name": ("d",)} | ({"tags": ("t",)} if each in tagged else {}),
        )
        for label, ids in (("table", _DATASETS), ("column", sorted(known)))
        for each in ids
    ]
    edges = [_edge("has_column", each.rpartition("|")[0], each, "", {}) for each in sorted(known)]
    pairs = st.tuples(st.sampled_from(_DATASETS), st.sampled_from(_DATASETS), st.sampled_from(_JOBS))
    for source, target, job in sorted(draw(st.sets(pairs, max_size=10))):
        lost = {"column_lineage": "unavailable"} if draw(st.integers(0, 4)) == 0 else {}
        edges.append(_edge("feeds", source, target, job, lost))
    columns = sorted(known)
    if columns:
        ends = st.tuples(
            st.sampled_from(columns), st.sampled_from([*columns, *_DATASETS]), st.sampled_from(_JOBS)
        )
        for source, target, job in sorted(draw(st.sets(ends, max_size=14))):
            is_column = target in known
            kinds = draw(st.sets(st.sampled_from(_DIRECT if is_column else _ROWS), min_size=1, max_size=2))
            properties = {"transformation": ",".join(sorted(kinds))}
            if is_column and draw(st.booleans()):
                name = source.rpartition("|")[2]
                properties["expression"] = f"{draw(st.sampled_from(_FUNCTIONS))}({name})"
            edges.append(
                _edge("feeds_column" if is_column else "influences", source, target, job, properties)
            )
    return vertices, edges


def _edge(label: str, start: str, end: str, job: str, properties: dict[str, str]) -> Edge:
    of_job = _DAG | {"dag_name": "d"} | ({"job_name": job} if job else {})
    return Edge(f"{label} {start} {end} {job}", label, start, end, of_job | properties)


RULES = st.builds(
    Rules,
    st.frozensets(st.sampled_from([*_DIRECT, *_ROWS, "influences"]), max_size=3),
    st.frozensets(st.just("md5")),
    st.frozensets(st.sampled_from(_DATASETS), max_size=2),
    st.frozensets(st.sampled_from(_COLUMNS), max_size=3),
)


def settings(rules: Rules) -> Propagation:
    """The configuration of the oracle's rules."""
    return Propagation(
        rules.transformations,
        tuple(sorted(rules.functions)),
        tuple(each.removeprefix("dev|") for each in sorted(rules.datasets)),
        tuple(
            Cleared(dataset.removeprefix("dev|"), name, "why")
            for dataset, _, name in (each.rpartition("|") for each in sorted(rules.cleared))
        ),
    )


def assert_path(carrier: Carrier, found: dict[str, Carrier]) -> None:
    """The path leads from the origin to the carrier, over carriers only."""
    here = {carrier.origin}
    for edge in carrier.path:
        starts = here | {each.rpartition("|")[0] for each in here}
        starts |= {each for each in found if each.rpartition("|")[0] in here}
        assert edge.from_id in starts
        here = {edge.to_id}
    assert carrier.id in here or carrier.id.rpartition("|")[0] in here


@examples(300)
@given(graphs(), RULES)
def test_carriers_and_distances_are_those_of_the_oracle(elements: Elements, rules: Rules) -> None:
    vertices, edges = elements
    found = propagate(InMemory(vertices, edges), ["t"], {"t": settings(rules)}, "dev", "d")
    distances, by_rows = carried("t", vertices, edges, rules)
    assert {each.id: len(each.path) for each in found.carriers if not each.by_rows} == distances
    assert {each.id: len(each.path) for each in found.carriers if each.by_rows} == by_rows
    by_id = {each.id: each for each in found.carriers}
    for each in found.carriers:
        assert_path(each, by_id)
    assert by_id.keys().isdisjoint(each.id for each in found.stops)


@examples(100)
@given(graphs(), RULES)
def test_the_order_of_elements_does_not_matter(elements: Elements, rules: Rules) -> None:
    vertices, edges = elements
    one = propagate(InMemory(vertices, edges), None, {"*": settings(rules)})
    other = propagate(InMemory(vertices[::-1], edges[::-1]), None, {"*": settings(rules)})
    assert [(each, each.path) for each in one.carriers] == [(each, each.path) for each in other.carriers]
    assert [(each, each.path) for each in one.stops] == [(each, each.path) for each in other.stops]


@examples(100)
@given(graphs(), RULES)
def test_settings_never_add_a_carrier(elements: Elements, rules: Rules) -> None:
    graph = InMemory(*elements)
    everywhere = {each.id for each in propagate(graph, ["t"], {}).carriers}
    assert {each.id for each in propagate(graph, ["t"], {"t": settings(rules)}).carriers} <= everywhere

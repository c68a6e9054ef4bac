"""Incremental loads end in the graph of a full comparison."""

import json
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from gremlin_python.process.graph_traversal import GraphTraversalSource
from gremlin_python.process.traversal import Cardinality, T

from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.infra.engine.rows import Engine, Rows
from lineage_merge.load.gremlin import merge_state
from lineage_merge.load.gremlin.connection import Endpoint, connect
from lineage_merge.load.gremlin.executor import REQUESTS_IN_FLIGHT, reuse_connections
from lineage_merge.load.gremlin.remove_dag import remove
from lineage_merge.load.gremlin.running_load import LoadTarget
from lineage_merge.load.gremlin.writer import write
from lineage_merge.load.result import LoadResult, Pipeline
from lineage_merge.load.server.update import update
from lineage_merge.load.shard_digests import ShardEntries
from tests import drawing
from tests.graph_reading import whole
from tests.load.engines import on_both_engines
from tests.load.neptune_proxy import neptune_proxy
from tests.made_merges import ALL, Made, dataset

pytestmark = pytest.mark.jvm

RUN = "dev|daily|merge_run"
FULL, CHANGES = "full", "changes"

Load = Callable[..., LoadResult]


@pytest.fixture
def load(engine: Engine, gremlin_url: str, gremlin: GraphTraversalSource) -> Load:
    def loading(made: Made, **options: Any) -> LoadResult:
        merge = made.merge(engine, ALL)
        return update(merge, Endpoint(gremlin_url), "dev", made.dag, allow_retire=True, **options)

    return loading


def pipeline(dag: str = "daily", at: int = 1, models: int = 3, **values: Any) -> Made:
    made = Made(dag).job("dbt", "model.p.raw", {"sales": ["raw"]}, at, "p")
    made.node("sales", "table", **values)
    for number in range(models):
        job = f"model.p.m{number}"
        made.job("dbt", job, {f"m{number}": ["sales"]}, at, "p")
        made.feeds_column(("dbt", job), ("sales", "price"), (f"m{number}", "total"))
    return made


def reader(at: int = 1, **values: Any) -> Made:
    made = Made("weekly").job("spark", "j", {"report": ["sales", "m0"]}, at)
    return made.node("sales", "table", **values).node("m0", "table")


@on_both_engines
def test_a_load_after_a_successful_one_does_not_read_unchanged_elements(load: Load) -> None:
    assert load(pipeline()).compared == FULL
    again = load(pipeline())
    assert (again.compared, again.nodes, again.edges, again.retired_edges) == (CHANGES, 0, 0, 0)
    assert again.unchanged == len(pipeline().nodes) + len(pipeline().edges)
    assert load(pipeline(), verify=True).compared == FULL


@on_both_engines
def test_changed_elements_are_written_and_dropped_ones_deleted(
    load: Load, gremlin: GraphTraversalSource
) -> None:
    load(pipeline(models=4, description="old"))
    changed = pipeline(at=2, models=3, description="new").job("dbt", "model.p.n", {"n": ["sales"]}, 2, "p")
    loaded = load(changed)
    assert loaded.compared == CHANGES
    vertices, edges = whole(gremlin)
    assert set(vertices) == set(changed.nodes)
    assert set(edges) == set(changed.edges)
    assert vertices[dataset("sales")][1]["description"] == ["new"]
    # Five jobs ran again or are new; one table is new, one is described otherwise.
    assert (loaded.nodes, loaded.edges, loaded.retired_edges, loaded.retired_nodes) == (7, 2, 4, 3)
    again = load(changed)
    assert (again.compared, again.nodes, again.edges, again.retired_nodes) == (CHANGES, 0, 0, 0)


@pytest.mark.parametrize("what", ["vertex", "edge"])
def test_a_manually_removed_element_is_written_again(
    load: Load, gremlin: GraphTraversalSource, what: str
) -> None:
    load(pipeline())
    before = whole(gremlin)
    if what == "vertex":
        gremlin.V(dataset("m1")).drop().to_list()
    else:
        gremlin.E(next(iter(before[1]))).drop().to_list()
    assert load(pipeline()).compared == FULL
    assert whole(gremlin) == before


def test_a_manually_edited_value_is_found_only_by_a_full_comparison(
    load: Load, gremlin: GraphTraversalSource
) -> None:
    load(pipeline(description="right"))
    before = whole(gremlin)
    gremlin.V(dataset("sales")).property(Cardinality.single, "description", "edited").to_list()
    assert load(pipeline(description="right")).nodes == 0
    assert load(pipeline(description="right"), verify=True).nodes == 1
    assert whole(gremlin) == before


def test_changes_of_another_dag_to_shared_vertices_are_compared_by_the_next_load(
    load: Load, gremlin: GraphTraversalSource
) -> None:
    load(pipeline(description="of the builder"))
    assert load(reader(format="jdbc")).compared == FULL
    assert load(pipeline(description="of the builder")).compared == FULL
    assert load(pipeline(description="of the builder")).compared == CHANGES
    assert load(reader(format="jdbc")).compared == CHANGES
    # Nothing of the other DAG's is touched by edges of its own.
    assert load(reader(2, format="jdbc").job("spark", "j", {"report2": ["sales"]}, 2)).compared == CHANGES
    assert load(pipeline(description="of the builder")).compared == CHANGES


def test_a_dataset_keeps_the_label_of_its_builder(load: Load, gremlin: GraphTraversalSource) -> None:
    load(pipeline())
    load(reader())
    load(pipeline())
    relabelled = pipeline().node("m0", "view")
    assert load(relabelled).compared == CHANGES
    before = whole(gremlin)
    assert before[0][dataset("m0")][0] == "view"
    assert load(reader()).compared == FULL
    assert whole(gremlin) == before


@pytest.mark.parametrize("damage", ["no vertex", "no text", "another text", "that of another load"])
@pytest.mark.parametrize("kind", ["digests", "keys"])
def test_a_damaged_state_leads_to_a_full_comparison(
    load: Load, gremlin: GraphTraversalSource, damage: str, kind: str
) -> None:
    load(pipeline(models=2))
    state = gremlin.V().has_label("merge_state")
    vertices = {"keys" if id_.endswith("|keys") else "digests": id_ for id_ in state.id_().to_list()}
    earlier = gremlin.V(vertices[kind]).values("state").next()
    load(pipeline())
    match damage:
        case "no vertex":
            gremlin.V(vertices[kind]).drop().to_list()
        case "no text":
            gremlin.V(vertices[kind]).properties("state").drop().to_list()
        case _:
            text = earlier if damage == "that of another load" else "eJyLjgUAARUAuQ=="
            gremlin.V(vertices[kind]).property(Cardinality.single, "state", text).to_list()
    changed = pipeline(description="new", models=4)
    assert load(changed).compared == FULL
    assert set(whole(gremlin)[1]) == set(changed.edges)
    assert load(changed).compared == CHANGES


def test_a_load_killed_before_it_ends_leaves_no_valid_state(
    load: Load, gremlin: GraphTraversalSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All is written, and the digests of shards, when the load is killed."""
    load(pipeline())
    with monkeypatch.context() as patch:
        patch.setattr("lineage_merge.load.gremlin.running_load.end", _killed)
        with pytest.raises(KeyboardInterrupt):
            load(pipeline(description="new"))
    changed = pipeline(description="newer")
    assert [load(changed).compared for _ in range(3)] == [FULL, FULL, CHANGES]
    assert whole(gremlin)[0][dataset("sales")][1]["description"] == ["newer"]


@pytest.mark.parametrize("written", [0, 1])
def test_a_load_killed_while_it_writes_digests_leaves_no_valid_state(
    load: Load, monkeypatch: pytest.MonkeyPatch, written: int
) -> None:
    load(pipeline(models=60))
    before = merge_state.write_shards

    def killed_after_some(entries: Rows[ShardEntries], target: LoadTarget) -> bool:
        before(entries.engine.rows(entries.collect()[:written]), target)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(merge_state, "write_shards", killed_after_some)
        with pytest.raises(KeyboardInterrupt):
            load(pipeline(models=60, at=2))
    assert [load(pipeline(models=60, at=2)).compared for _ in range(3)] == [FULL, FULL, CHANGES]


def _killed(*_: Any) -> None:
    raise KeyboardInterrupt


def test_a_state_of_the_first_format_leads_to_a_full_comparison_and_is_replaced(
    load: Load, gremlin: GraphTraversalSource
) -> None:
    load(pipeline())
    state = {"full": 0, "load": "", "shards": ["0123456789abcdef"] * 3, "left": 1, "names": ""}
    counts = {"vertices": {"table": 4}, "edges": {"feeds": 3}}
    text = json.dumps(state | counts | {"version": 1})
    gremlin.V(RUN).property(Cardinality.single, "state", text).to_list()
    for number in range(4):
        identifier = f"dev|daily|merge_state|{number}"
        gremlin.merge_v({T.id: identifier, T.label: "merge_state"}).property("state", "e").to_list()
    assert [load(pipeline()).compared for _ in range(2)] == [FULL, CHANGES]
    assert set(gremlin.V().has_label("merge_state").id_().to_list()) == {
        "dev|daily|merge_state|0",
        "dev|daily|merge_state|0|keys",
    }


def test_a_change_reads_and_writes_the_digests_of_its_shard_only(
    load: Load, gremlin: GraphTraversalSource
) -> None:
    def texts() -> dict[str, str]:
        found = gremlin.V().has_label("merge_state").project("id", "text").by(T.id).by("state").to_list()
        return {each["id"]: each["text"] for each in found}

    load(pipeline(models=600))
    before = texts()
    values = pipeline(models=600).node("m7", description="new")
    assert load(values).elements_read < len(before)
    digests = {identifier for identifier, text in texts().items() if before[identifier] != text}
    assert len(digests) == 1
    before = texts()
    load(values.node("m7").feeds_column(("dbt", "model.p.m7"), ("sales", "price"), ("m7", "tax")))
    changed = {identifier for identifier, text in texts().items() if before[identifier] != text}
    assert changed == digests | {f"{identifier}|keys" for identifier in digests}


def test_an_element_that_is_removed_while_a_load_ends_is_written_by_the_next(
    load: Load, gremlin: GraphTraversalSource
) -> None:
    """What a load wrote is not counted at its end, but before the next one trusts it."""
    load(pipeline())

    def remove_one(kind: str, done: int, total: int) -> None:
        if kind == "nodes" and done == total:
            gremlin.V(dataset("m1")).drop().to_list()

    changed = pipeline(description="new")
    assert load(changed, on_written=remove_one).compared == CHANGES
    assert load(changed).compared == FULL
    assert set(whole(gremlin)[0]) == set(changed.nodes)


def test_two_full_comparisons_follow_a_killed_load(load: Load, gremlin: GraphTraversalSource) -> None:
    load(pipeline())
    gremlin.V(RUN).property(Cardinality.single, "load_token", "a killed one").to_list()
    assert [load(pipeline()).compared for _ in range(3)] == [FULL, FULL, CHANGES]


def test_overlapping_loads_leave_no_valid_state(
    engine: Engine, load: Load, gremlin_url: str, gremlin: GraphTraversalSource
) -> None:
    load(pipeline())

    def start_other_load(_what: str, done: int, total: int) -> None:
        if done == total:
            gremlin.V(RUN).property(Cardinality.single, "load_token", "a later one").to_list()

    load(pipeline(description="slow"), on_written=start_other_load)
    gremlin.V(RUN).properties("load_token").drop().to_list()
    assert [load(pipeline()).compared for _ in range(3)] == [FULL, FULL, CHANGES]


def test_a_dag_that_was_removed_is_loaded_in_full(
    load: Load, gremlin: GraphTraversalSource, gremlin_url: str
) -> None:
    load(pipeline())
    before = whole(gremlin)
    remove(Endpoint(gremlin_url), Pipeline("dev", "daily"))
    assert gremlin.V().count().next() == 0
    assert load(pipeline()).compared == FULL
    assert whole(gremlin) == before


def test_a_dry_run_does_not_change_the_state(load: Load, gremlin: GraphTraversalSource) -> None:
    load(pipeline())
    before = gremlin.V(RUN).value_map().next()
    shown = load(pipeline(description="new"), dry_run=True)
    assert (shown.compared, shown.nodes) == (CHANGES, 1)
    assert gremlin.V(RUN).value_map().next() == before


def random_merge(chance: random.Random, dag: str, at: int) -> Made:
    """Return a random merge of a DAG."""
    made = Made(dag)
    at = at if chance.random() < 0.8 else chance.randint(1, at)
    for number in range(6):
        if chance.random() < 0.7:
            job = f"model.p.{dag}{number}"
            sources = [f"t{chance.randint(0, 8)}" for _ in range(2)]
            target = f"t{number}" if chance.random() < 0.6 else f"own_{dag}{number}"
            made.job("dbt", job, {target: sources}, at, "p", operations=chance.choice(["A", "B"]))
            if chance.random() < 0.5:
                column = chance.choice("ab")
                made.feeds_column(("dbt", job), (sources[0], column), (target, column))
    for number in range(4):
        if chance.random() < 0.6:
            flows = {f"s{chance.randint(0, 3)}": [f"t{number}"]}
            made.job("spark", f"j{number}", flows, at).ran(f"j{number}", chance.randint(0, 4))
    for node in made.nodes.values():
        if node["label"] == "table":
            if chance.random() < 0.3:
                node["description"] = chance.choice(["x", "y", "z"])
            if chance.random() < 0.15:
                node["label"] = "view"
            if chance.random() < 0.2:
                node["tags"] = [chance.choice("pq")]
    return made


def run_loads(load: Load, g: GraphTraversalSource, seed: int, *, verify: bool) -> tuple[list[Any], list[Any]]:
    """Run random loads, with manual removals in between; returns the graph after each of them."""
    chance = random.Random(seed)
    g.V().drop().to_list()
    graphs, compared = [], []
    last: dict[str, Made] = {}
    for at in range(1, 16):
        dag = chance.choice(["daily", "weekly", "hourly"])
        again = dag in last and chance.random() < 0.4
        made = last[dag] if again else random_merge(chance, dag, at)
        last[dag] = made
        if chance.random() < 0.25:
            vertices, edges = whole(g)
            kind, found = chance.choice([("v", sorted(vertices)), ("e", sorted(edges))])
            if found:
                one = chance.choice(found)
                (g.V(one) if kind == "v" else g.E(one)).drop().to_list()
        if made.nodes:
            compared.append(load(made, verify=verify).compared)
        graphs.append(whole(g))
    return graphs, compared


@pytest.mark.parametrize("seed", drawing.share_of(range(8)))
def test_random_loads_end_in_the_graph_of_full_comparisons(
    load: Load, gremlin: GraphTraversalSource, seed: int
) -> None:
    of_changes, compared = run_loads(load, gremlin, seed, verify=False)
    in_full, _ = run_loads(load, gremlin, seed, verify=True)
    for number, (found, right) in enumerate(zip(of_changes, in_full, strict=True)):
        assert found == right, f"after load {number}"
    assert CHANGES in compared


def test_a_load_counts_requests_and_elements_read(load: Load, gremlin: GraphTraversalSource) -> None:
    first, again = load(pipeline()), load(pipeline())
    # The state of the run, its counts, and its end: not one for any element.
    assert first.all_requests > first.requests > 0
    assert again.all_requests <= 10
    values = gremlin.V(RUN).value_map("requests", "elements_read").next()
    assert 0 < values["requests"][0] < again.all_requests
    assert 0 < values["elements_read"][0] <= again.elements_read


def test_the_stages_of_an_unchanged_load_share_a_connection(
    gremlin: GraphTraversalSource, gremlin_url: str
) -> None:
    made = pipeline()
    with neptune_proxy(gremlin_url) as proxy:
        for _ in range(2):
            before = proxy.handshakes
            update(made.merge(LocalEngine()), Endpoint(proxy.url), "dev", made.dag)
    assert proxy.handshakes - before == 2  # and one of the check


def test_stages_that_write_share_connections(gremlin: GraphTraversalSource, gremlin_url: str) -> None:
    rows = LocalEngine().rows(pipeline().nodes.values())
    with neptune_proxy(gremlin_url) as proxy, reuse_connections():
        for _ in range(2 * REQUESTS_IN_FLIGHT):
            write("nodes", rows, Endpoint(proxy.url))
    assert proxy.handshakes == REQUESTS_IN_FLIGHT


def _load_concurrently(url: str, merges: list[Made]) -> None:
    def one(made: Made) -> None:
        merge = made.merge(LocalEngine(), ALL)
        update(merge, Endpoint(url), "dev", made.dag, allow_retire=True)

    with ThreadPoolExecutor(len(merges)) as loads:
        list(loads.map(one, merges))


def _all_of(url: str) -> Any:
    with connect(Endpoint(url)) as g:
        return whole(g)


@pytest.mark.parametrize("seed", drawing.share_of(range(4)))
def test_concurrent_loads_lose_nothing_and_the_next_ones_resolve_conflicts(
    conflicting_url: str, seed: int
) -> None:
    chance = random.Random(seed)
    earlier = [random_merge(chance, dag, 1) for dag in ("daily", "weekly")]
    # Two of one DAG, and one of another with shared datasets.
    merges = [random_merge(chance, dag, at) for dag, at in (("daily", 2), ("daily", 3), ("weekly", 3))]
    last = merges[1:]
    graphs = []
    for at_once in (True, False):
        with connect(Endpoint(conflicting_url)) as g:
            g.V().drop().to_list()
        for made in (*earlier, *earlier, *earlier):
            _load_concurrently(conflicting_url, [made])
        if at_once:
            _load_concurrently(conflicting_url, merges)
        else:
            for made in merges:
                _load_concurrently(conflicting_url, [made])
        # As they come the next days.
        for _ in range(3):
            for made in last:
                _load_concurrently(conflicting_url, [made])
        graphs.append(_all_of(conflicting_url))
    # A column that only the earlier version has may stay, as no job's edge at it is left to be retired. In
    # either order: an earlier version that is overtaken may not write it at all.
    may_stay = set(merges[0].nodes) - set(merges[1].nodes) - set(merges[2].nodes)
    assert graphs[0][0].keys() >= graphs[1][0].keys() - may_stay
    # So may its edge at a column that the other DAG has as well.
    edges_may_stay = set(merges[0].edges) - set(merges[1].edges)
    edges = {
        key
        for key, edge in graphs[1][1].items()
        if edge[2] not in may_stay and not (edge[1] == "has_column" and key in edges_may_stay)
    }
    assert graphs[0][1].keys() >= edges
    assert {key for key, edge in graphs[0][1].items() if edge[1] != "has_column"} <= graphs[1][1].keys()
    # Where both build a dataset they write each other's values again, which neither comparison misses.
    for made in last:
        merge = made.merge(LocalEngine(), ALL)
        found, in_full = (
            update(merge, Endpoint(conflicting_url), "dev", made.dag, dry_run=True, verify=verify)
            for verify in (False, True)
        )
        assert (found.changes, found.retirements) == (in_full.changes, in_full.retirements)

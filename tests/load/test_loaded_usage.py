"""Loads of usage: a merge that counted again, one of another DAG, and what stays without a count."""

from collections.abc import Callable

import pytest
from gremlin_python.process.graph_traversal import GraphTraversalSource

from lineage_merge.infra.engine.rows import Engine
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.server.update import update
from lineage_merge.model.elements import query_log_id
from tests.graph_reading import whole
from tests.load.engines import on_both_engines
from tests.made_merges import ALL, Made, dataset

pytestmark = pytest.mark.jvm

Load = Callable[[Made], None]
LOG = query_log_id("dev", "wh")


@pytest.fixture
def load(engine: Engine, gremlin_url: str, gremlin: GraphTraversalSource) -> Load:
    def loading(made: Made) -> None:
        update(made.merge(engine, ALL), Endpoint(gremlin_url), "dev", made.dag)

    return loading


def counted(dag: str, until: int, tables: dict[str, int], *readers: str, job: str = "j") -> Made:
    """Return a merge that counted reads of tables, the last one at `until`; its job writes `t`."""
    made = Made(dag).job("redshift", job, {"t": ["s"]}, at=until)
    for name, number in tables.items():
        usage = {"read_count": number, "last_read_at": until, "readers": list(readers)}
        made.node(name, "table", **usage).column(name, "c", **usage)
    values = {"name": "wh", "namespace": "wh", "observed_from": until - 7, "observed_until": until}
    made.nodes[LOG] = {
        "id": LOG,
        "label": "query_log",
        "environment": "dev",
        "dag_name": dag,
        **values,
    }
    return made


def usage(gremlin: GraphTraversalSource, name: str) -> tuple[int, int, list[str]]:
    values = whole(gremlin)[0][name][1]
    return values["read_count"][0], values["last_read_at"][0], sorted(values.get("readers", []))


@on_both_engines
def test_a_later_merge_replaces_counts_and_readers(load: Load, gremlin: GraphTraversalSource) -> None:
    load(counted("a", 100, {"s": 9, "t": 5}, "ana", "bob"))
    load(counted("a", 200, {"s": 2}, "eve"))
    assert usage(gremlin, dataset("s")) == usage(gremlin, f"{dataset('s')}|c") == (2, 200, ["eve"])
    # Not read in the time that was observed: the read before it remains known.
    assert usage(gremlin, dataset("t")) == (5, 100, ["ana", "bob"])
    log = whole(gremlin)[0][LOG][1]
    assert (log["observed_from"], log["observed_until"]) == ([193], [200])
    load(counted("a", 300, {"s": 2}))  # users are off now
    assert usage(gremlin, dataset("s")) == (2, 300, [])


@on_both_engines
def test_of_two_dags_that_read_one_log_the_last_merge_counts(
    load: Load, gremlin: GraphTraversalSource
) -> None:
    load(counted("a", 100, {"s": 9, "t": 9}, "ana"))
    load(counted("b", 200, {"s": 2, "t": 2}, "eve", job="other"))
    for name in ("s", "t"):  # that both build makes no difference
        assert usage(gremlin, dataset(name)) == (2, 200, ["eve"])
    load(counted("a", 150, {"s": 4}, "ana"))
    assert usage(gremlin, dataset("s")) == (4, 200, ["ana"])
    assert whole(gremlin)[0][LOG][1]["observed_until"] == [150]
    assert sorted(whole(gremlin)[0][LOG][1]["dag_name"]) == ["a", "b"]


@on_both_engines
def test_a_log_that_is_no_longer_read_is_retired(load: Load, gremlin: GraphTraversalSource) -> None:
    load(counted("a", 100, {"s": 9}))
    without = counted("a", 200, {"s": 9})
    del without.nodes[LOG]
    load(without)
    assert LOG not in whole(gremlin)[0]

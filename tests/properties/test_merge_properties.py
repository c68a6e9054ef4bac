"""The merge of whatever sources tell: order and repetition never count, ends are there, ids agree."""

import random
from collections.abc import Iterable
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.infra.engine.on_spark import SparkEngine
from lineage_merge.infra.engine.rows import Engine
from lineage_merge.merge import join
from lineage_merge.merge.dataset_resolver import DatasetResolver
from lineage_merge.merge.identity_rules import Rules
from lineage_merge.model.elements import Element
from lineage_merge.model.records import Record
from tests.properties.building import Rows, plain
from tests.properties.drawn import examples, scaled
from tests.properties.elements import elements, placed
from tests.properties.promises import broken

KNOWN = DatasetResolver("dev", Rules())


def merged(found: Iterable[Record], environment: str = "dev", dag_name: str = "daily") -> Rows:
    return joined(LocalEngine(), found, environment, dag_name)


def joined(engine: Engine, found: Iterable[Record], environment: str, dag_name: str) -> Rows:
    graph = join.merge(engine.rows(found, 4), environment, dag_name)
    return Rows(plain(graph.nodes.collect()), plain(graph.edges.collect()))


@examples(150)
@given(elements(), st.randoms(use_true_random=False))
def test_neither_order_nor_repetition_nor_parts_count(elements: list[Element], chance: random.Random) -> None:
    in_order = merged(KNOWN.records(elements))
    # As with workers: each has a part, repeats elements, and finishes in any order.
    parts: list[list[Element]] = [[], [], []]
    for each in (*elements, *elements):
        parts[chance.randrange(3)].append(each)
    mixed = list(chain.from_iterable(KNOWN.records(part) for part in parts))
    chance.shuffle(mixed)

    again = merged(mixed)

    assert again.nodes == in_order.nodes
    assert again.edges == in_order.edges


@examples(200)
@given(elements())
def test_every_end_is_there_and_every_vertex_is_something(elements: list[Element]) -> None:
    assert broken(merged(KNOWN.records(elements)), "dev", "daily") == []


@examples(100)
@given(elements())
def test_nothing_of_one_environment_or_dag_is_in_anothers_graph(elements: list[Element]) -> None:
    here = merged(KNOWN.records(elements))
    other = merged(DatasetResolver("dev2", Rules()).records(elements), "dev2", "daily")
    other_dag = merged(KNOWN.records(elements), "dev", "dail")

    assert not {*here.nodes} & {*other.nodes}
    assert not {*here.edges} & {*other.edges}
    assert not {*here.edges} & {*other_dag.edges}
    assert len(other.nodes) == len(here.nodes) == len(other_dag.nodes)


@pytest.mark.jvm
def test_spark_and_one_process_merge_alike(spark: SparkSession) -> None:
    drawn: list[list[Element]] = []

    @examples(150)
    @given(elements())
    def collect(elements: list[Element]) -> None:
        drawn.append(elements)

    collect()
    found = [
        row
        for number, elements in enumerate(drawn)
        for row in KNOWN.records(placed(each, f"q{number:04}q") for each in elements)
    ]
    by_spark = joined(SparkEngine(spark), found, "dev", "daily")
    here = merged(found)

    assert len(here.edges) > 2 * scaled(150)
    for one, other in ((by_spark.nodes, here.nodes), (by_spark.edges, here.edges)):
        different = [key for key in sorted({*one, *other}) if one.get(key) != other.get(key)]
        assert [(one.get(key), other.get(key)) for key in different[:5]] == []

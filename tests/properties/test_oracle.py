"""Many drawn pipelines in one build: the graph is the one that a slow oracle works out."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.infra.engine.on_spark import SparkEngine
from tests.properties import batch, oracle_collapse, oracle_graph
from tests.properties.batch import Pipelines, twin
from tests.properties.building import Built, Rows, build
from tests.properties.comparison import differences
from tests.properties.drawn import MORE, scaled
from tests.properties.pipeline import Pipeline
from tests.properties.promises import adrift, broken
from tests.properties.shrinking import smallest

COUNT = scaled(60)


@pytest.fixture(scope="module")
def pipelines() -> Pipelines:
    return batch.drawn(COUNT)


@pytest.fixture(scope="module")
def built(pipelines: Pipelines, tmp_path_factory: pytest.TempPathFactory) -> Built:
    return build(LocalEngine(), pipelines, tmp_path_factory.mktemp("pipelines"))


Look = Callable[[Built, str, Pipeline], list[str]]


def as_it_is(built: Built, prefix: str, pipeline: Pipeline) -> list[str]:
    """How the graph differs with all temporary datasets in it."""
    return differences(built.whole.of(prefix), oracle_graph.expected(pipeline, prefix), operations=True)


def folded(built: Built, prefix: str, pipeline: Pipeline) -> list[str]:
    """How the graph differs without them."""
    whole = oracle_graph.expected(pipeline, prefix)
    temporary = oracle_collapse.below_tmp(pipeline, prefix) | whole.run_local
    return differences(built.folded.of(prefix), oracle_collapse.folded(whole, temporary), operations=False)


@pytest.mark.parametrize("look", [as_it_is, folded], ids=["as_it_is", "folded"])
def test_the_graph_is_that_of_the_oracle(
    pipelines: Pipelines, built: Built, look: Look, tmp_path: Path
) -> None:
    wrong = {prefix for prefix, each in pipelines.items() if look(built, prefix, each)}
    if not wrong:
        return
    rounds = iter(range(1000))

    def fails(tried: Pipelines) -> set[str]:
        again = build(LocalEngine(), tried, tmp_path / str(next(rounds)))
        return {prefix for prefix, each in tried.items() if look(again, prefix, each)}

    first = smallest(min((pipelines[prefix] for prefix in wrong), key=lambda each: len(str(each))), fails)
    alone = batch.prefixed([first])
    prefix = next(iter(alone))
    differences = look(build(LocalEngine(), alone, tmp_path / "smallest"), prefix, first)
    pytest.fail(
        "\n".join([f"{len(wrong)} of {len(pipelines)} pipelines", *differences, str(first), f"(see {MORE})"])
    )


def test_scattered_and_doubled_documents_give_the_same_graph(pipelines: Pipelines, built: Built) -> None:
    for rows in (built.whole, built.folded):
        for prefix, pipeline in pipelines.items():
            in_order, scattered = rows.of(prefix).as_twin(), rows.of(twin(prefix)).by_text()
            assert scattered.nodes == in_order.nodes, pipeline
            assert scattered.edges == in_order.edges, pipeline


@pytest.mark.jvm
def test_spark_gives_the_graph_of_one_process(
    spark: SparkSession, pipelines: Pipelines, built: Built, tmp_path: Path
) -> None:
    distributed = build(SparkEngine(spark), pipelines, tmp_path)

    assert len(built.whole.edges) > 10 * len(pipelines)
    for rows, others in ((built.whole, distributed.whole), (built.folded, distributed.folded)):
        for one, other in ((rows.nodes, others.nodes), (rows.edges, others.edges)):
            different = [key for key in {*one, *other} if one.get(key) != other.get(key)]
            assert [(one.get(key), other.get(key)) for key in different[:5]] == []


@pytest.mark.parametrize("which", ["whole", "folded"])
def test_every_end_is_there_and_columns_flow_only_where_datasets_do(built: Built, which: str) -> None:
    rows: Rows = getattr(built, which)

    assert broken(rows, "dev", "daily") == []
    assert adrift(rows) == []

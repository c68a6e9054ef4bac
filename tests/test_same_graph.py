"""The same input gives the same graph: in any order, twice, or in parts."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gremlin_python.process.graph_traversal import GraphTraversalSource
from pyspark.sql import SparkSession

from lineage_merge.config import Config
from lineage_merge.load.result import LoadResult
from lineage_merge.orchestration import pipeline
from lineage_merge.orchestration.configuration import CONFIGURATION
from tests import expected
from tests.expected import WAREHOUSE
from tests.graph_reading import edges_of, whole

pytestmark = pytest.mark.jvm

Run = Callable[..., None]


@pytest.fixture
def settings(gremlin_url: str, data: Path) -> Callable[..., Config]:
    def made(export: Path, dag_name: str = "tickit_daily", *, dbt: bool = True, **changes: object) -> Config:
        manifest = {"manifest": str(data / "dbt/redshift_v12/manifest.json"), "namespace": WAREHOUSE}
        return CONFIGURATION.parse(
            {
                "dag_name": dag_name,
                "environment": "dev",
                "spline": {"export": str(export)},
                "dbt": [manifest] if dbt else [],
                "merge": {"default_schemas": {WAREHOUSE: "dev.public"}},
                "gremlin": {"endpoint": gremlin_url},
                **changes,
            }
        )

    return made


@pytest.fixture
def tickit(data: Path, tmp_path: Path) -> Path:
    """Both applications of the TICKIT pipeline, as two exported databases."""
    folder = tmp_path / "export"
    for application in ("tickit_sales_ingest", "tickit_sales_load"):
        shutil.copytree(data / "spline" / application, folder / application)
    return folder


@pytest.fixture(scope="module")
def built(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Config], str]:
    """The folder of a build with the merge settings of a configuration; each is built once."""
    folders: dict[str, str] = {}

    def folder_of(settings: Config) -> str:
        key = repr(settings.merge)
        if key not in folders:
            folder = str(tmp_path_factory.mktemp("built"))
            with pipeline.build(spark, settings) as made:
                pipeline.write_folder(made, folder)
            folders[key] = folder
        return folders[key]

    return folder_of


def test_the_same_merge_again_changes_nothing(
    spark: SparkSession, gremlin: GraphTraversalSource, settings: Callable[..., Config], tickit: Path
) -> None:
    pipeline.run(spark, settings(tickit))
    first = whole(gremlin)

    pipeline.run(spark, settings(tickit))

    assert whole(gremlin) == first
    truth = (
        expected.tickit_sales_ingest("tickit_daily")
        | expected.tickit_sales_load("tickit_daily")
        | expected.dbt("tickit_daily")
    )
    assert edges_of(gremlin) == expected.ids(truth, "dev")


def test_shuffled_and_doubled_documents_give_the_same_graph(
    spark: SparkSession, gremlin: GraphTraversalSource, settings: Callable[..., Config], tickit: Path
) -> None:
    pipeline.run(spark, settings(tickit))
    in_order = whole(gremlin)
    gremlin.V().drop().to_list()
    shuffle = random.Random(5)
    for file in tickit.rglob("*.jsonl"):
        lines = file.read_text().splitlines() * 2
        shuffle.shuffle(lines)
        file.write_text("\n".join(lines))

    pipeline.run(spark, settings(tickit))

    again = whole(gremlin)
    for before, after in zip(in_order, again, strict=True):
        assert {k: v for k, v in after.items() if before.get(k) != v} == {}
    assert again == in_order


def test_one_merge_a_source_gives_the_graph_of_one_merge_of_all(
    spark: SparkSession, gremlin: GraphTraversalSource, settings: Callable[..., Config], tickit: Path
) -> None:
    pipeline.run(spark, settings(tickit))
    together = whole(gremlin)
    gremlin.V().drop().to_list()

    pipeline.run(spark, settings(tickit / "tickit_sales_load"))
    pipeline.run(spark, settings(tickit / "tickit_sales_ingest", dbt=False))

    assert whole(gremlin) == together


def test_a_dataset_of_two_dags_carries_both_names(
    spark: SparkSession, gremlin: GraphTraversalSource, settings: Callable[..., Config], tickit: Path
) -> None:
    pipeline.run(spark, settings(tickit, "tickit_daily", dbt=False))
    pipeline.run(spark, settings(tickit, "tickit_backfill", dbt=False))

    names = set(gremlin.V("dev|s3://tickit-lake|sales_dl").values("dag_name").to_list())
    assert names == {"tickit_daily", "tickit_backfill"}
    both = expected.tickit_sales_ingest("tickit_daily") | expected.tickit_sales_load("tickit_daily")
    both |= expected.tickit_sales_ingest("tickit_backfill") | expected.tickit_sales_load("tickit_backfill")
    assert edges_of(gremlin) == expected.ids(both, "dev")
    of_one = gremlin.E().has("dag_name", "tickit_daily").count().next()
    assert of_one * 2 == gremlin.E().count().next(), "edges belong to one DAG"


def test_datasets_of_two_environments_never_meet(
    spark: SparkSession, gremlin: GraphTraversalSource, settings: Callable[..., Config], tickit: Path
) -> None:
    pipeline.run(spark, settings(tickit, dbt=False))
    pipeline.run(spark, settings(tickit, dbt=False, environment="prod"))

    ends = {(start.split("|")[0], end.split("|")[0]) for start, _, end in edges_of(gremlin)}
    assert ends == {("dev", "dev"), ("prod", "prod")}


RULE = {
    "name": "moved-by-hand",
    "match": "^s3a?://tickit-raw/sales(/|$)",
    "dataset": "s3://tickit-raw|sales_v2",
}
DEFAULTS = {"default_schemas": {WAREHOUSE: "dev.public"}}


def names_of(vertices: dict[str, Any]) -> dict[str, Any]:
    """Vertices without what describes them, such as a type: another source may know it too, so it stays."""
    names = ("name", "dag_name", "aliases", "resolved_names")
    return {key: (label, {name: held.get(name) for name in names}) for key, (label, held) in vertices.items()}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({}, DEFAULTS),
        (DEFAULTS, {}),
        (DEFAULTS, {**DEFAULTS, "rules": [RULE]}),
        ({**DEFAULTS, "rules": [RULE]}, DEFAULTS),
        (
            {**DEFAULTS, "rules": [RULE]},
            {**DEFAULTS, "rules": [{**RULE, "dataset": "s3://tickit-raw|sales_v3"}]},
        ),
    ],
    ids=["default added", "default removed", "rule added", "rule removed", "rule changed"],
)
def test_a_corrected_configuration_leaves_the_graph_of_a_first_load_with_it(
    spark: SparkSession,
    gremlin: GraphTraversalSource,
    settings: Callable[..., Config],
    tickit: Path,
    built: Callable[[Config], str],
    first: dict[str, object],
    second: dict[str, object],
) -> None:
    def load(merge: dict[str, object], *, dry_run: bool = False) -> LoadResult:
        configured = settings(tickit, merge=merge)
        return pipeline.load_folder(spark, configured, built(configured), dry_run=dry_run)

    load(second)
    corrected = whole(gremlin)
    gremlin.V().drop().to_list()
    load(first)
    wrong = whole(gremlin)
    assert wrong[0].keys() != corrected[0].keys()

    shown = load(second, dry_run=True)
    assert whole(gremlin) == wrong
    assert shown.refusal == ""
    assert (shown.moved, shown.retired_nodes) != (0, 0)
    done = load(second)
    after = whole(gremlin)
    assert after[1] == corrected[1]
    assert names_of(after[0]) == names_of(corrected[0])
    assert (done.moved, done.retired_nodes, done.retired_edges) == (
        shown.moved,
        shown.retired_nodes,
        shown.retired_edges,
    )
    again = load(second)
    assert (again.nodes, again.edges, again.moved, again.changes) == (0, 0, 0, ())
    assert whole(gremlin) == after

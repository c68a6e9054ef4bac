"""Merges through the bulk loader end in the same graph as merges over Gremlin."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from gremlin_python.process.graph_traversal import GraphTraversalSource
from gremlin_python.process.traversal import Cardinality
from gremlin_python.statics import long
from pyspark.sql import SparkSession

from lineage_merge.cli import sample
from lineage_merge.config import Bulk, Gremlin
from lineage_merge.infra.engine.rows import Engine
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.gremlin.signing import Iam
from lineage_merge.load.neptune_bulk.api import Api, Loader
from lineage_merge.load.neptune_bulk.bulk_load import BulkLoad, find_configured
from lineage_merge.load.result import LoadResult
from lineage_merge.load.server.update import update
from lineage_merge.model.errors import BulkLoadFailed, ConfigError, RetireRefused
from lineage_merge.orchestration import pipeline
from lineage_merge.orchestration.configuration import CONFIGURATION
from tests.graph_reading import whole
from tests.hostile_rows import rows
from tests.load.engines import on_both_engines
from tests.made_merges import ALL, Made, dataset
from tests.neptune_standin import REGION, ROLE, Standin
from tests.s3_fixtures import S3

Load = Callable[..., LoadResult]

PLACE = "s3://lineage/bulk"


@pytest.fixture
def in_bulk(neptune_loader: Standin, s3: S3) -> BulkLoad:
    s3.client.create_bucket(Bucket="lineage")
    return BulkLoad(PLACE, Loader(neptune_loader.url, REGION, ROLE, timeout_seconds=60))


@pytest.fixture
def load(engine: Engine, gremlin_url: str, gremlin: GraphTraversalSource) -> Load:
    def loading(made: Made, **options: Any) -> LoadResult:
        return update(made.merge(engine, ALL), Endpoint(gremlin_url), "dev", made.dag, **options)

    return loading


def files(s3: S3) -> set[str]:
    return {each["Key"] for each in s3.client.list_objects_v2(Bucket="lineage").get("Contents", [])}


def before() -> Made:
    """Return the merge of a DAG before changes."""
    made = Made("d").job("dbt", "model.p.old", {"old": ["a"]}, 1, "p").column("old", "c")
    made.node("view_or_table", "view", tags=["x", "y; z"])
    made.job("dbt", "model.p.v", {"view_or_table": ["a"]}, 1, "p")
    made.job("dbt", "model.p.m", {"m": ["hive|t", "view_or_table", "a"]}, 1, "p", operations="Project")
    made.node("hive|t", description="as dbt reads it", tags=["t"])
    return made.feeds_column(("dbt", "model.p.m"), ("hive|t", "c"), ("m", "c"), expression="sum(c)")


def after() -> Made:
    """Return its merge after: a dropped model, a view that is a table, a table that is a path, sources."""
    made = Made("d").node("view_or_table", "table", tags=["x", "new"], description="")
    made.job("dbt", "model.p.v", {"view_or_table": ["a"]}, 2, "p")
    made.job("dbt", "model.p.m", {"m": ["s3://l|t", "view_or_table"]}, 2, "p", operations="Filter")
    made.node("s3://l|t", location="s3://l/t").alias("hive|t", "s3://l|t")
    made.feeds_column(("dbt", "model.p.m"), ("s3://l|t", "c"), ("m", "c"), transformation="IDENTITY")
    made.node("m", description='of "all", each', tags=["a;b", "c\\"])
    return made.job("dbt", "model.p.new", {"new1": ["a", "m"], "new2": ["m"]}, 2, "p", via="")


def reader(dag: str = "other") -> Made:
    """Return another DAG, which knows the view as a table and reads the moved dataset."""
    return Made(dag).node("view_or_table", "table").job("spark", "j", {"x": ["hive|t", "view_or_table"]})


@pytest.mark.jvm
@on_both_engines
def test_first_and_second_merges_end_in_the_graph_of_gremlin(
    load: Load, in_bulk: BulkLoad, neptune_loader: Standin, gremlin: GraphTraversalSource, s3: S3
) -> None:
    sequence = (before(), reader(), after())
    over_gremlin = []
    counts = []
    for made in sequence:
        counts.append(load(made))
        over_gremlin.append(whole(gremlin))
    gremlin.V().drop().to_list()
    for made, count, expected in zip(sequence, counts, over_gremlin, strict=True):
        loaded = load(made, in_bulk=in_bulk)
        vertices, edges = whole(gremlin)
        assert vertices == expected[0]
        assert edges == expected[1]
        cost = {
            name: getattr(loaded, name) for name in ("requests", "seconds", "all_requests", "elements_read")
        }
        assert loaded == replace(count, mode="bulk", mode_reason="gremlin.mode", **cost)
    assert (counts[-1].relabelled, counts[-1].moved) == (1, 1)
    assert counts[-1].retired_edges > 0
    assert len(neptune_loader.jobs) == 6
    assert files(s3) == set()
    again = load(after(), in_bulk=in_bulk)
    assert (again.nodes, again.edges, again.mode, len(neptune_loader.jobs)) == (0, 0, "gremlin", 6)


@pytest.mark.jvm
def test_the_sample_pipeline_gives_the_same_graph_in_both_modes(
    spark: SparkSession,
    gremlin: GraphTraversalSource,
    gremlin_url: str,
    tickit_folder: Path,
    in_bulk: BulkLoad,
    neptune_loader: Standin,
) -> None:
    settings = CONFIGURATION.load(sample.config_file(), environ={})
    bulk = Bulk(PLACE, ROLE, endpoint=neptune_loader.url)
    graphs = []
    for mode in ("gremlin", "bulk"):
        gremlin.V().drop().to_list()
        graph = replace(settings.gremlin, endpoint=gremlin_url, mode=mode, bulk=bulk, region=REGION)
        said: list[str] = []
        chosen = replace(settings, gremlin=graph)
        loaded = pipeline.load_folder(spark, chosen, str(tickit_folder), said.append)
        assert loaded.mode == mode
        assert any("bulk load of vertices" in line for line in said) is (mode == "bulk")
        graphs.append(whole(gremlin))
    assert graphs[0] == graphs[1]


@pytest.mark.jvm
@on_both_engines
def test_hostile_names_give_the_same_graph_in_both_modes(
    load: Load, in_bulk: BulkLoad, gremlin: GraphTraversalSource
) -> None:
    made = Made()
    nodes, edges = rows()
    nodes.append({**nodes[0], "id": "dev|wh|empty", "description": "", "tags": [""]})
    edges.append({**edges[0], "id": "empty", "expression": ""})
    made.nodes = {row["id"]: row for row in nodes}
    made.edges = {row["id"]: row for row in edges}
    load(made)
    over_gremlin = whole(gremlin)
    gremlin.V().drop().to_list()
    load(made, in_bulk=in_bulk)
    assert whole(gremlin) == over_gremlin
    assert load(made, in_bulk=in_bulk).unchanged == len(nodes) + len(edges)


@pytest.mark.jvm
def test_undeclared_properties_stay(load: Load, in_bulk: BulkLoad, gremlin: GraphTraversalSource) -> None:
    load(before(), in_bulk=in_bulk)
    gremlin.V(dataset("m")).property(Cardinality.single, "owner", "ann").to_list()
    gremlin.V(dataset("m")).both_e().property("checked", "yes").to_list()
    changed = before()
    changed.node("m", description="new")
    for edge in changed.edges.values():
        edge["operations"] = "Other"
    loaded = load(changed, in_bulk=in_bulk)
    assert (loaded.nodes, loaded.edges) == (1, len(changed.edges))
    assert (
        whole(gremlin)[0][dataset("m")][1] | {"owner": ["ann"], "description": ["new"]}
        == (whole(gremlin)[0][dataset("m")][1])
    )
    assert set(gremlin.V(dataset("m")).both_e().values("checked").to_list()) == {"yes"}


@pytest.mark.jvm
def test_a_merge_that_would_retire_too_much_loads_nothing(
    load: Load, in_bulk: BulkLoad, neptune_loader: Standin, gremlin: GraphTraversalSource, s3: S3
) -> None:
    load(Made().job("dbt", "model.p.m", {f"m{n}": ["a"] for n in range(20)}, 1, "p"))
    held = whole(gremlin)
    smaller = Made().job("dbt", "model.p.m", {"m0": ["a"], "new": ["a"]}, 2, "p")
    with pytest.raises(RetireRefused):
        load(smaller, in_bulk=in_bulk)
    assert whole(gremlin) == held
    assert (neptune_loader.calls, files(s3)) == ([], set())


@pytest.mark.jvm
def test_a_failed_load_deletes_nothing_and_leaves_its_files(
    load: Load, in_bulk: BulkLoad, neptune_loader: Standin, gremlin: GraphTraversalSource, s3: S3
) -> None:
    load(before())
    held = whole(gremlin)[1]
    neptune_loader.role_may_read = False
    with pytest.raises(BulkLoadFailed) as raised:
        load(after(), in_bulk=in_bulk)
    folder = raised.value.message.rpartition("The files are in ")[2]
    assert {f"s3://lineage/{key}" for key in files(s3)} == {
        f"{folder}{kind}/part-{part}" for kind, part in parts_of(files(s3))
    }
    assert dataset("old") in whole(gremlin)[0]
    moved = "dev|hive|t"
    assert {
        key for key, edge in held.items() if moved not in (edge[0], edge[2]) and "|c" not in edge[0]
    } <= set(whole(gremlin)[1])
    neptune_loader.role_may_read = True
    load(after(), in_bulk=in_bulk)
    assert set(whole(gremlin)[1]) == set(after().edges)


def parts_of(keys: set[str]) -> Iterator[tuple[str, str]]:
    for key in keys:
        *_, kind, name = key.split("/")
        yield kind, name.removeprefix("part-")


@pytest.mark.jvm
def test_files_are_retained_if_configured(load: Load, in_bulk: BulkLoad, s3: S3) -> None:
    load(before(), in_bulk=replace(in_bulk, keep_files=True))
    kinds = [kind for kind, _ in parts_of(files(s3))]
    assert set(kinds) == {"vertices", "edges"}
    assert all(key.startswith("bulk/dev/d/") for key in files(s3))


@pytest.mark.jvm
def test_a_load_with_a_concurrent_writer_is_repeated(
    load: Load, in_bulk: BulkLoad, neptune_loader: Standin, gremlin: GraphTraversalSource
) -> None:
    neptune_loader.failing["edges/"] = ("LOAD_COMMITTED_W_WRITE_CONFLICTS", [])
    load(before(), in_bulk=in_bulk)
    assert set(whole(gremlin)[1]) == set(before().edges)
    # Of the vertices nothing was left to load.
    kinds = [each["source"].rsplit("/", 2)[1] for each in neptune_loader.asked("StartLoaderJob")]
    assert kinds == ["vertices", "edges", "edges"]


class Killed(BaseException):
    """The process ends without cancelling the load, as after a SIGKILL."""


@pytest.mark.jvm
def test_a_killed_and_repeated_merge_waits_for_its_load_and_ends_as_if_run_once(
    load: Load,
    in_bulk: BulkLoad,
    neptune_loader: Standin,
    gremlin: GraphTraversalSource,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    load(before())
    load(after())
    right = whole(gremlin)
    for line, held in (
        ("writing files for the bulk loader", ""),
        ("bulk load of edges: queued", "edges/"),
    ):
        gremlin.V().drop().to_list()
        load(before())
        neptune_loader.held = held
        neptune_loader.going.clear()

        def kill(said: str, line: str = line) -> None:
            if said == line:
                raise Killed

        with monkeypatch.context() as patch:
            patch.setattr(Api, "cancel", lambda *_: None)
            with pytest.raises(Killed):
                load(after(), in_bulk=in_bulk, on_progress=kill)
        started = len(neptune_loader.jobs)
        said: list[str] = []

        def going(each: str, said: list[str] = said) -> None:
            said.append(each)
            neptune_loader.going.set()

        load(after(), in_bulk=in_bulk, on_progress=going)
        assert whole(gremlin) == right
        assert (said[0] == "waiting for an earlier bulk load of this DAG") is (started > 0)


@pytest.mark.jvm
@on_both_engines
def test_a_later_run_written_by_another_merge_stays(
    load: Load,
    in_bulk: BulkLoad,
    neptune_loader: Standin,
    gremlin: GraphTraversalSource,
) -> None:
    load(Made().job("spark", "j", {"a": ["x"]}, 1, operations="One"))
    job = "dev|daily|spark|j"
    lines: list[str] = []

    def start_other_load(said: str) -> None:
        lines.append(said)
        if said == "writing files for the bulk loader" and lines.count(said) == 1:
            gremlin.V(job).property(Cardinality.single, "last_run_at", long(5)).to_list()
            gremlin.E().has_label("feeds").property("operations", "Five").to_list()

    older = Made().job("spark", "j", {"a": ["x"]}, 4, operations="Four").node("new")
    load(older, in_bulk=in_bulk, on_progress=start_other_load)
    assert gremlin.V(job).values("last_run_at").next() == 5
    assert gremlin.E().has_label("feeds").values("operations").to_list() == ["Five"]
    assert dataset("new") in whole(gremlin)[0]


@pytest.mark.jvm
@pytest.mark.parametrize(
    ("min_changes", "mode", "reason"),
    [(12, "gremlin", "at most 12 changes"), (11, "bulk", "more than 11 changes")],
)
def test_auto_mode_uses_bulk_above_min_changes(
    load: Load, in_bulk: BulkLoad, neptune_loader: Standin, min_changes: int, mode: str, reason: str
) -> None:
    made = Made().job("spark", "j", {f"t{n}": [] for n in range(5)})
    assert len(made.nodes) + len(made.edges) == 11
    made.node("one more")
    result = load(made, in_bulk=replace(in_bulk, min_changes=min_changes), dry_run=True)
    assert (result.mode, result.mode_reason, neptune_loader.calls) == (mode, reason, [])
    assert load(made, in_bulk=replace(in_bulk, min_changes=min_changes)).mode == mode
    assert bool(neptune_loader.jobs) is (mode == "bulk")


NEPTUNE = "wss://db.cluster-abc.eu-west-1.neptune.amazonaws.com:8182/gremlin"
SETTINGS = Bulk("s3://bucket/p", ROLE)


@pytest.mark.parametrize(
    ("gremlin_settings", "iam", "url", "region", "min_changes"),
    [
        (Gremlin(NEPTUNE, mode="auto", bulk=SETTINGS), None, NEPTUNE[6:-8], "eu-west-1", 50_000),
        (Gremlin(NEPTUNE, mode="bulk", bulk=SETTINGS), Iam("eu-west-1"), NEPTUNE[6:-8], "eu-west-1", 0),
        (
            Gremlin("wss://u:p@h/gremlin", mode="bulk", bulk=SETTINGS, region="eu-north-1"),
            None,
            "h:443",
            "eu-north-1",
            0,
        ),
    ],
)
def test_the_loader_uses_the_host_and_signature_of_gremlin(
    gremlin_settings: Gremlin, iam: Iam | None, url: str, region: str, min_changes: int
) -> None:
    found = find_configured(gremlin_settings, Endpoint(gremlin_settings.endpoint, iam=iam))
    assert found == BulkLoad("s3://bucket/p", Loader(f"https://{url}", region, ROLE, iam), min_changes)


def test_an_impossible_mode_is_reported() -> None:
    graph = {"endpoint": "embedded", "mode": "bulk"}
    settings = {"dag_name": "d", "environment": "dev", "spline": {"export": "x"}}
    with pytest.raises(ConfigError, match=r"gremlin.mode: bulk needs gremlin.bulk.s3"):
        CONFIGURATION.parse(settings | {"gremlin": graph})
    bulk_settings = {"s3": "s3://bucket/p", "role_arn": ROLE}
    with pytest.raises(ConfigError, match="the embedded graph has no bulk loader"):
        CONFIGURATION.parse(settings | {"gremlin": graph | {"bulk": bulk_settings}})
    found = CONFIGURATION.parse(
        settings | {"gremlin": {"endpoint": "wss://h:1/g", "bulk": bulk_settings}}
    ).gremlin
    assert (found.mode, found.bulk) == ("auto", Bulk("s3://bucket/p", ROLE))

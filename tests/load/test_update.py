"""The complete graph after a merge: elements written, unchanged and deleted."""

from collections.abc import Callable
from typing import Any

import pytest
from gremlin_python.process.graph_traversal import GraphTraversalSource

from lineage_merge.infra.engine.rows import Engine
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.result import LoadResult
from lineage_merge.load.server.update import update
from lineage_merge.merge.alias_resolution import OWN
from lineage_merge.merge.source_completeness import NOTHING, SourceCompleteness
from lineage_merge.model.elements import JobKey, assertion_id, column_id, field_path
from lineage_merge.model.errors import RetireRefused
from tests.graph_reading import edges_of, whole
from tests.load.engines import on_both_engines
from tests.made_merges import ALL, Made, dataset

pytestmark = pytest.mark.jvm

RUN = "dev|daily|merge_run"

Load = Callable[..., LoadResult]


@pytest.fixture
def load(engine: Engine, gremlin_url: str, gremlin: GraphTraversalSource) -> Load:
    def loading(made: Made, coverage: SourceCompleteness = ALL, **options: Any) -> LoadResult:
        return update(made.merge(engine, coverage), Endpoint(gremlin_url), "dev", made.dag, **options)

    return loading


def pipeline(dag: str = "daily", at: int = 1, models: int = 2) -> Made:
    """Return raw -> sales -> the table of each model, with columns."""
    made = Made(dag).node("s3|raw", "file").job("spark", "ingest", {"sales": ["s3|raw"]}, at, sequence=1)
    made.node("sales", "table", description="all sales", tags=["core"])
    made.feeds_column(("spark", "ingest"), ("s3|raw", "price"), ("sales", "price"), transformation="IDENTITY")
    for number in range(models):
        job = f"model.shop.m{number}"
        made.job("dbt", job, {f"m{number}": ["sales"]}, at, "shop", operations="Project")
        made.feeds_column(("dbt", job), ("sales", "price"), (f"m{number}", "total"), expression="sum(price)")
    return made


def ends(*edges: tuple[str, str, str]) -> set[tuple[str, str, str]]:
    return {(dataset(start), label, dataset(end)) for start, label, end in edges}


@pytest.mark.parametrize("engine", ["local", "spark"], indirect=True)
def test_an_unchanged_merge_writes_nothing_but_its_merge_run(
    load: Load, gremlin: GraphTraversalSource
) -> None:
    first = load(pipeline())
    before = whole(gremlin)
    again = load(pipeline())
    assert (first.nodes, first.edges) == (len(pipeline().nodes), len(pipeline().edges))
    assert (again.nodes, again.edges, again.requests) == (0, 0, 0)
    assert (again.retired_nodes, again.retired_edges) == (0, 0)
    assert again.unchanged == first.nodes + first.edges
    assert whole(gremlin) == before
    assert whole(gremlin, merge_runs=True)[0][RUN][1]["elements_written"] == [0]


def test_a_merge_of_later_runs_writes_only_their_jobs(load: Load, gremlin: GraphTraversalSource) -> None:
    load(pipeline(at=1))
    again = load(pipeline(at=2))
    assert (again.nodes, again.edges) == (3, 0)
    runs = gremlin.V().has_label("job").values("last_run_at").to_list()
    assert runs == [2, 2, 2]


def test_undeclared_properties_stay(load: Load, gremlin: GraphTraversalSource) -> None:
    load(pipeline())
    gremlin.V(dataset("sales")).property("owner", "ann").to_list()
    gremlin.V(dataset("sales")).both_e().property("checked", "yes").to_list()
    changed = pipeline()
    changed.nodes[dataset("sales")] |= {"description": "sales of all shops", "tags": ["core", "gold"]}
    loaded = load(changed)
    assert (loaded.nodes, loaded.edges) == (1, 0)
    found = whole(gremlin)[0][dataset("sales")][1]
    assert found["description"] == ["sales of all shops"]
    assert (found["owner"], found["tags"]) == (["ann"], ["core", "gold"])
    assert set(gremlin.V(dataset("sales")).both_e().values("checked").to_list()) == {"yes"}


def test_a_different_sequence_alone_does_not_write_an_edge(load: Load, gremlin: GraphTraversalSource) -> None:
    load(pipeline())
    changed = pipeline()
    for edge in changed.edges.values():
        edge["sequence"] = 7
    assert load(changed).edges == 0
    for edge in changed.edges.values():
        if edge["label"] == "feeds":
            edge["operations"] = "Filter"
    assert load(changed).edges == 3
    assert set(gremlin.E().has_label("feeds").values("sequence").to_list()) == {7}


@on_both_engines
def test_properties_that_a_merge_no_longer_has_are_removed_from_its_edges_and_jobs(
    load: Load, gremlin: GraphTraversalSource
) -> None:
    earlier = pipeline()
    for edge in earlier.edges.values():
        if edge["label"] == "feeds":
            edge["column_lineage"] = "unavailable"
    for node in earlier.nodes.values():
        if node["label"] == "job":
            node["rows_written"] = 7
    load(earlier)
    gremlin.E().property("checked", "yes").to_list()
    changed = pipeline(at=2)
    for edge in changed.edges.values():
        edge.pop("expression", None)
        edge.pop("operations", None)
    # Three edges between datasets, and two columns' expressions.
    assert load(changed).edges == 5
    values = whole(gremlin)
    assert not [
        each for each in values[1].values() if {"expression", "operations", "column_lineage"} & each[3].keys()
    ]
    assert {each[3]["checked"] for each in values[1].values()} == {"yes"}
    assert not [each for each in values[0].values() if "rows_written" in each[1]]


@on_both_engines
def test_a_dropped_model_is_deleted_at_once_with_its_job_and_columns(
    load: Load, gremlin: GraphTraversalSource
) -> None:
    load(pipeline(models=3))
    loaded = load(pipeline(models=2))
    only = pipeline(models=2)
    assert set(whole(gremlin)[0]) == set(only.nodes)
    assert set(whole(gremlin)[1]) == set(only.edges)
    # Its edges: feeds, writes, feeds_column, has_column; its vertices: table, column, job.
    assert (loaded.retired_edges, loaded.retired_nodes) == (4, 3)


def test_a_model_dropped_by_a_newer_manifest_is_deleted_with_or_without_runs(
    load: Load, gremlin: GraphTraversalSource
) -> None:
    both = Made().job("dbt", "model.p.a", {"a": ["x"]}, 1, "p").job("dbt", "model.p.b", {"b": ["x"]}, 1, "p")
    for job in (node for node in both.nodes.values() if node["label"] == "job"):
        job |= {"described_at": 10, "last_run_at": 15}
    load(both)
    only = Made().job("dbt", "model.p.a", {"a": ["x"]}, 1, "p")
    (job,) = (node for node in only.nodes.values() if node["label"] == "job")
    job |= {"described_at": 12, "last_run_at": None}
    load(only)
    assert set(whole(gremlin)[0]) == set(only.nodes)
    assert gremlin.V(job["id"]).values("last_run_at", "described_at").to_set() == {15, 12}

    load(both)  # older
    assert gremlin.V(job["id"]).values("last_run_at", "described_at").to_set() == {15, 12}


def test_renamed_jobs_keep_their_edges_and_their_old_vertices_are_deleted(
    load: Load, gremlin: GraphTraversalSource
) -> None:
    def made(prefix: str, at: int) -> Made:
        found = Made()
        for each in range(12):
            name = f"{prefix}model.pkg.m{each}"
            found.job("dbt", name, {f"m{each}": ["x"]}, at, "p")
            found.feeds_column(("dbt", name), ("x", "c"), (f"m{each}", "c"))
        return found

    load(made("", 1))
    loaded = load(made("p/", 2))
    assert set(whole(gremlin)[0]) == set(made("p/", 2).nodes)
    assert set(whole(gremlin)[1]) == set(made("p/", 2).edges)
    assert (loaded.retired_edges, loaded.retired_nodes) == (36, 12)


@on_both_engines
def test_elements_of_another_dag_only_lose_the_tag(load: Load, gremlin: GraphTraversalSource) -> None:
    load(pipeline("weekly", models=3))
    load(pipeline("daily", models=3))
    load(pipeline("daily", models=2))
    vertices, edges = whole(gremlin)
    assert vertices[dataset("m2")][1]["dag_name"] == ["weekly"]
    assert vertices[dataset("m2") + "|total"][1]["dag_name"] == ["weekly"]
    assert vertices[dataset("m1")][1]["dag_name"] == ["daily", "weekly"]
    assert set(edges) == set(pipeline("weekly", models=3).edges) | set(pipeline("daily", models=2).edges)


def test_a_model_with_another_source_loses_the_old_edge_at_once(
    load: Load, gremlin: GraphTraversalSource
) -> None:
    load(Made().job("dbt", "model.p.a", {"a": ["x", "y"]}, 1, "p"))
    load(Made().job("dbt", "model.p.a", {"a": ["x", "z"]}, 2, "p"))
    feeds = {edge for edge in edges_of(gremlin) if edge[1] == "feeds"}
    assert feeds == ends(("x", "feeds", "a"), ("z", "feeds", "a"))
    assert dataset("y") not in whole(gremlin)[0]


def test_lineage_of_sources_that_the_merge_did_not_read_stays(
    load: Load, gremlin: GraphTraversalSource
) -> None:
    load(pipeline().job("dbt", "model.other.o", {"o": ["sales"]}, 1, "other").node("unused source"))
    before = whole(gremlin)
    alone = Made().job("dbt", "model.other.o", {"o": ["sales"]}, 1, "other").node("sales", tags=["core"])
    loaded = load(alone, SourceCompleteness(runs=False, projects={"dbt": True}))
    assert (loaded.retired_nodes, loaded.retired_edges) == (0, 0)
    assert whole(gremlin) == before


def test_files_without_coverage_retire_nothing(load: Load, gremlin: GraphTraversalSource) -> None:
    load(pipeline(models=3))
    before = whole(gremlin)
    load(pipeline(models=1), NOTHING)
    assert whole(gremlin) == before


@pytest.mark.parametrize(("runs", "stays"), [(2, True), (3, False)])
def test_a_spark_target_is_deleted_after_enough_runs_without_a_write(
    load: Load, gremlin: GraphTraversalSource, runs: int, stays: bool
) -> None:
    load(Made().job("spark", "j", {"a": ["x"], "b": ["y"]}))
    load(Made().job("spark", "j", {"a": ["x"]}, 2).ran("j", runs))
    expected = {("x", "feeds", "a")} | ({("y", "feeds", "b")} if stays else set())
    assert {edge for edge in edges_of(gremlin) if edge[1] == "feeds"} == ends(*expected)
    assert (dataset("b") in whole(gremlin)[0]) is stays


def test_a_target_that_is_never_retired_stays(load: Load, gremlin: GraphTraversalSource) -> None:
    load(Made().job("spark", "j", {"a": ["x"], "b": ["y"]}))
    newer = Made().job("spark", "j", {"a": ["x"]}, 2).ran("j", 99)
    load(newer, SourceCompleteness(runs=True, projects={"dbt": True}, retire_after=0))
    assert dataset("b") in whole(gremlin)[0]


def test_an_edge_from_a_source_that_the_newest_write_does_not_read_is_deleted_at_once(
    load: Load, gremlin: GraphTraversalSource
) -> None:
    load(Made().job("spark", "j", {"a": ["x", "y"]}))
    load(Made().job("spark", "j", {"a": ["x"]}, 2).ran("j", 1))
    assert {edge for edge in edges_of(gremlin) if edge[1] == "feeds"} == ends(("x", "feeds", "a"))


def test_a_spark_job_that_did_not_run_keeps_its_lineage(load: Load, gremlin: GraphTraversalSource) -> None:
    both = Made().job("spark", "j", {"a": ["x"]}).job("spark", "k", {"b": ["a"]})
    both.feeds_column(("spark", "k"), ("a", "c"), ("b", "c"))
    load(both)
    before = whole(gremlin)
    load(Made().job("spark", "j", {"a": ["x"]}).column("a", "d").ran("j", 99))
    vertices, edges = whole(gremlin)
    assert before[0].items() <= vertices.items()
    assert set(edges) - set(before[1]) == set(Made().column("a", "d").edges)


@on_both_engines
def test_a_merge_that_would_retire_too_much_writes_nothing(load: Load, gremlin: GraphTraversalSource) -> None:
    load(pipeline(models=8))
    before = whole(gremlin, merge_runs=True)
    smaller = pipeline(models=2).node("new")
    with pytest.raises(RetireRefused) as raised:
        load(smaller)
    total = len(pipeline(models=8).edges)
    dropped = total - len(pipeline(models=2).edges)
    assert f"would retire {dropped} of the DAG's {total} edges" in raised.value.message
    assert "-feeds-> dev|wh|m2" in raised.value.message
    assert raised.value.exit_code == 8
    assert whole(gremlin, merge_runs=True) == before
    load(smaller, allow_retire=True)
    assert set(whole(gremlin)[0]) == set(smaller.nodes)


def test_a_refused_first_merge_leaves_no_merge_run(load: Load, gremlin: GraphTraversalSource) -> None:
    load(Made().job("spark", "j", {"a": ["x"]}))
    gremlin.V(RUN).drop().to_list()
    with pytest.raises(RetireRefused, match="every edge of spark j"):
        load(Made().job("spark", "j", {"b": ["x"]}, 2).ran("j", 3))
    assert gremlin.V(RUN).count().next() == 0


@on_both_engines
def test_a_dry_run_reports_the_changes_and_writes_nothing(load: Load, gremlin: GraphTraversalSource) -> None:
    load(pipeline(models=3))
    before = whole(gremlin, merge_runs=True)
    shown = load(pipeline(models=2).node("new"), dry_run=True)
    assert whole(gremlin, merge_runs=True) == before
    assert (shown.dry_run, shown.nodes, shown.edges, shown.retired_nodes, shown.retired_edges) == (
        True,
        1,
        0,
        3,
        4,
    )
    assert shown.changes == ("new table dev|wh|new",)
    assert "dev|wh|sales -feeds-> dev|wh|m2" in shown.retirements


@on_both_engines
def test_a_job_with_a_newer_stored_run_stays_unchanged(load: Load, gremlin: GraphTraversalSource) -> None:
    load(Made().job("spark", "j", {"a": ["x"]}, 5))
    before = whole(gremlin)
    stale = Made().job("spark", "j", {"a": ["old"]}, 4).column("old", "c").ran("j", 1)
    loaded = load(stale)
    assert whole(gremlin) == before
    assert (loaded.nodes, loaded.edges) == (0, 0)


@on_both_engines
@pytest.mark.parametrize("dry_run", [True, False])
def test_an_older_merge_does_not_count_elements_of_newer_jobs_as_retired(
    load: Load, gremlin: GraphTraversalSource, dry_run: bool
) -> None:
    newer = Made().job("spark", "j", {"a": ["x"]}, 5).feeds_column(("spark", "j"), ("x", "c"), ("a", "c"))
    load(newer.job("spark", "k", {"b": ["a"]}, 5))
    before = whole(gremlin)
    stale = Made().job("spark", "j", {"a": ["x"]}, 4).feeds_column(("spark", "j"), ("x", "c"), ("a", "c"))
    looked_at_all = SourceCompleteness(runs=True, projects={"dbt": True}, job_types=("spark",))
    loaded = load(stale.job("spark", "k", {"b": ["a"]}, 4), looked_at_all, dry_run=dry_run)
    assert whole(gremlin) == before
    assert (loaded.retired_nodes, loaded.retired_edges, loaded.retirements) == (0, 0, ())


def test_an_older_manifest_neither_retires_nor_changes_a_newer_one(
    load: Load, gremlin: GraphTraversalSource
) -> None:
    load(pipeline(at=5, models=3))
    before = whole(gremlin)
    load(pipeline(at=4, models=2))
    assert whole(gremlin) == before


@on_both_engines
def test_a_changed_label_keeps_tags_properties_and_edges_of_every_dag(
    load: Load, gremlin: GraphTraversalSource
) -> None:
    load(pipeline("weekly").node("m0", "view", description="d", tags=["a", "b"]))
    load(pipeline("daily").node("m0", "view"))
    before = whole(gremlin)
    loaded = load(pipeline("daily").node("m0", "table"))
    after = whole(gremlin)
    assert loaded.relabelled == 1
    assert after[0].pop(dataset("m0")) == ("table", before[0].pop(dataset("m0"))[1])
    assert after == before


def test_a_reader_does_not_change_the_values_of_a_builder(load: Load, gremlin: GraphTraversalSource) -> None:
    builder = Made("a").job("dbt", "model.p.t", {"t": ["x"]}, 1, "p").column("t", "c", data_type="integer")
    builder.node("t", "view", description="built")
    reader = Made("b").job("spark", "j", {"y": ["t"]}).column("t", "c", data_type="int")
    reader.node("t", "table", description="a view, read", format="jdbc")
    for order in ((builder, reader), (reader, builder)):
        gremlin.V().drop().to_list()
        for made in order:
            load(made)
        for made in order:
            again = load(made)
            assert (again.nodes, again.edges) == (0, 0)
        label, values = whole(gremlin)[0][dataset("t")]
        assert (label, values["description"], values["format"]) == ("view", ["built"], ["jdbc"])
        assert whole(gremlin)[0][dataset("t") + "|c"][1]["data_type"] == ["integer"]


def test_two_readers_do_not_rewrite_each_other(load: Load, gremlin: GraphTraversalSource) -> None:
    def reader(dag: str, data_type: str) -> Made:
        return Made(dag).job("spark", "j", {dag: ["t"]}).column("t", "c", data_type=data_type)

    found = []
    for order in (("int", "integer"), ("integer", "int")):
        gremlin.V().drop().to_list()
        load(reader("a", order[0]))
        load(reader("b", order[1]))
        assert load(reader("a", order[0])).nodes == 0
        found.append(whole(gremlin)[0][dataset("t") + "|c"][1]["data_type"])
    assert found[0] == found[1]


def table_only(dag: str = "t") -> Made:
    """Return a DAG that knows a table by its name in the catalog."""
    made = Made(dag).job("dbt", "model.p.m", {"m": ["hive|db.sales"]}, 1, "p")
    made.node("hive|db.sales", "table", description="sales, as dbt reads them", qualified_name="db.sales")
    return made.feeds_column(("dbt", "model.p.m"), ("hive|db.sales", "c"), ("m", "c"))


def path_and_alias(dag: str = "p") -> Made:
    """Return a DAG that knows the path, and the table stored there."""
    made = Made(dag).job("spark", "j", {"s3://lake|sales": ["s3://raw|sales"]})
    made.node(
        "s3://lake|sales", "table", location="s3://lake/sales", qualified_name="db.sales", format="parquet"
    )
    made.column("s3://lake|sales", "c", data_type="int")
    return made.alias("hive|db.sales", "s3://lake|sales")


@pytest.mark.parametrize("table_first", [True, False])
def test_dags_that_know_a_table_and_its_path_are_joined_at_the_path(
    load: Load, gremlin: GraphTraversalSource, table_first: bool
) -> None:
    both = (table_only(), path_and_alias()) if table_first else (path_and_alias(), table_only())
    loaded = [load(made) for made in both]
    vertices, edges = whole(gremlin)
    path = "dev|s3://lake|sales"
    assert set(vertices) == (
        {key for key in table_only().nodes if "hive" not in key} | set(path_and_alias().nodes)
    )
    label, values = vertices[path]
    assert label == "table"
    assert values["dag_name"] == ["p", "t"]
    assert values["qualified_name"] == ["db.sales"]
    assert values["description"] == ["sales, as dbt reads them"]
    assert vertices[f"{path}|c"][1]["dag_name"] == ["p", "t"]
    expected = (
        Made("t")
        .job("dbt", "model.p.m", {"m": ["s3://lake|sales"]}, 1, "p")
        .feeds_column(("dbt", "model.p.m"), ("s3://lake|sales", "c"), ("m", "c"))
    )
    assert set(edges) == set(expected.edges) | set(path_and_alias().edges)
    assert [each.moved for each in loaded] == ([0, 1] if table_first else [0, 0])
    for made in both:
        again = load(made)
        assert (again.nodes, again.edges, again.moved, again.retired_edges) == (0, 0, 0, 0)
    assert whole(gremlin) == (vertices, edges)


def test_a_new_path_of_a_table_also_moves_lineage_of_jobs_that_did_not_run(
    load: Load, gremlin: GraphTraversalSource
) -> None:
    load(table_only("d").job("spark", "old", {"hive|db.sales": ["x"]}))
    load(path_and_alias("d"), SourceCompleteness(runs=True, projects={"dbt": False}))
    edges = edges_of(gremlin)
    path = "dev|s3://lake|sales"
    assert {
        ("dev|wh|x", "feeds", path),
        ("dev|d|spark|old", "writes", path),
        (path, "feeds", "dev|wh|m"),
    } <= edges
    assert not any("hive" in key for key in whole(gremlin)[0])


def test_fields_move_with_their_columns(load: Load, gremlin: GraphTraversalSource) -> None:
    made = table_only("t")
    column, field = (column_id(dataset("hive|db.sales"), name) for name in ("c", field_path("c", "f")))
    made.nodes[field] = {**made.nodes[column], "id": field, "name": "f"}
    load(made.edge(None, column, "has_column", field))

    load(path_and_alias())

    vertices, edges = whole(gremlin)
    moved = "dev|s3://lake|sales|c|f"
    assert vertices[moved][1]["dag_name"] == ["t"]
    assert ("dev|s3://lake|sales|c", "has_column", moved) in {edge[:3] for edge in edges.values()}
    assert not any("hive" in key for key in vertices)


def test_an_alias_of_two_vertices_is_not_followed(load: Load, gremlin: GraphTraversalSource) -> None:
    load(path_and_alias("p"))
    other = Made("q").job("spark", "k", {"s3://lake|other": ["s3://raw|sales"]})
    load(other.node("s3://lake|other", "table").alias("hive|db.sales", "s3://lake|other"))
    load(table_only())
    assert "dev|hive|db.sales" in whole(gremlin)[0]


TEMPORARY = "s3://b|tmp"


def by_rule(dag: str) -> Made:
    """Return a job that writes a table through a temporary directory for which it has a rule."""
    made = Made(dag).job("spark", f"load {dag}", {"t": ["s3://raw|a"]}).column("t", "c")
    return made.resolves(TEMPORARY, "t")


def without_rule(dag: str) -> Made:
    """Return the same job without the rule."""
    made = Made(dag).job("spark", f"load {dag}", {TEMPORARY: ["s3://raw|a"]}).column(TEMPORARY, "c")
    return made.resolves(TEMPORARY, TEMPORARY, OWN)


def test_a_removed_rule_does_not_affect_another_dag_that_uses_the_table(
    load: Load, gremlin: GraphTraversalSource
) -> None:
    other = Made("other").job("spark", "report", {"r": ["t"]}).column("t", "d")
    load(other)
    alone = whole(gremlin)
    load(by_rule("d"))
    shown = load(without_rule("d"), dry_run=True)
    load(without_rule("d"))
    vertices, edges = whole(gremlin)
    assert set(vertices) == set(other.nodes) | set(without_rule("d").nodes)
    assert set(edges) == set(other.edges) | set(without_rule("d").edges)
    assert {key: vertices[key] for key in alone[0]} == alone[0]
    assert f"removed from {dataset('t')}: alias {TEMPORARY} (rule)" in shown.changes
    assert set(shown.retirements) == {
        "dev|d|spark|load d -writes-> dev|wh|t",
        "dev|s3://raw|a -feeds-> dev|wh|t",
        "dev|wh|t -has_column-> dev|wh|t|c",
    }


def test_the_alias_of_a_rule_that_another_dag_still_has_stays(
    load: Load, gremlin: GraphTraversalSource
) -> None:
    load(by_rule("other"))
    load(by_rule("d"))
    before = whole(gremlin)
    load(without_rule("d"))
    vertices, edges = whole(gremlin)
    assert edges == before[1]
    values = vertices[dataset("t")][1]
    assert values["resolved_names"] == [f"other|rule|{TEMPORARY}"]
    assert values["aliases"] == [f"{TEMPORARY} (rule)"]
    assert {**vertices, dataset("t"): None} == {**before[0], dataset("t"): None}


@on_both_engines
def test_a_rule_moves_the_lineage_of_all_dags_at_the_location(
    load: Load, gremlin: GraphTraversalSource
) -> None:
    load(without_rule("other"))
    load(without_rule("d"))
    shown = load(by_rule("d"), dry_run=True)
    assert f"moved {dataset(TEMPORARY)} to {dataset('t')}" in shown.changes
    assert load(by_rule("d")).moved == 1
    vertices, edges = whole(gremlin)
    assert set(edges) == set(by_rule("other").edges) | set(by_rule("d").edges)
    assert dataset(TEMPORARY) not in vertices
    again = load(without_rule("other"))
    assert (again.nodes, again.edges, again.moved, again.retired_edges) == (0, 0, 0, 0)


def test_an_assertion_follows_its_column_to_the_canonical_vertex(
    load: Load, gremlin: GraphTraversalSource
) -> None:
    reader = Made("reader").job("dbt", "model.shop.m", {"m": ["hive|db.sales"]}, 1, "shop")
    reader.column("hive|db.sales", "price")
    test = JobKey("dbt", "test.shop.positive")
    identifier = assertion_id("dev", "reader", test)
    keys = {"id": identifier, "label": "assertion", "environment": "dev", "dag_name": "reader"}
    reader.nodes[identifier] = {**keys, "name": "positive", "job_type": "dbt", "job_name": test.name}
    reader.edge(test, identifier, "checks", column_id(dataset("hive|db.sales"), "price"))
    load(reader)

    owner = Made("owner").node("s3|sales", "table").job("spark", "ingest", {"s3|sales": ["s3|raw"]})
    load(owner.alias("hive|db.sales", "s3|sales"))
    assert edges_of(gremlin, "checks") == {(identifier, "checks", "dev|s3|sales|price")}
    again = load(reader)  # finds the edge at the canonical vertex
    assert edges_of(gremlin, "checks") == {(identifier, "checks", "dev|s3|sales|price")}
    assert (again.nodes, again.edges) == (0, 0)


def test_a_check_of_a_column_is_retired_by_the_next_write_that_does_not_report_it(
    load: Load, gremlin: GraphTraversalSource
) -> None:
    job = JobKey("spark", "ingest")

    def ingest(at: int, *checks: str) -> Made:
        made = Made().job(*job, {"sales": ["raw"]}, at).column("sales", "price")
        for check in checks:
            identifier = assertion_id("dev", "daily", job, check)
            keys = {"id": identifier, "label": "assertion", "environment": "dev", "dag_name": "daily"}
            made.nodes[identifier] = {**keys, "name": check, "job_type": job.job_type, "job_name": job.name}
            made.edge(job, identifier, "checks", column_id(dataset("sales"), "price"))
        return made

    load(ingest(1, "positive", "not_null"))
    load(ingest(2, "not_null"))
    assert set(gremlin.V().has_label("assertion").values("name").to_list()) == {"not_null"}
    assert gremlin.V(column_id(dataset("sales"), "price")).count().next() == 1

"""The graph from OpenLineage's events equals Spline's for the same jobs, except for listed differences."""

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from lineage_merge.graph_format.schema import EDGE_PROPERTIES, NODE_PROPERTIES
from lineage_merge.orchestration import read_sources
from lineage_merge.orchestration.configuration import CONFIGURATION
from tests import expected
from tests.sources.openlineage.listener_differences import DIFFERENCES

WAREHOUSE = "redshift://tickit-wh.us-east-1:5439"

Rows = dict[tuple[str, str, str], dict[str, Any]]


class Graph(NamedTuple):
    """Edges by label and ends, vertices by id; ids without the environment. `read`: what was counted."""

    edges: Rows
    nodes: dict[str, dict[str, Any]]
    read: dict[str, int]

    def ends(self, label: str) -> set[tuple[str, str]]:
        return {(start, end) for found, start, end in self.edges if found == label}

    def values(self, label: str, name: str) -> set[tuple[str, str, Any]]:
        """A property of all edges of a label, with their ends."""
        return {(start, end, row[name]) for (found, start, end), row in self.edges.items() if found == label}

    def of_nodes(self, label: str, *names: str) -> set[tuple[Any, ...]]:
        return {
            (key, *(row[name] for name in names)) for key, row in self.nodes.items() if row["label"] == label
        }


def built(source: dict[str, Any]) -> Graph:
    settings = CONFIGURATION.parse(
        {
            "dag_name": "tickit_daily",
            "environment": "dev",
            "merge": {"default_schemas": {WAREHOUSE: "dev.public"}},
            **source,
        }
    )
    report, elements = read_sources.merge(settings)
    rows = elements.collect()
    none_of = [dict.fromkeys(each.name for each in known) for known in (EDGE_PROPERTIES, NODE_PROPERTIES)]
    edges = {
        (row["label"], short(row["from"]), short(row["to"])): none_of[0] | row
        for row in rows
        if "from" in row
    }
    nodes = {short(row["id"]): none_of[1] | row for row in rows if "from" not in row}
    assert not [each for each in report.problems if each.kind == "rejected"]
    return Graph(edges, nodes, dict(report.read))


def short(identifier: str) -> str:
    return identifier.partition("|")[2]


@pytest.fixture(scope="module")
def by_spline(data: Path) -> Graph:
    return built({"spline": {"export": str(data / "spline")}})


@pytest.fixture(scope="module")
def here(data: Path) -> Graph:
    return built({"openlineage": {"events": str(data / "openlineage/events")}})


# Their listener lost the last write of tickit_sales_ingest (the captures' README): staging to the lake.
LAKE, STAGING = "s3://tickit-lake|sales_dl", "s3://tickit-staging"
LOST_FLOWS = {
    (f"{STAGING}|event|eventname", f"{LAKE}|eventname"),
    (f"{STAGING}|sales|buyerid", f"{LAKE}|buyerid"),
    (f"{STAGING}|sales|commission", f"{LAKE}|commission"),
    (f"{STAGING}|sales|commission", f"{LAKE}|net"),
    (f"{STAGING}|sales|eventid", f"{LAKE}|eventid"),
    (f"{STAGING}|sales|pricepaid", f"{LAKE}|net"),
    (f"{STAGING}|sales|pricepaid", f"{LAKE}|pricepaid"),
    (f"{STAGING}|sales|qtysold", f"{LAKE}|qtysold"),
    (f"{STAGING}|sales|saledate", f"{LAKE}|saledate"),
    (f"{STAGING}|sales|salesid", f"{LAKE}|salesid"),
    (f"{STAGING}|sales|sellerid", f"{LAKE}|sellerid"),
}


def test_every_event_is_read(here: Graph) -> None:
    assert here.read == {
        "OpenLineage events": 102,
        "OpenLineage runs": 55,
        "OpenLineage runs that only define tables": 10,
        "OpenLineage runs that only read": 3,
        "OpenLineage runs without an end": 6,
        "OpenLineage runs without datasets": 4,
    }


def test_datasets_feed_the_same_datasets(by_spline: Graph, here: Graph) -> None:
    assert by_spline.ends("feeds") - here.ends("feeds") == {
        (f"{STAGING}|sales", LAKE),
        (f"{STAGING}|event", LAKE),
    }
    assert here.ends("feeds") - by_spline.ends("feeds") == set()
    dag = "tickit_daily"
    truth = expected.tickit_sales_ingest(dag) | expected.tickit_sales_load(dag)
    truth |= expected.seed_queries(dag) | expected.tpch(dag)
    assert by_spline.ends("feeds") == {(start, end) for start, label, end in truth if label == "feeds"}


def test_the_same_jobs_write_the_same_datasets(by_spline: Graph, here: Graph) -> None:
    lost = {("tickit_daily|spark|tickit_sales_ingest", LAKE)}
    assert by_spline.ends("writes") - here.ends("writes") == lost
    assert here.ends("writes") - by_spline.ends("writes") == set()
    jobs = {"seed_queries", "tickit_sales_ingest", "tickit_sales_load", "tpch_queries"}
    assert here.of_nodes("job", "job_type", "name", "framework", "status") == {
        (f"tickit_daily|spark|{job}", "spark", job, "spark 3.5.9", "succeeded") for job in jobs
    }
    assert here.of_nodes("job", "rows_written") ^ by_spline.of_nodes("job", "rows_written") == {
        # Spline's agent has no count of rows over JDBC, and none of the last CREATE TABLE AS SELECT.
        ("tickit_daily|spark|tickit_sales_load", 500),
        ("tickit_daily|spark|tickit_sales_load", 520),
        ("tickit_daily|spark|seed_queries", 6),
        ("tickit_daily|spark|seed_queries", 7),
    }


def test_the_run_is_the_applications(here: Graph) -> None:
    assert here.of_nodes("job", "last_run_id") == {
        ("tickit_daily|spark|seed_queries", "local-1795253384106"),
        ("tickit_daily|spark|tickit_sales_ingest", "local-1795253349813"),
        ("tickit_daily|spark|tickit_sales_load", "local-1795253370235"),
        ("tickit_daily|spark|tpch_queries", "local-1795255526652"),
    }


def test_writes_have_the_same_mode_and_order(by_spline: Graph, here: Graph) -> None:
    lost = {(start, end, "overwrite") for start, end in by_spline.ends("feeds") - here.ends("feeds")}
    assert by_spline.values("feeds", "write_mode") ^ here.values("feeds", "write_mode") == lost
    warehouse = "file|/user/hive/warehouse"
    spark_test = f"{warehouse}/bigdata.db/tdl_spark_test"
    rank_base = f"{warehouse}/dm_ai.db/dws_kdt_comment_rank_base"
    assert by_spline.values("feeds", "sequence") ^ here.values("feeds", "sequence") == {
        # The last write of tickit_sales_ingest, which they lost.
        (f"{STAGING}|sales", LAKE, 3),
        (f"{STAGING}|event", LAKE, 3),
        # Spline counts CREATE TABLE as a write, its two tables come first; here it moves no data.
        (spark_test, f"{warehouse}/bigdata.db/tdl_file_test", 4),
        (spark_test, f"{warehouse}/bigdata.db/tdl_file_test", 2),
        (rank_base, f"{warehouse}/dm_ai.db/dws_kdt_comment_ranks_info", 8),
        (rank_base, f"{warehouse}/dm_ai.db/dws_kdt_comment_ranks_info", 6),
    }


def test_datasets_are_the_same_but_for_the_format_of_files(by_spline: Graph, here: Graph) -> None:
    for label in ("file", "table"):
        names = ("name", "namespace", "qualified_name", "location")
        assert by_spline.of_nodes(label, *names) == here.of_nodes(label, *names)
    # These events have no storage facet.
    assert {row["format"] for row in here.nodes.values()} == {None}


def test_a_table_has_the_same_alias_and_the_one_that_they_give_it(by_spline: Graph, here: Graph) -> None:
    stored_in_files = here.of_nodes("table", "qualified_name", "location") - {
        (f"{WAREHOUSE}|dev.public.{table}", f"dev.public.{table}", None) for table in ("sales", "event")
    }
    assert len(stored_in_files) == 12
    for key, table, _ in stored_in_files:
        assert here.nodes[key]["aliases"] == [
            f"file:/user/hive/warehouse|{table} (catalog-table)",
            f"spark_catalog|{table} (catalog-table)",
        ]
        assert by_spline.nodes[key]["aliases"] == [f"spark_catalog|{table} (catalog-table)"]
    key = f"{WAREHOUSE}|dev.public.sales"
    assert by_spline.nodes[key]["aliases"]
    assert here.nodes[key]["aliases"] == by_spline.nodes[key]["aliases"]


def test_columns_are_the_same_with_types_and_places(by_spline: Graph, here: Graph) -> None:
    known = ("name", "data_type", "position")
    assert by_spline.of_nodes("column", *known) == here.of_nodes("column", *known)
    assert by_spline.ends("has_column") == here.ends("has_column")
    assert len(here.ends("has_column")) > 200


def test_the_same_columns_flow_and_decide(by_spline: Graph, here: Graph) -> None:
    assert by_spline.ends("feeds_column") - here.ends("feeds_column") == LOST_FLOWS
    assert here.ends("feeds_column") - by_spline.ends("feeds_column") == set()
    assert by_spline.ends("influences") - here.ends("influences") == {
        (f"{STAGING}|event|eventid", LAKE),
        (f"{STAGING}|sales|eventid", LAKE),
    }
    assert here.ends("influences") - by_spline.ends("influences") == set()


def test_every_difference_in_what_is_done_with_a_column_is_listed(by_spline: Graph, here: Graph) -> None:
    found = {
        (
            label,
            word(start),
            word(end),
            row["transformation"],
            here.edges[label, start, end]["transformation"],
        )
        for (label, start, end), row in by_spline.edges.items()
        if label in ("feeds_column", "influences")
        and (label, start, end) in here.edges
        and here.edges[label, start, end]["transformation"] != row["transformation"]
    }
    listed = {
        (each.label, source, target, each.by_spline, each.here)
        for each in DIFFERENCES
        for target, sources in each.edges.items()
        for source in sources.split()
    }
    assert found - listed == set()
    assert listed - found == set()


def word(identifier: str) -> str:
    """``lineitem.l_tax`` of a column's id, ``q01`` of a dataset's."""
    _, name, *column = identifier.split("|")
    return ".".join([name.rpartition("/")[2], *column])

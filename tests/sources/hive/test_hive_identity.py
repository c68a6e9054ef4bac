"""A table that Spark knows by path and Hive by name is one dataset."""

from pathlib import Path
from typing import Any

import pytest

from lineage_merge.orchestration import read_sources
from lineage_merge.orchestration.configuration import CONFIGURATION
from tests import expected
from tests.sources.hive.hive_lines import copy, document, line

DAG = "daily"
# Where the captured Spark application keeps its Hive tables.
SPARKS = "file|/user/hive/warehouse"
READ = "dm_ai.dws_kdt_comment_ranks_info"
READ_AT = f"{SPARKS}/dm_ai.db/dws_kdt_comment_ranks_info"

Edges = set[tuple[str, str, str]]


@pytest.fixture
def log(tmp_path: Path) -> str:
    """Hive makes a table and a view of what Spark wrote, and a table of the view."""
    made = [
        document(
            f"insert overwrite table dw.ranks select * from {READ}", copy("dw.ranks", READ.upper(), ("C",))
        ),
        document("create view dw.v as select c from dw.ranks", copy("dw.v", "dw.ranks")),
        document("insert into top select c from dw.v", copy("default.top", "dw.v")),
    ]
    file = tmp_path / "hive.log"
    file.write_text("".join(f"{line(each)}\n" for each in made), encoding="utf-8")
    return str(file)


def merged(
    log: str, spline: Path | None = None, **hive: Any
) -> tuple[Edges, dict[str, tuple[str, list[str]]]]:
    """Edges between datasets, and label and aliases of each dataset; ids without the environment."""
    settings: dict[str, Any] = {"dag_name": DAG, "environment": "dev", "hive": {"log": log, **hive}}
    if spline:
        settings["spline"] = {"export": str(spline)}
    built = read_sources.merge(CONFIGURATION.parse(settings))
    rows = built.elements.collect()
    assert not built.report.select_kind("rejected")
    assert not built.report.select_kind("not-joined")
    edges = {
        (row["from"].partition("|")[2], row["label"], row["to"].partition("|")[2])
        for row in rows
        if row["label"] in ("feeds", "writes")
    }
    datasets = {
        row["id"].partition("|")[2]: (row["label"], row.get("aliases", []))
        for row in rows
        if "from" not in row and row["label"] not in ("job", "column")
    }
    return edges, datasets


def hive_edges(read: str, ranks: str, view: str, top: str) -> Edges:
    return {
        (f"{DAG}|hive|dw.ranks", "writes", ranks),
        (read, "feeds", ranks),
        (f"{DAG}|hive|dw.v", "writes", view),
        (ranks, "feeds", view),
        (f"{DAG}|hive|default.top", "writes", top),
        (view, "feeds", top),
    }


def test_the_catalogs_name_of_a_table_joins_what_spark_wrote(data: Path, log: str) -> None:
    edges, datasets = merged(log, data / "spline" / "seed_queries")

    of_hive = hive_edges(READ_AT, "spark_catalog|dw.ranks", "spark_catalog|dw.v", "spark_catalog|default.top")
    assert edges == expected.seed_queries(DAG) | of_hive
    assert datasets[READ_AT] == ("table", [f"spark_catalog|{READ} (catalog-table)"])
    assert datasets["spark_catalog|dw.v"] == ("view", [])


def test_a_metastore_is_what_sparks_catalog_means(data: Path, log: str) -> None:
    edges, datasets = merged(
        log, data / "spline" / "seed_queries", metastore="thrift://Metastore.example:9083"
    )

    ns = "hive://metastore.example:9083"
    of_hive = hive_edges(READ_AT, f"{ns}|dw.ranks", f"{ns}|dw.v", f"{ns}|default.top")
    assert edges == expected.seed_queries(DAG) | of_hive
    assert datasets[READ_AT] == ("table", [f"{ns}|{READ} (catalog-table)"])


def test_a_warehouse_gives_tables_their_paths_and_views_none(log: str) -> None:
    edges, datasets = merged(log, warehouse="s3a://lake/warehouse/")

    lake = "s3://lake|warehouse"
    view, ranks = "spark_catalog|dw.v", f"{lake}/dw.db/ranks"
    read, top = f"{lake}/dm_ai.db/dws_kdt_comment_ranks_info", f"{lake}/top"
    assert edges == hive_edges(read, ranks, view, top)
    assert datasets == {
        read: ("table", [f"spark_catalog|{READ} (hive-warehouse)"]),
        ranks: ("table", ["spark_catalog|dw.ranks (hive-warehouse)"]),
        top: ("table", ["spark_catalog|default.top (hive-warehouse)"]),
        view: ("view", []),
    }


def test_a_known_path_of_a_table_takes_precedence_over_the_warehouse(data: Path, log: str) -> None:
    edges, datasets = merged(log, data / "spline" / "seed_queries", warehouse="s3://lake/warehouse")

    ranks, top = "s3://lake|warehouse/dw.db/ranks", "s3://lake|warehouse/top"
    assert edges == expected.seed_queries(DAG) | hive_edges(READ_AT, ranks, "spark_catalog|dw.v", top)
    assert "s3://lake|warehouse/dm_ai.db/dws_kdt_comment_ranks_info" not in datasets
    assert datasets[READ_AT] == ("table", [f"spark_catalog|{READ} (catalog-table)"])

"""Wrong configurations are found with the YAML that joins them; correct ones have no near misses."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from benchmarks.generated.export import write
from lineage_merge.graph_format.schema import Row
from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.merge import dataset_resolver, join
from lineage_merge.merge.near_misses import decisions
from lineage_merge.merge.near_misses.collection import find_near_misses
from lineage_merge.merge.report import NearMiss
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.orchestration.read_sources import list_configured_sources, read_all
from tests.merge.wrong_configurations import DATA, MISTAKES, POSTGRES, SAMPLE, WAREHOUSE, Mistake, sql
from tests.properties import batch
from tests.properties import pipeline as drawn

Settings = dict[str, Any]


def merged(settings: Settings) -> tuple[list[Row], tuple[NearMiss, ...]]:
    """Read and merge the sources without Spark: the rows, and the near misses."""
    config = CONFIGURATION.parse(settings)
    resolver = dataset_resolver.from_config(config)
    records = read_all(LocalEngine(), config, resolver, list_configured_sources(config)).cache()
    elements = join.merge(records, config.environment, config.dag_name, config.merge).elements
    return elements.collect(), find_near_misses(elements, config).found


def read_only(rows: list[Row]) -> set[str]:
    """The datasets that are read and never written."""
    feeds = [row for row in rows if row["label"] == "feeds"]
    written = {row["to"] for row in rows if row["label"] in ("feeds", "writes")}
    return {row["from"] for row in feeds} - written


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_mistake_is_found_and_its_fix_joins(mistake: Mistake, tmp_path: Path) -> None:
    settings = mistake.settings_in(tmp_path)

    before, found = merged(settings)

    assert {(_name(each.written), _name(each.read)) for each in found} == mistake.pairs
    assert {each.fix_key.partition(",")[0] for each in found} == mistake.keys
    text = yaml.safe_dump(settings)
    for near_miss in {each.fix: each for each in found}.values():
        text = decisions.accept(text, near_miss)
    settings = yaml.safe_load(text)
    after, rest = merged(settings)
    assert rest == ()
    assert read_only(after).isdisjoint(each.read for each in found)
    # Each pair is one dataset afterwards, or what was read has another name: nothing else changes.
    assert len(read_only(after)) == len(read_only(before)) - len(found)


def test_a_wrong_region_of_a_large_project_is_one_fix(tmp_path: Path) -> None:
    write(tmp_path, 120, 40, 8, 3)
    settings = CONFIGURATION.collect(tmp_path / "lineage_merge.yml", environ={}).settings
    assert merged(settings)[1] == ()
    wrong = {**settings["dbt"][0], "namespace": "redshift://warehouse.us-east-1:5439"}

    found = merged({**settings, "dbt": [wrong]})[1]

    assert len(found) > 5
    (fix,) = {each.fix for each in found}
    assert yaml.safe_load(fix) == {"dbt": settings["dbt"]}


def _name(identifier: str) -> str:
    return identifier.partition("|")[2]


def tickit() -> Settings:
    return {
        "spline": {"export": str(SAMPLE / "spline")},
        "dbt": [{"manifest": str(SAMPLE / "dbt" / "manifest.json"), "namespace": WAREHOUSE}],
        "merge": {"default_schemas": {WAREHOUSE: "dev.public"}},
    }


def hive() -> Settings:
    return {"log": str(DATA / "hive"), "metastore": "thrift://metastore:9083"}


CORRECT: dict[str, Settings] = {
    "the sample": tickit(),
    "the sample without dbt": {"spline": tickit()["spline"]},
    "dbt alone": {"dbt": tickit()["dbt"]},
    "two projects": {
        "dbt": [
            {"manifest": str(DATA / "dbt" / name / "manifest.json"), "namespace": namespace}
            for name, namespace in (("redshift_v12", WAREHOUSE), ("duckdb_v12", "duckdb://local"))
        ]
    },
    "exports": {"spline": {"export": str(DATA / "spline")}},
    "exports of 0.7": {"spline": {"export": str(DATA / "spline_0_7")}},
    "agents": {"spline": {"agent": str(DATA / "agent")}},
    "events": {"openlineage": {"events": str(DATA / "openlineage")}},
    "Hive": {"hive": {"log": str(DATA / "hive")}},
    "Hive with Spark": {"hive": hive(), "spline": {"export": str(DATA / "spline")}},
    "Hive with its folder": {
        "hive": {**hive(), "warehouse": "hdfs://nn:8020/user/hive/warehouse"},
        "openlineage": {"events": str(DATA / "openlineage")},
    },
    "all at once": {
        **tickit(),
        "hive": hive(),
        "openlineage": {"events": str(DATA / "openlineage")},
    },
}


@pytest.mark.parametrize("settings", CORRECT.values(), ids=CORRECT.keys())
def test_correct_pipelines_have_no_near_misses(settings: Settings) -> None:
    rows, found = merged({"dag_name": "daily", "environment": "dev", **settings})
    assert found == ()
    assert read_only(rows)


_TABLES = ("customers", "orders", "products", "payments")


def _of(target: str, source: str) -> str:
    return f"create table {target} as select id, name, amount, created_at from {source};"


# Pipelines of SQL: files by name. All tables of a database.
ORDINARY: dict[str, dict[str, str]] = {
    "copies in layers": {
        f"{layer}_{table}.sql": _of(f"dw.{layer}.{table}", f"dw.{before}.{table}")
        for before, layer in (("raw", "staging"), ("staging", "core"), ("core", "mart"))
        for table in _TABLES
    },
    "regions beside each other": {
        f"{region}_{table}.sql": _of(f"dw.lake_{region}.{table}", f"dw.raw_{region}.{table}")
        for region in ("eu", "us", "ap")
        for table in _TABLES
    },
    "sources of one entity": {
        f"{system}.sql": _of(f"dw.staging.{system}_customers", f"dw.{system}.customers")
        for system in ("crm", "erp", "shop")
    }
    | {
        "mart.sql": "create table dw.mart.customers as select id, name, amount from dw.staging.crm_customers"
        " union all select id, name, amount from dw.staging.erp_customers"
        " union all select id, name, amount from dw.staging.shop_customers;"
    },
    "tenants and dates": {
        f"{number}.sql": _of(f"dw.tenant_{number}.sales", f"dw.tenant_{number + 50}.sales")
        for number in range(20)
    }
    | {
        f"day_{day}.sql": _of(f"dw.days.sales_2026010{day}", f"dw.in_days.sales_2025120{day}")
        for day in range(1, 9)
    },
    "generic names": {
        f"{system}.sql": f"create table dw.{system}.output as select id, value, day from dw.{other}.data;"
        for system, other in (("a_system", "first"), ("b_system", "second"))
    }
    | {"c.sql": "create table dw.third.data as select id, value, day from dw.fourth.tmp;"},
    "its own previous output": {
        "append.sql": "insert into dw.mart.balance select id, amount, day from dw.mart.balance;",
        "other.sql": "create table dw.mart.balances_report as select id, amount from dw.mart.balance;",
    },
}


@pytest.mark.parametrize("files", ORDINARY.values(), ids=ORDINARY.keys())
def test_ordinary_pipelines_of_sql_have_no_near_misses(files: dict[str, str], tmp_path: Path) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    entries = [{**each, "path": str(tmp_path)} for each in sql(("", POSTGRES))]

    rows, found = merged({"dag_name": "daily", "environment": "dev", "sql": entries})

    assert found == ()
    assert len([row for row in rows if row["label"] == "feeds"]) >= len(files) - 1


@pytest.mark.parametrize("seed", range(3))
def test_generated_pipelines_have_no_near_misses(seed: int, tmp_path: Path) -> None:
    batch.write(batch.drawn(12 + seed), tmp_path)
    projects = [{"manifest": str(each), "namespace": drawn.WAREHOUSE} for each in tmp_path.glob("*.json")]
    settings = {
        "spline": {"export": str(tmp_path / "spline")},
        "dbt": projects,
        "merge": {"default_schemas": {drawn.WAREHOUSE: "dev.public"}, "collapse_datasets": ["s3://*/tmp/*"]},
    }

    rows, found = merged({"dag_name": "daily", "environment": "dev", **settings})

    assert found == ()
    assert len(rows) > 100


def test_a_fix_of_several_sections_is_accepted_in_each() -> None:
    wrong, right = (WAREHOUSE.replace("us-east-1", region) for region in ("eu-west-1", "us-east-1"))
    given = {"dbt": [{"namespace": wrong}], "query_log": [{"namespace": wrong, "path": "logs"}]}
    fix = yaml.safe_dump({name: [{"namespace": right}] for name in given})
    near_miss = NearMiss("w", "r", 90, (), "dbt[0].namespace, query_log[0].namespace", fix)

    accepted = yaml.safe_load(decisions.accept(yaml.safe_dump(given), near_miss))

    assert accepted == {"dbt": [{"namespace": right}], "query_log": [{"namespace": right, "path": "logs"}]}


def test_a_wrong_region_in_both_keys_is_fixed_in_both() -> None:
    """The temporary directory is joined in any region: it does not confirm the wrong one."""
    wrong = WAREHOUSE.replace("us-east-1", "eu-west-1")
    correct = {"dag_name": "daily", "environment": "dev", **tickit()}
    manifest = correct["dbt"][0]["manifest"]
    given = {
        **correct,
        "dbt": [{"manifest": manifest, "namespace": wrong}],
        "merge": {"default_schemas": {wrong: "dev.public"}},
    }

    (found,) = merged(given)[1]

    assert found.fix_key == "dbt[0].namespace, merge.default_schemas"
    fix = yaml.safe_load(found.fix)
    assert fix == {"dbt": correct["dbt"], "merge": correct["merge"]}
    accepted = yaml.safe_load(decisions.accept(yaml.safe_dump(given), found))
    assert accepted == correct
    assert {row["id"] for row in merged(accepted)[0]} == {row["id"] for row in merged(correct)[0]}

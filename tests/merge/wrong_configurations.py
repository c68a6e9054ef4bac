"""Pipelines with one deliberate mistake each, over real captures, and what must be found.

A pipeline is a folder with a copy of `sample_data` (Spline's export, dbt's manifest), in which texts are
replaced, or a folder of SQL files, and the settings of a merge.
"""

import gzip
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "sample_data"
DATA = ROOT / "tests" / "data"
WAREHOUSE = "redshift://tickit-wh.us-east-1:5439"
TEMPORARY = "s3://aws-glue-assets-111122223333-us-east-1|temporary/redshift/public.sales"
EVENT = f"{WAREHOUSE}|dev.public.event"
SALES = f"{WAREHOUSE}|dev.public.sales"
LAKE = "s3://tickit-lake|sales_dl"
POSTGRES = "postgres://db.shop:5432"
LOAD, INGEST, MANIFEST = "spline/tickit_sales_load", "spline/tickit_sales_ingest", "dbt/manifest.json"


@dataclass(frozen=True)
class Mistake:
    """A wrong pipeline. `pairs`: (written, read) without environment; `keys`: the first of each fix.

    `replaced`: texts of a file or of all files of a folder. `sql`: files by name, instead of the sample.
    `captures`: files of tests/data by name. `settings` override those of the sample.
    """

    name: str
    pairs: frozenset[tuple[str, str]]
    keys: frozenset[str]
    replaced: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    sql: Mapping[str, str] = field(default_factory=dict)
    captures: Mapping[str, str] = field(default_factory=dict)

    def settings_in(self, folder: Path) -> dict[str, Any]:
        """Write the files of the pipeline, and return the settings of its merge."""
        if self.sql:
            for name, text in self.sql.items():
                file = folder / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
        else:
            shutil.copytree(SAMPLE / "spline", folder / "spline")
            shutil.copytree(SAMPLE / "dbt", folder / "dbt")
        for name, capture in self.captures.items():
            content = (DATA / capture).read_bytes()
            (folder / name).write_bytes(gzip.decompress(content) if capture.endswith(".gz") else content)
        for name, texts in self.replaced.items():
            place = folder / name
            for file in sorted(place.rglob("*")) if place.is_dir() else [place]:
                text = file.read_text()
                changed = text
                for old, new in texts.items():
                    changed = changed.replace(old, new)
                if changed != text:
                    file.write_text(changed)
        common = {"dag_name": "tickit_daily", "environment": "dev"}
        given = {**common, **({} if self.sql else sample(folder)), **self.settings}
        return {key: _placed(value, folder) for key, value in given.items() if value is not None}


def _placed(value: Any, folder: Path) -> Any:
    """Return settings with the folder in place of ``FOLDER``."""
    if isinstance(value, dict):
        return {key: _placed(each, folder) for key, each in value.items()}
    if isinstance(value, list):
        return [_placed(each, folder) for each in value]
    return value.replace("FOLDER", str(folder)) if isinstance(value, str) else value


def sample(folder: Path) -> dict[str, Any]:
    """Return the correct settings of the sample."""
    return {
        "spline": {"export": str(folder / "spline")},
        "dbt": dbt(WAREHOUSE),
        "merge": {"default_schemas": {WAREHOUSE: "dev.public"}},
    }


def dbt(namespace: str) -> list[dict[str, str]]:
    return [{"manifest": f"FOLDER/{MANIFEST}", "namespace": namespace}]


def sql(*entries: tuple[str, str]) -> list[dict[str, str]]:
    return [{"path": f"FOLDER/{path}", "dialect": "postgres", "namespace": each} for path, each in entries]


def _wrong_namespace(name: str, namespace: str, spelled: str = "dev.public.") -> Mistake:
    """Return a mistake in the namespace of dbt's tables, which hides both tables that Spark writes."""
    tables = [f"{namespace}|{spelled}event", f"{namespace}|{spelled}sales"]
    if spelled.isupper():
        tables = [each.replace("event", "EVENT").replace("sales", "SALES") for each in tables]
    pairs = frozenset(
        {(EVENT, tables[0]), (TEMPORARY if namespace.startswith("redshift") else SALES, tables[1])}
    )
    return Mistake(name, pairs, frozenset({"dbt[0].namespace"}), settings={"dbt": dbt(namespace)})


def _wrong_path(name: str, written: str, read: tuple[str, str], keys: str = "merge.rules") -> Mistake:
    """Return a mistake in a path that the second application reads."""
    replaced = {LOAD: {f"{written.replace('|', '/')}": "/".join((read[0], read[1].lstrip("/")))}}
    return Mistake(name, frozenset({(written, "|".join(read))}), frozenset({keys}), replaced)


_ORDERS = "create table shop.mart.orders as select id, customer, total, placed_at from shop.stage.raw_orders;"
_REPORT = (
    "create table shop.mart.report as select customer, sum(total) t, max(placed_at) p, count(id) n"
    " from {} group by 1;"
)

MISTAKES = (
    _wrong_namespace("region of the warehouse", "redshift://tickit-wh.eu-west-1:5439"),
    _wrong_namespace("port of the warehouse", "redshift://tickit-wh.us-east-1:5440"),
    _wrong_namespace("misspelled warehouse", "redshift://tikit-wh.us-east-1:5439"),
    _wrong_namespace("another warehouse", "redshift://finance.us-east-1:5439"),
    _wrong_namespace("another platform", "snowflake://acme-prod", "DEV.PUBLIC."),
    _wrong_namespace("scheme of the warehouse", "postgres://tickit-wh.us-east-1:5439"),
    Mistake(
        "region of the warehouse and of its default schema",
        frozenset({(EVENT, "redshift://tickit-wh.eu-west-1:5439|dev.public.event")}),
        frozenset({"dbt[0].namespace"}),
        settings={
            "dbt": dbt("redshift://tickit-wh.eu-west-1:5439"),
            "merge": {"default_schemas": {"redshift://tickit-wh.eu-west-1:5439": "dev.public"}},
        },
    ),
    Mistake(
        "missing default schema",
        frozenset({(TEMPORARY, SALES)}),
        frozenset({"merge.default_schemas"}),
        settings={"merge": {}},
    ),
    Mistake(
        "default schema for another region",
        frozenset({(TEMPORARY, SALES)}),
        frozenset({"merge.rules"}),
        settings={"merge": {"default_schemas": {"redshift://tickit-wh.us-west-2:5439": "dev.public"}}},
    ),
    Mistake(
        "wrong database of a default schema",
        frozenset({(f"{WAREHOUSE}|prod.public.sales", SALES)}),
        frozenset({"merge.default_schemas"}),
        settings={"merge": {"default_schemas": {WAREHOUSE: "prod.public"}}},
    ),
    Mistake(
        "manifest of another database",
        frozenset({(EVENT, f"{WAREHOUSE}|prod.public.event"), (SALES, f"{WAREHOUSE}|prod.public.sales")}),
        frozenset({"merge.rules", "merge.default_schemas"}),
        {MANIFEST: {'"dev"': '"prod"', '\\"dev\\"': '\\"prod\\"'}},
    ),
    Mistake(
        "another schema of dbt's sources",
        frozenset({(EVENT, f"{WAREHOUSE}|dev.landed.event"), (SALES, f"{WAREHOUSE}|dev.landed.sales")}),
        frozenset({"merge.rules"}),
        {MANIFEST: {'"public"': '"landed"', '\\"public\\"': '\\"landed\\"'}},
    ),
    _wrong_path("another bucket", LAKE, ("s3://tickit-datalake", "sales_dl")),
    _wrong_path("bucket of another region", LAKE, ("s3://tickit-lake-eu-west-1", "sales_dl")),
    _wrong_path("separator in a bucket", LAKE, ("s3://tickit.lake", "sales_dl")),
    _wrong_path("another last segment", LAKE, ("s3://tickit-lake", "sales")),
    _wrong_path("misspelled last segment", LAKE, ("s3://tickit-lake", "slaes_dl")),
    _wrong_path("case of a path", LAKE, ("s3://tickit-lake", "Sales_DL")),
    _wrong_path("separator in a path", LAKE, ("s3://tickit-lake", "sales-dl")),
    _wrong_path("plural", "s3://tickit-staging|event", ("s3://tickit-staging", "events")),
    _wrong_path("another folder", LAKE, ("s3://tickit-lake", "warehouse/sales_dl")),
    _wrong_path("name node instead of name service", LAKE, ("hdfs://namenode:8020", "/lake/sales_dl")),
    Mistake(
        "bucket of OpenLineage's application",
        frozenset({("s3://tickit-lake|sales_dl", "s3://tickit-lakes|sales_dl")}),
        frozenset({"merge.rules"}),
        {"events.jsonl": {"s3://tickit-lake": "s3://tickit-lakes"}},
        {
            "spline": {"export": f"FOLDER/{INGEST}"},
            "openlineage": {"events": "FOLDER/events.jsonl"},
            "dbt": None,
        },
        captures={"events.jsonl": "openlineage/events/tickit_sales_load.jsonl.gz"},
    ),
    Mistake(
        "warehouse of OpenLineage's application",
        frozenset(
            {
                (EVENT, "redshift://tickit-wh.eu-west-1:5439|dev.public.event"),
                (TEMPORARY, "redshift://tickit-wh.eu-west-1:5439|dev.public.sales"),
            }
        ),
        frozenset({"dbt[0].namespace"}),
        settings={
            "spline": None,
            "openlineage": {"events": "FOLDER/events.jsonl"},
            "dbt": dbt("redshift://tickit-wh.eu-west-1:5439"),
        },
        captures={"events.jsonl": "openlineage/events/tickit_sales_load.jsonl.gz"},
    ),
    Mistake(
        "port of a database",
        frozenset({(f"{POSTGRES}|shop.mart.orders", "postgres://db.shop:5433|shop.mart.orders")}),
        frozenset({"sql[1].namespace"}),
        sql={"a/orders.sql": _ORDERS, "b/report.sql": _REPORT.format("shop.mart.orders")},
        settings={"sql": sql(("a", POSTGRES), ("b", "postgres://db.shop:5433"))},
    ),
    Mistake(
        "account of a Glue catalog",
        frozenset(
            {
                (
                    "arn:aws:glue:us-east-1:111122223333|table/mart/orders",
                    "arn:aws:glue:us-east-1:444455556666|table/mart/orders",
                )
            }
        ),
        frozenset({"sql[1].namespace"}),
        sql={
            "a/orders.sql": _ORDERS.replace("shop.", ""),
            "b/report.sql": _REPORT.format("mart.orders").replace("shop.", ""),
        },
        settings={
            "sql": sql(
                ("a", "arn:aws:glue:us-east-1:111122223333"), ("b", "arn:aws:glue:us-east-1:444455556666")
            )
        },
    ),
    Mistake(
        "missing default schema of a database",
        frozenset({(f"{POSTGRES}|shop.mart.orders", f"{POSTGRES}|orders")}),
        frozenset({"merge.default_schemas"}),
        sql={"a/orders.sql": _ORDERS, "b/report.sql": _REPORT.format("orders")},
        settings={"sql": sql(("a", POSTGRES), ("b", POSTGRES))},
    ),
    Mistake(
        "missing Spark catalog of Hive",
        frozenset({("hive://metastore:9083|dw.city_rank", "lake_catalog|dw.city_rank")}),
        frozenset({"hive.spark_catalogs"}),
        sql={"report.sql": "create table reports.cities as select city, total, rk from dw.city_rank;"},
        captures={"hive.log": "hive/hive-lineage.log"},
        settings={
            "hive": {"log": "FOLDER/hive.log", "metastore": "thrift://metastore:9083"},
            "sql": [{"path": "FOLDER", "dialect": "spark", "namespace": "lake_catalog"}],
        },
    ),
)

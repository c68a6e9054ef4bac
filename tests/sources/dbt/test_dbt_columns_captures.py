"""Column lineage of the captured projects, derived by hand from their SQL."""

from pathlib import Path

import pytest

from lineage_merge.sources.dbt.catalog import read_catalog
from lineage_merge.sources.dbt.columns import column_lineage
from lineage_merge.sources.dbt.manifest import read_manifest
from tests.dbt_column_project import Lineage, kinds, problems

DATA = Path(__file__).parents[2] / "data" / "dbt"

STAGING = """
users.userid -> stg_users.userid IDENTITY
users.username -> stg_users.username IDENTITY
users.firstname -> stg_users.full_name TRANSFORMATION
users.lastname -> stg_users.full_name TRANSFORMATION
users.city -> stg_users.city IDENTITY
users.state -> stg_users.state IDENTITY
users.email -> stg_users.email IDENTITY
sales.salesid -> stg_sales.salesid IDENTITY
sales.listid -> stg_sales.listid IDENTITY
sales.sellerid -> stg_sales.sellerid IDENTITY
sales.buyerid -> stg_sales.buyerid IDENTITY
sales.eventid -> stg_sales.eventid IDENTITY
sales.dateid -> stg_sales.dateid IDENTITY
sales.qtysold -> stg_sales.qtysold IDENTITY
sales.pricepaid -> stg_sales.pricepaid IDENTITY
sales.commission -> stg_sales.commission IDENTITY
sales.saletime -> stg_sales.saletime IDENTITY
event.eventid -> stg_event.eventid IDENTITY
event.eventname -> stg_event.eventname IDENTITY
dates.dateid -> stg_date.date_id IDENTITY
dates.caldate -> stg_date.cal_date IDENTITY
dates.qtr -> stg_date.qtr IDENTITY
dates.year -> stg_date.year IDENTITY
"""
# Of `select * from event`, only a catalog knows these.
EVENT_BY_CATALOG = """
event.venueid -> stg_event.venueid IDENTITY
event.catid -> stg_event.catid IDENTITY
event.dateid -> stg_event.dateid IDENTITY
event.starttime -> stg_event.starttime IDENTITY
"""
# int_sales_enriched is ephemeral: what reads it reads stg_sales, stg_event and stg_date.
MARTS = """
stg_sales.salesid -> fct_sales.salesid IDENTITY
stg_sales.eventid -> fct_sales.eventid IDENTITY
stg_sales.buyerid -> fct_sales.buyerid IDENTITY
stg_sales.sellerid -> fct_sales.sellerid IDENTITY
stg_sales.qtysold -> fct_sales.qtysold IDENTITY
stg_sales.pricepaid -> fct_sales.pricepaid IDENTITY
stg_sales.commission -> fct_sales.commission IDENTITY
stg_sales.pricepaid -> fct_sales.net_amount TRANSFORMATION
stg_sales.commission -> fct_sales.net_amount TRANSFORMATION
stg_date.cal_date -> fct_sales.cal_date IDENTITY
stg_sales.saletime -> fct_sales.saletime IDENTITY
stg_users.userid -> people.person_id IDENTITY
stg_users.full_name -> people.full_name IDENTITY
fct_sales.pricepaid -> people.amount AGGREGATION
fct_sales.net_amount -> people.amount AGGREGATION
stg_sales.eventid -> top_events_by_sales.eventid IDENTITY
stg_event.eventname -> top_events_by_sales.eventname IDENTITY
stg_sales.pricepaid -> top_events_by_sales.total_sales AGGREGATION
stg_sales.qtysold -> top_events_by_sales.total_qty AGGREGATION
stg_sales.pricepaid -> top_events_by_sales.rnk WINDOW
category_map.category_group -> top_events_by_sales.category_group IDENTITY
stg_users.userid -> users_snapshot.userid IDENTITY
stg_users.username -> users_snapshot.username IDENTITY
stg_users.full_name -> users_snapshot.full_name IDENTITY
stg_users.city -> users_snapshot.city IDENTITY
stg_users.state -> users_snapshot.state IDENTITY
stg_users.email -> users_snapshot.email IDENTITY
"""
INFLUENCES = """
stg_sales.eventid -> fct_sales JOIN
stg_event.eventid -> fct_sales JOIN
stg_sales.dateid -> fct_sales JOIN
stg_date.date_id -> fct_sales JOIN
stg_users.userid -> people GROUP_BY,JOIN
fct_sales.buyerid -> people JOIN
fct_sales.sellerid -> people JOIN
stg_users.full_name -> people GROUP_BY
stg_sales.eventid -> top_events_by_sales GROUP_BY,JOIN
stg_event.eventid -> top_events_by_sales JOIN
stg_sales.dateid -> top_events_by_sales JOIN
stg_date.date_id -> top_events_by_sales JOIN
stg_event.eventname -> top_events_by_sales GROUP_BY,JOIN
category_map.eventname -> top_events_by_sales JOIN
stg_sales.pricepaid -> top_events_by_sales FILTER
"""
# The incremental model was compiled for a second run here.
INCREMENTAL = "stg_sales.saletime -> fct_sales FILTER"


def read(folder: str, *, with_catalog: bool) -> Lineage:
    manifest, rejected = read_manifest(
        folder, (DATA / folder / "manifest.json").read_text(encoding="utf-8"), with_columns=True
    )
    assert rejected == []
    if not with_catalog:
        return column_lineage(manifest)
    catalog, rejected = read_catalog(folder, (DATA / folder / "catalog.json").read_text(encoding="utf-8"))
    assert rejected == []
    return column_lineage(manifest, catalog.tables)


def short(unique_id: str) -> str:
    return unique_id.split(".")[-1]


def flows(lineage: Lineage) -> list[str]:
    return sorted(
        f"{short(flow.source)}.{flow.column} -> {short(target)}.{flow.target_column} "
        f"{kinds(flow.transformations)}"
        for target, found in lineage.items()
        for flow in found.flows
    )


def influences(lineage: Lineage) -> list[str]:
    return sorted(
        f"{short(influence.source)}.{influence.column} -> {short(target)} {','.join(influence.kinds)}"
        for target, found in lineage.items()
        for influence in found.influences
    )


def lines(*texts: str) -> list[str]:
    return sorted(line for text in texts for line in text.splitlines() if line)


@pytest.mark.parametrize("folder", ["duckdb_v12", "duckdb_v9"])
def test_with_a_catalog_every_column_is_found(folder: str) -> None:
    lineage = read(folder, with_catalog=True)
    assert flows(lineage) == lines(STAGING, EVENT_BY_CATALOG, MARTS)
    assert influences(lineage) == lines(INFLUENCES, INCREMENTAL)
    assert problems(lineage) == []


def test_without_a_catalog_only_what_the_sql_names_is_found() -> None:
    lineage = read("redshift_v12", with_catalog=False)
    assert flows(lineage) == lines(STAGING, MARTS)
    assert influences(lineage) == lines(INFLUENCES)
    assert problems(lineage) == []
    # The order of the source's columns is unknown, and so are its others.
    event = lineage["model.tickit.stg_event"].columns
    assert {(column.name, column.position) for column in event} == {("eventid", None), ("eventname", None)}


def test_expressions_go_down_to_the_first_step_that_is_more_than_a_rename() -> None:
    lineage = read("redshift_v12", with_catalog=False)
    texts = {
        f"{short(flow.source)}.{flow.column} -> {short(target)}.{flow.target_column}": flow.expression
        for target, found in lineage.items()
        for flow in found.flows
    }
    assert texts["stg_sales.pricepaid -> top_events_by_sales.total_sales"] == "sum(pricepaid)"
    assert (
        texts["stg_sales.pricepaid -> top_events_by_sales.rnk"]
        == "row_number() OVER (ORDER BY sum(pricepaid) DESC)"
    )
    assert texts["stg_sales.commission -> fct_sales.net_amount"] == "pricepaid - commission"
    assert texts["dates.caldate -> stg_date.cal_date"] == ""
    assert texts["fct_sales.net_amount -> people.amount"] == "sum(net_amount)"


def test_a_catalog_gives_types_and_order() -> None:
    columns = read("duckdb_v12", with_catalog=True)["model.tickit.people"].columns
    assert [(column.name, column.data_type, column.position) for column in columns] == [
        ("person_id", "BIGINT", 0),
        ("full_name", "VARCHAR", 1),
        ("role", "VARCHAR", 2),
        ("amount", "DECIMAL(38,2)", 3),
    ]


def test_a_snapshot_has_the_columns_that_dbt_adds_without_a_source() -> None:
    lineage = read("redshift_v12", with_catalog=False)
    names = [column.name for column in lineage["snapshot.tickit.users_snapshot"].columns]
    assert names[-4:] == ["dbt_scd_id", "dbt_updated_at", "dbt_valid_from", "dbt_valid_to"]
    assert not [line for line in flows(lineage) if "users_snapshot.dbt_" in line]

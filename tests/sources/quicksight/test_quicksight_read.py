"""Definitions in folders and bundles, broken ones, and the graph with what other sources know."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.config import Config
from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.infra.engine.rows import Engine
from lineage_merge.infra.storage import StoredFile
from lineage_merge.merge.dataset_resolver import from_config
from lineage_merge.merge.near_misses.collection import find_near_misses
from lineage_merge.model.elements import Dataset
from lineage_merge.model.errors import ConfigError, SourceMissing
from lineage_merge.orchestration import read_sources
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.orchestration.read_sources import LocalMerge
from lineage_merge.sources.quicksight.discovery import QuickSightDiscovery
from lineage_merge.sources.quicksight.doctor import CHECKS
from lineage_merge.sources.quicksight.documents import parse_time
from lineage_merge.sources.quicksight.reader import read_quicksight
from lineage_merge.sources.quicksight.settings import QuickSight
from tests.record_reading import comparable, problems_of, records_of
from tests.s3_fixtures import S3
from tests.sources.quicksight.made_definitions import (
    REDSHIFT,
    WAREHOUSE,
    Document,
    category_filter,
    created,
    dashboard,
    data_set,
    dimension,
    edges_to,
    filters,
    logical,
    manifest,
    measure,
    physical,
    plain_data_set,
    read,
    sheet,
    table,
    visual,
    write,
)

BOARD = "dashboard/sales_board"
SALES = data_set(
    "sales",
    {"Table-1": table("sales", "region", "amount")},
    {"Logical-1": logical(physical("Table-1"), created(net="amount * 0.8"))},
)
SHOWN = dashboard(sheet("s", visual("v", dimension("region"), measure("net"), title="Sales by region")))


def in_lower_camel_case(value: Any, *, has_ids: bool = False) -> Any:
    """A document with the keys of an asset bundle."""
    if isinstance(value, list):
        return [in_lower_camel_case(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        key if has_ids else key[:1].lower() + key[1:]: in_lower_camel_case(each, has_ids=key.endswith("Map"))
        for key, each in value.items()
    }


def bundle(folder: Path) -> Path:
    members = {
        "dashboard/sales_board.json": {"resourceType": "dashboard", **in_lower_camel_case(SHOWN)},
        "dataset/sales.json": {"resourceType": "dataset", **in_lower_camel_case(SALES["DataSet"])},
        "datasource/warehouse.json": {
            "resourceType": "datasource",
            **in_lower_camel_case(WAREHOUSE["DataSource"]),
        },
    }
    for member in members.values():
        member.pop("arn", None)
    file = folder / "assets.zip"
    with zipfile.ZipFile(file, "w") as archive:
        for name, member in members.items():
            archive.writestr(name, json.dumps(member))
        archive.writestr("readme.txt", "no definition")
    return file


def test_an_asset_bundle_has_what_the_api_returns(tmp_path: Path) -> None:
    folder = write(tmp_path / "api", warehouse=WAREHOUSE, sales=SALES, board=SHOWN)
    assert comparable(read(bundle(tmp_path))) == comparable(read(folder))


def test_folders_may_be_nested_and_files_may_have_any_name(tmp_path: Path) -> None:
    write(tmp_path / "board", dashboard=SHOWN)
    write(tmp_path / "board" / "data_sets", one=SALES)
    write(tmp_path / "board" / "sources", two=WAREHOUSE)
    assert {edge[0] for edge in edges_to("dataset/sales", read(tmp_path))} == {
        "dev.public.sales#region",
        "dev.public.sales#amount",
    }


def test_a_folder_in_s3_is_read(tmp_path: Path, s3: S3) -> None:
    s3.client.create_bucket(Bucket="boards")
    for name, document in {"d": SHOWN, "s": SALES, "w": WAREHOUSE}.items():
        s3.client.put_object(Bucket="boards", Key=f"out/{name}.json", Body=json.dumps(document).encode())
    assert ("dataset/sales#region", "v/f.region", "IDENTITY") in edges_to(BOARD, read("s3://boards/out"))


def test_a_broken_document_is_rejected_and_the_others_are_read(tmp_path: Path) -> None:
    write(tmp_path, warehouse=WAREHOUSE, sales=SALES, board=SHOWN, other={"a": 1})
    (tmp_path / "cut.json").write_text('{"DashboardId": "x"')
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\xfa")
    (tmp_path / "bad.zip").write_bytes(b"PK\x03\x04 no archive")
    (tmp_path / "wrong.json").write_text(json.dumps({"DashboardId": "x", "Definition": {"Sheets": "none"}}))
    (tmp_path / "notes.txt").write_text("not read")

    records = read(tmp_path)

    assert edges_to(BOARD, records)
    assert {(kind, Path(document).name, field) for kind, document, field, _ in problems_of(records)} == {
        ("rejected", "cut.json", ""),
        ("rejected", "bytes.json", ""),
        ("rejected", "bad.zip", ""),
        ("rejected", "wrong.json", "Definition.Sheets"),
        ("skipped", "other.json", ""),
    }


@pytest.mark.parametrize(
    "damage",
    [
        {"Sheets": [{"SheetId": 1, "Visuals": "x"}]},
        {"Sheets": [{"Visuals": [7, {"BarChartVisual": []}, {"BarChartVisual": {"VisualId": {}}}]}]},
        {"CalculatedFields": [{}, {"Name": 1, "Expression": {}}]},
        {
            "FilterGroups": [
                {"Filters": {}, "ScopeConfiguration": []},
                {"ScopeConfiguration": {"SelectedSheets": 1}},
            ]
        },
        {
            "ParameterDeclarations": [
                {"StringParameterDeclaration": 5},
                {"x": {"DefaultValues": {"DynamicValue": [1]}}},
            ]
        },
        {"DataSetIdentifierDeclarations": [{"Identifier": 5, "DataSetArn": "no"}, {}]},
    ],
)
def test_malformed_parts_do_not_stop_the_others(tmp_path: Path, damage: Document) -> None:
    found = dashboard(sheet("s", visual("v", dimension("region"))), identifier="damaged", **damage)
    records = read(write(tmp_path, warehouse=WAREHOUSE, sales=SALES, board=SHOWN, damaged=found))
    assert ("dataset/sales#region", "v/f.region", "IDENTITY") in edges_to(BOARD, records)


def test_a_folder_without_definitions_is_an_error_before_anything_is_read(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing")
    with pytest.raises(SourceMissing, match="JSON files or an asset bundle not found"):
        read(tmp_path)


@pytest.mark.parametrize("entry", [{}, {"definitions": "boards", "region": "eu-west-1"}])
def test_an_entry_has_files_or_a_region(entry: Document) -> None:
    with pytest.raises(ConfigError, match="give either definitions or region"):
        CONFIGURATION.parse({"dag_name": "d", "environment": "dev", "quicksight": [entry]})


def test_secrets_in_definitions_reach_no_record(tmp_path: Path) -> None:
    secret = "hunter2secret"
    source = json.loads(json.dumps(WAREHOUSE))
    source["DataSource"]["DataSourceParameters"]["RedshiftParameters"]["Password"] = secret
    board = dashboard(
        sheet("s", visual("v", dimension("Link"), title=f"postgres://u:{secret}@db/x")),
        calculated={"Link": f"concat('https://u:{secret}@host/', region)"},
    )
    assert secret not in repr(read(write(tmp_path, warehouse=source, sales=SALES, board=board)))


def test_every_engine_reads_the_same(tmp_path: Path, engine: Engine) -> None:
    write(tmp_path, warehouse=WAREHOUSE, sales=SALES, board=SHOWN)
    entry = {"definitions": str(tmp_path)}
    config = CONFIGURATION.parse({"dag_name": "d", "environment": "dev", "quicksight": [entry]})
    read_by = [
        read_quicksight(each, config, from_config(config)).collect() for each in (engine, LocalEngine())
    ]
    assert comparable(read_by[0]) == comparable(read_by[1])


# Beside dbt


def merge_beside_dbt(folder: Path, url: str) -> list[Any]:
    return beside_dbt(folder, url, "board").elements.collect()


def beside_dbt(folder: Path, url: str, name: str, **boards: Document) -> LocalMerge:
    definitions = write(folder / "boards", warehouse=WAREHOUSE, sales=SALES, board=SHOWN, **boards)
    project = manifest(folder, url, "targets", exposure_name=name)
    return read_sources.merge(made_config(definitions, project))


def made_config(definitions: Path, project: Path) -> Config:
    return CONFIGURATION.parse(
        {
            "dag_name": "d",
            "environment": "dev",
            "quicksight": [{"definitions": str(definitions)}],
            "dbt": [{"manifest": str(project), "namespace": REDSHIFT}],
        }
    )


@pytest.mark.parametrize(
    "address",
    [
        "https://eu-west-1.quicksight.aws.amazon.com/sn/dashboards/sales_board",
        "https://EU-WEST-1.quicksight.aws.amazon.com/sn/account/acme/dashboards/sales_board/sheets/s?x=1#y",
    ],
)
def test_a_chart_of_a_redshift_table_leads_to_the_dbt_model_and_the_exposure_is_the_dashboard(
    tmp_path: Path, address: str
) -> None:
    rows = merge_beside_dbt(tmp_path, address)

    (board,) = [row for row in rows if row["label"] == "exposure"]
    assert board["id"].endswith(BOARD)
    assert (board["name"], board["maturity"], board["owners"]) == ("Sales", "high", ["ann@example.com"])
    assert board["aliases"] == ["dbt://shop|board (dashboard-url)"]
    fed = {
        (row["from"].rpartition("|")[2], row["to"].rpartition("|")[2])
        for row in rows
        if row["label"] == "feeds"
    }
    # The model that dbt declares reaches the dashboard through its data set; of the other one only dbt knows.
    assert fed == {
        ("dev.public.sales", "dataset/sales"),
        ("dataset/sales", BOARD),
        ("dev.public.targets", BOARD),
    }
    (table_row,) = [row for row in rows if row["id"].endswith("dev.public.sales")]
    assert table_row["label"] == "table"


def test_an_exposure_with_another_url_stays_a_vertex_of_its_own(tmp_path: Path) -> None:
    rows = merge_beside_dbt(tmp_path, "https://eu-west-1.quicksight.aws.amazon.com/sn/dashboards/other")
    assert exposures_of(rows) == {"board", BOARD}


def exposures_of(rows: list[Any]) -> set[str]:
    return {row["id"].rpartition("|")[2] for row in rows if row["label"] == "exposure"}


def near_misses(merged: LocalMerge) -> list[tuple[str, str, tuple[str, ...]]]:
    config = made_config(Path("boards"), Path("manifest.json"))
    return [
        (miss.read.rpartition("|")[2], miss.written.rpartition("|")[2], miss.evidence)
        for miss in find_near_misses(merged.elements, config).found
        if not miss.fix
    ]


def test_an_exposure_without_a_url_is_the_only_dashboard_of_its_name(tmp_path: Path) -> None:
    merged = beside_dbt(tmp_path, "", "SALES_")
    (board,) = [row for row in merged.elements.collect() if row["label"] == "exposure"]
    assert board["aliases"] == ["dbt://shop|SALES_ (dashboard-name)"]
    assert near_misses(merged) == []


def test_an_exposure_of_another_url_is_a_near_miss_of_the_dashboard_of_its_name(tmp_path: Path) -> None:
    merged = beside_dbt(tmp_path, "https://tableau.example.com/views/sales", "sales")
    assert exposures_of(merged.elements.collect()) == {"sales", BOARD}
    url = "https://eu-west-1.quicksight.aws.amazon.com/sn/dashboards/sales_board"
    advice = f"the exposure has another url in dbt: the dashboard's is {url}"
    assert near_misses(merged) == [("sales", BOARD, ("dashboards of one name: Sales", advice))]


def test_an_exposure_is_a_near_miss_of_each_of_several_dashboards_of_its_name(tmp_path: Path) -> None:
    merged = beside_dbt(tmp_path, "", "sales", other=dashboard(sheet("s", visual("v")), identifier="other"))
    assert exposures_of(merged.elements.collect()) == {"sales", BOARD, "dashboard/other"}
    assert [(read, written) for read, written, _ in near_misses(merged)] == [
        ("sales", "dashboard/other"),
        ("sales", BOARD),
    ]


def test_a_visual_is_named_by_its_title_in_the_graph(tmp_path: Path) -> None:
    rows = merge_beside_dbt(tmp_path, "")
    names = {
        row["id"].rpartition("|")[2]: row["name"]
        for row in rows
        if row.get("visual_id") or row.get("field_id")
    }
    assert names == {"v": "Sales by region", "f.region": "region", "m.net": "net"}


def test_what_the_folder_does_not_know_is_not_asked_for(tmp_path: Path) -> None:
    board = dashboard(
        sheet("s", visual("v")), data_sets=("sales",), FilterGroups=[filters(category_filter("x"))]
    )
    board["Definition"]["DataSetIdentifierDeclarations"] = []
    records = read(write(tmp_path, board=board))
    assert {problem[0::3] for problem in problems_of(records)} == {
        ("skipped", "names no account: it uses no data set, and nothing beside it has an ARN")
    }
    assert not records_of(Dataset, records)


def test_plain_data_sets_need_no_dashboard(tmp_path: Path) -> None:
    assert edges_to("dataset/x", read(write(tmp_path, w=WAREHOUSE, x=plain_data_set("x", "id"))))


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("2026-11-01T06:00:00Z", 1_793_512_800_000),
        ("2026-11-01T07:00:00+01:00", 1_793_512_800_000),
        (1793512800, 1_793_512_800_000),
        (1793512800.25, 1_793_512_800_250),
        (float("nan"), 0),
        (float("inf"), 0),
        (10**400, 0),
        ("soon", 0),
        (None, 0),
    ],
)
def test_times_are_text_or_seconds(written: object, expected: int) -> None:
    assert parse_time(written) == expected


def test_init_finds_the_folders_of_dashboards(tmp_path: Path) -> None:
    write(tmp_path / "boards" / "one", dashboard=SHOWN)
    write(tmp_path / "boards" / "one" / "data_sets", sales=SALES)
    write(tmp_path / "other", package={"name": "x"})
    files = [StoredFile(str(file), file.stat().st_size) for file in sorted(tmp_path.rglob("*.json"))]
    discovery = QuickSightDiscovery()

    found = discovery.search(files, files).input
    assert found is not None
    assert found.locations == (str(tmp_path / "boards" / "one"),)
    assert discovery.settings(found, tmp_path) == [{"definitions": "boards/one"}]
    assert {Path(location).name for location in discovery.own_files(files)} == {
        "dashboard.json",
        "sales.json",
    }


@pytest.mark.parametrize(
    ("documents", "state"),
    [
        ({"board": SHOWN, "sales": SALES}, "ok"),
        ({"sales": SALES}, "warning"),
        ({"board": {"DashboardId": "x", "Definition": 5}}, "warning"),
        ({}, "failed"),
    ],
)
def test_doctor_examines_the_files(tmp_path: Path, documents: dict[str, Document], state: str) -> None:
    (check,) = CHECKS
    (found,) = check.examine((QuickSight(definitions=str(write(tmp_path, **documents))),))
    assert found.state == state
    assert bool(found.fix) == (state != "ok")


def test_a_folder_may_have_assets_of_several_accounts(tmp_path: Path) -> None:
    other = json.loads(json.dumps(SHOWN).replace("eu-west-1", "us-east-1"))
    records = read(write(tmp_path, warehouse=WAREHOUSE, sales=SALES, board=SHOWN, other=other))
    assert {row.ref for row in records_of(Dataset, records) if row.label == "exposure"} == {
        "dev|arn:aws:quicksight:eu-west-1:111122223333|dashboard/sales_board",
        "dev|arn:aws:quicksight:us-east-1:111122223333|dashboard/sales_board",
    }

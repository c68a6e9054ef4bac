"""Glue's catalog over its real API, and its effect on graphs that use its tables."""

import os
import socket
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import boto3
import pytest

from lineage_merge.infra.engine.rows import Engine
from lineage_merge.merge.dataset_resolver import from_config
from lineage_merge.model.elements import Column, Count, Dataset, Problem
from lineage_merge.model.errors import SourceDenied, SourceError, SourceMissing, SourceUnreachable
from lineage_merge.orchestration import read_sources
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources.glue import client, reader
from lineage_merge.sources.glue.client import LfTags
from lineage_merge.sources.glue.reader import database_entries, read_glue
from lineage_merge.sources.glue.settings import GlueCatalog
from tests.record_reading import problems_of, records_of
from tests.s3_fixtures import S3
from tests.spline_documents import Read, SplineDatabase

EAST = GlueCatalog("us-east-1")
# The account that moto plays.
ARN = "arn:aws:glue:us-east-1:123456789012"
ATHENA = "awsathena://athena.us-east-1.amazonaws.com"


class Glue:
    """A catalog of tables, empty at the start of a test."""

    def __init__(self) -> None:
        self._client: Any = boto3.client("glue")

    def database(self, name: str) -> None:
        self._client.create_database(DatabaseInput={"Name": name})

    def table(
        self, database: str, name: str, location: str = "", *columns: tuple[str, str], **more: Any
    ) -> None:
        listed = [{"Name": column, "Type": kind} for column, kind in columns]
        storage = {"Location": location, "Columns": listed}
        table = {"Name": name, "TableType": "EXTERNAL_TABLE", "StorageDescriptor": storage, **more}
        self._client.create_table(DatabaseName=database, TableInput=table)

    def close(self) -> None:
        self._client.close()


@pytest.fixture
def glue(s3: S3) -> Iterator[Glue]:
    """Glue's API, on the server that is S3 too."""
    catalog = Glue()
    yield catalog
    catalog.close()


def test_databases_are_chosen_by_globs_without_case(glue: Glue) -> None:
    for name in ("tickit_raw", "tickit_mart", "finance"):
        glue.database(name)

    assert client.database_names(EAST) == ["finance", "tickit_mart", "tickit_raw"]
    assert client.database_names(GlueCatalog("us-east-1", databases=("Tickit_*",))) == [
        "tickit_mart",
        "tickit_raw",
    ]
    assert client.database_names(GlueCatalog("us-east-1", databases=("nothing_*",))) == []


def test_a_missing_database_is_one_clear_line(glue: Glue) -> None:
    with pytest.raises(SourceMissing) as raised:
        list(client.tables(EAST, "missing"))
    assert raised.value.message == "Glue catalog in us-east-1, database missing: not found"


def test_wrong_credentials_are_one_clear_line(glue: Glue, s3: S3) -> None:
    s3.refuse_strangers()

    with pytest.raises(SourceDenied) as raised:
        client.database_names(GlueCatalog("us-east-1", "111122223333"))
    assert raised.value.message.startswith("Glue catalog 111122223333 in us-east-1: access denied by Glue")


def test_no_answer_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        monkeypatch.setenv("AWS_ENDPOINT_URL_GLUE", f"http://127.0.0.1:{port}")

        with pytest.raises(SourceUnreachable, match="no connection to Glue"):
            client.database_names(EAST)


@pytest.mark.parametrize(
    ("variable", "value", "kind"),
    [
        ("AWS_ENDPOINT_URL_GLUE", "not an address", SourceUnreachable),
        ("AWS_PROFILE", "unknown", SourceDenied),
    ],
)
def test_wrong_settings_of_aws_are_one_clear_line(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, kind: type[SourceError]
) -> None:
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
    monkeypatch.setenv(variable, value)

    with pytest.raises(kind) as raised:
        client.database_names(EAST)
    assert "\n" not in raised.value.message


def test_each_table_of_each_wanted_database_is_described(engine: Engine, glue: Glue) -> None:
    for database in ("tickit", "mart", "finance"):
        glue.database(database)
        glue.table(database, "sales", f"s3://lake/{database}/sales", ("id", "bigint"))
    catalogs = [
        {"region": "us-east-1", "databases": ["tick*", "mart"]},
        {"region": "us-east-1", "databases": ["nothing_*"]},
    ]
    given = {"dag_name": "d", "environment": "dev", "glue": catalogs}
    parsed = CONFIGURATION.parse(given, needs_source=False)

    found = read_glue(engine, parsed, from_config(parsed)).collect()

    prefix = "Glue catalog in us-east-1"
    assert {entry.key for entry in found} == {f"{prefix}|tickit|sales", f"{prefix}|mart|sales", None}
    columns = [
        (entry.key, record.ref, record.name)
        for entry in found
        for record in records_of(Column, entry.records)
    ]
    assert sorted(columns, key=str) == [
        (f"{prefix}|{database}|sales", f"dev|s3://lake|{database}/sales", "id")
        for database in ("mart", "tickit")
    ]
    whole = [record for entry in found if entry.key is None for record in entry.records]
    assert records_of(Count, whole) == [Count("Glue tables", 1)] * 2
    (problem,) = records_of(Problem, whole)
    assert (problem.kind, problem.message) == (
        "notice",
        "no database matches nothing_*; found: finance, mart, tickit",
    )
    assert len(whole) == 3


def built(spline: SplineDatabase, folder: Path, **glue: Any) -> read_sources.LocalMerge:
    settings: dict[str, Any] = {
        "dag_name": "daily",
        "environment": "dev",
        "spline": {"export": str(spline.write(folder / "spline"))},
    }
    if glue:
        settings["glue"] = [{"region": "us-east-1", **glue}]
    return read_sources.merge(CONFIGURATION.parse(settings))


def flows(found: read_sources.LocalMerge) -> set[tuple[str, str]]:
    rows = [row for row in found.elements.collect() if row["label"] == "feeds"]
    return {(row["from"].partition("|")[2], row["to"].partition("|")[2]) for row in rows}


def datasets(found: read_sources.LocalMerge) -> dict[str, dict[str, Any]]:
    """What each vertex of a dataset has, by id without the environment."""
    rows = [
        row for row in found.elements.collect() if "from" not in row and row["label"] not in ("job", "column")
    ]
    return {row["id"].partition("|")[2]: row for row in rows}


def columns(found: read_sources.LocalMerge, dataset: str) -> set[tuple[str, str | None]]:
    rows = [row for row in found.elements.collect() if row["label"] == "column"]
    return {
        (row["name"], row.get("data_type"))
        for row in rows
        if row["id"].rpartition("|")[0].partition("|")[2] == dataset
    }


BY_NAME = "Filter (a#1 > 0)\n+- Relation spark_catalog.tickit.sales[id#1L] parquet\n"
BY_ATHENA = "jdbc:awsathena://AwsRegion=us-east-1;Catalog=AwsDataCatalog;Schema=tickit:sales"


def test_a_table_known_by_path_and_by_name_is_one_vertex(glue: Glue, tmp_path: Path) -> None:
    glue.database("tickit")
    glue.table(
        "tickit",
        "sales",
        "s3://tickit-lake/sales_v2/",
        ("id", "bigint"),
        ("pricepaid", "decimal(8,2)"),
        PartitionKeys=[{"Name": "saledate", "Type": "date"}],
        Description="one row a sale",
        Parameters={"classification": "parquet"},
    )
    glue.table("tickit", "never_touched", "s3://tickit-lake/never", ("id", "bigint"))
    spline = SplineDatabase()
    spline.plan(
        "ingest", reads=["s3://raw/sales"], writes="s3a://tickit-lake/sales_v2/saledate=2026-01-01", at=1
    )
    spline.plan("by_name", reads=["s3://raw/other"], writes="s3://out/a", subqueries=[BY_NAME], at=2)
    spline.plan("by_athena", reads=[Read([BY_ATHENA], "jdbc")], writes="s3://out/b", at=3)

    without = flows(built(spline, tmp_path / "1"))
    found = built(spline, tmp_path / "2", databases=["tick*"])

    table = "s3://tickit-lake|sales_v2"
    assert without == {
        ("s3://raw|sales", table),
        ("s3://raw|other", "s3://out|a"),
        ("spark_catalog|tickit.sales", "s3://out|a"),
        (f"{ATHENA}|awsdatacatalog.tickit.sales", "s3://out|b"),
    }
    assert flows(found) == {
        ("s3://raw|sales", table),
        ("s3://raw|other", "s3://out|a"),
        (table, "s3://out|a"),
        (table, "s3://out|b"),
    }
    vertices = datasets(found)
    assert set(vertices) == {table, "s3://raw|sales", "s3://raw|other", "s3://out|a", "s3://out|b"}
    properties = ("label", "name", "namespace", "qualified_name", "location", "format", "description")
    assert [vertices[table][name] for name in properties] == [
        "table",
        "sales",
        "s3://tickit-lake",
        "tickit.sales",
        "s3://tickit-lake/sales_v2",
        "parquet",
        "one row a sale",
    ]
    assert vertices[table]["aliases"] == [
        f"{ARN}|table/tickit/sales (glue-catalog)",
        f"{ATHENA}|awsdatacatalog.tickit.sales (glue-catalog)",
        "spark_catalog|tickit.sales (glue-catalog)",
    ]
    assert columns(found, table) == {("id", "bigint"), ("pricepaid", "decimal(8,2)"), ("saledate", "date")}
    assert found.report.read["Glue tables"] == 2
    assert found.report.select_kind("not-joined") == []


def test_an_iceberg_table_in_a_catalog_of_its_own_name_is_its_path(glue: Glue, tmp_path: Path) -> None:
    glue.database("shop")
    path = "s3://lake/wh/shop.db/orders"
    glue.table("shop", "orders", path, ("id", "bigint"), Parameters={"table_type": "ICEBERG"})
    spline = SplineDatabase()
    v2 = {"identifier": "glue_catalog.shop.orders"}
    spline.plan(
        "load", reads=["s3://raw/orders"], writes=path, table=v2, format="iceberg", command="AppendData", at=1
    )
    text = "RelationV2[id#1L] glue_catalog.shop.orders glue_catalog.shop.orders\n"
    spline.plan("check", reads=["s3://raw/other"], writes="s3://out/a", subqueries=[text], at=2)

    found = built(spline, tmp_path, spark_catalogs=["glue_catalog"])

    table = "s3://lake|wh/shop.db/orders"
    assert flows(found) == {
        ("s3://raw|orders", table),
        ("s3://raw|other", "s3://out|a"),
        (table, "s3://out|a"),
    }
    vertex = datasets(found)[table]
    assert (vertex["label"], vertex["qualified_name"], vertex["format"]) == (
        "table",
        "shop.orders",
        "iceberg",
    )
    assert "glue_catalog|shop.orders (catalog-table)" in vertex["aliases"]
    assert "glue_catalog|shop.orders (glue-catalog)" in vertex["aliases"]


def test_a_view_and_a_table_without_path_keep_their_glue_names(glue: Glue, tmp_path: Path) -> None:
    glue.database("tickit")
    glue.table("tickit", "v_sales", "", ("id", "bigint"), TableType="VIRTUAL_VIEW")
    glue.table("tickit", "queue", "dev.public.queue", ("id", "bigint"))
    glue.table("tickit", "other_queue", "dev.public.other_queue")
    spline = SplineDatabase()
    names = [f"Relation spark_catalog.tickit.{name}[id#1L] parquet\n" for name in ("v_sales", "queue")]
    spline.plan("job", reads=["s3://raw/a"], writes="s3://out/a", subqueries=names, at=1)

    found = built(spline, tmp_path, databases=["tickit"])

    view, queue = f"{ARN}|table/tickit/v_sales", f"{ARN}|table/tickit/queue"
    assert flows(found) == {(source, "s3://out|a") for source in ("s3://raw|a", view, queue)}
    labels = {name: vertex["label"] for name, vertex in datasets(found).items()}
    assert labels == {"s3://raw|a": "file", "s3://out|a": "file", view: "view", queue: "table"}
    [problem] = found.report.select_kind("not-joined")
    assert (problem.document, problem.message) == (
        queue,
        "the table's location dev.public.queue is not a path, so the table cannot be joined by it",
    )


def test_a_name_that_two_catalogs_have_is_joined_with_neither_and_adds_nothing(
    glue: Glue, tmp_path: Path
) -> None:
    glue.database("tickit")
    glue.table("tickit", "sales", "s3://lake/sales")
    west: Any = boto3.client("glue", region_name="us-west-2")
    west.create_database(DatabaseInput={"Name": "tickit"})
    storage = {"Location": "s3://west/sales", "Columns": []}
    west.create_table(DatabaseName="tickit", TableInput={"Name": "sales", "StorageDescriptor": storage})
    west.close()
    spline = SplineDatabase()
    spline.plan("by_name", reads=["s3://raw/a"], writes="s3://out/a", subqueries=[BY_NAME], at=1)
    settings = {
        "dag_name": "daily",
        "environment": "dev",
        "spline": {"export": str(spline.write(tmp_path / "spline"))},
        "glue": [{"region": "us-east-1"}, {"region": "us-west-2"}],
    }

    found = read_sources.merge(CONFIGURATION.parse(settings))

    assert flows(found) == {("s3://raw|a", "s3://out|a"), ("spark_catalog|tickit.sales", "s3://out|a")}
    [problem] = found.report.select_kind("not-joined")
    assert problem.document == "dev|spark_catalog|tickit.sales"
    assert "dev|s3://lake|sales, dev|s3://west|sales" in problem.message


def test_globs_that_match_no_database_are_reported(glue: Glue, tmp_path: Path) -> None:
    glue.database("tickit")
    spline = SplineDatabase()
    spline.plan("job", reads=["s3://raw/a"], writes="s3://out/a", at=1)

    found = built(spline, tmp_path, databases=["tikcit*"])

    [problem] = found.report.select_kind("notice")
    message = "no database matches tikcit*; found: tickit; did you mean tickit?"
    assert (problem.document, problem.field, problem.message) == (
        "Glue catalog in us-east-1",
        "databases",
        message,
    )
    assert flows(found) == {("s3://raw|a", "s3://out|a")}


def test_a_jdbc_query_of_two_tables_is_two_flows_into_the_graph(tmp_path: Path) -> None:
    url = "jdbc:redshift://wh.abc123.us-east-1.redshift.amazonaws.com:5439/dev"
    query = "(select s.id from public.sales s join event e on s.eventid = e.eventid) q"
    spline = SplineDatabase()
    spline.plan("unload", reads=[Read([f"{url}:{query}"], "jdbc")], writes="s3://out/a", at=1)

    found = built(spline, tmp_path)

    warehouse = "redshift://wh.us-east-1:5439"
    assert flows(found) == {
        (f"{warehouse}|dev.public.sales", "s3://out|a"),
        (f"{warehouse}|dev.public.event", "s3://out|a"),
    }
    assert found.report.select_kind("not-joined") == []


def tagged(lf_tags: bool) -> set[tuple[str, str]]:
    """(dataset or column, tag) of the catalog."""
    names = from_config(
        CONFIGURATION.parse({"dag_name": "d", "environment": "dev", "glue": []}, needs_source=False)
    )
    entries = database_entries(GlueCatalog("us-east-1", lf_tags=lf_tags), "shop", names)
    return {
        (row.name if isinstance(row, Column) else row.ref.rpartition("|")[2], tag)
        for entry in entries
        for row in entry.records
        if isinstance(row, Column | Dataset)
        for tag in row.sets.get("tags", ())
    }


@pytest.fixture
def formation(glue: Glue, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Lake Formation's API, on the server that is Glue too."""
    monkeypatch.setenv("AWS_ENDPOINT_URL_LAKEFORMATION", os.environ["AWS_ENDPOINT_URL_GLUE"])
    found: Any = boto3.client("lakeformation")
    yield found
    found.close()


def test_tags_of_lake_formation_are_read_on_request(glue: Glue, formation: Any) -> None:
    glue.database("shop")
    glue.table("shop", "customers", "s3://lake/customers", ("email", "string"))
    formation.create_lf_tag(TagKey="pii", TagValues=["true", "false"])
    of_table = {"DatabaseName": "shop", "Name": "customers"}
    formation.add_lf_tags_to_resource(
        Resource={"Table": of_table}, LFTags=[{"TagKey": "pii", "TagValues": ["true"]}]
    )
    assert tagged(lf_tags=False) == set()
    assert tagged(lf_tags=True) == {("customers", "pii")}


def test_without_permission_for_tags_the_catalog_is_read_and_a_notice_says_so(
    glue: Glue, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(_database: str, _table: str) -> LfTags:
        raise SourceDenied("Lake Formation tags of x: access denied (AccessDeniedException)")

    glue.database("shop")
    glue.table("shop", "customers", "s3://lake/customers", ("email", "string"))
    glue.table("shop", "orders", "s3://lake/orders", ("id", "bigint"))
    monkeypatch.setattr(reader, "open_tags", lambda _catalog: nullcontext(denied))
    names = from_config(
        CONFIGURATION.parse({"dag_name": "d", "environment": "dev", "glue": []}, needs_source=False)
    )
    entries = database_entries(GlueCatalog("us-east-1", lf_tags=True), "shop", names)
    rows = [row for entry in entries for row in entry.records]
    assert {(kind, field, message) for kind, _, field, message in problems_of(rows)} == {
        ("notice", "lf_tags", "Lake Formation tags of x: access denied (AccessDeniedException)")
    }
    assert {row.name for row in records_of(Column, rows)} == {"email", "id"}

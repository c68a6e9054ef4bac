"""One table of a lakehouse is one vertex, whichever client names it, and however it is read."""

from collections.abc import Iterable
from typing import Any

import pytest
import yaml

from lineage_merge import naming
from lineage_merge.config import Config
from lineage_merge.graph_format.schema import DATASET_LABELS, Row
from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.merge import join
from lineage_merge.merge.dataset_resolver import DatasetResolver, from_config
from lineage_merge.merge.near_misses.collection import find_near_misses
from lineage_merge.merge.report import NearMiss
from lineage_merge.model.elements import Element
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources.openlineage import translator as openlineage
from lineage_merge.sources.openlineage.runs import combine_events
from lineage_merge.sources.spline.database_state import EVERYTHING
from lineage_merge.sources.spline.documents import assemble
from lineage_merge.sources.spline.translator import translate
from tests.sources.openlineage.made_events import SPARK, Event, dataset, event, job_type, of_spark
from tests.sources.sql.sql_reading import lineage_of
from tests.spline_documents import Read, SplineDatabase

LOCATION = "s3://lake/wh/db/orders"
ORDERS = "dev|s3://lake|wh/db/orders"
# Each table of S3 Tables has a bucket of its own.
BUCKET = "s3://63a8e430-6e0b-46f5-k833abtwr6s8tmtsycedn8s4yc3xhuse1b--table-s3"
S3_TABLES = "arn:aws:s3tables:eu-west-1:111122223333:bucket/lake"
OTHERS = {"dev|s3://out|copy", "dev|s3://in|raw", "dev|spark_catalog|out.copy", "dev|lake|out.copy"}


def rows(*sources: Iterable[Element], resolver: DatasetResolver | None = None) -> list[Row]:
    """The vertices of datasets that a merge of these sources gives, besides the other side of each job."""
    resolver = resolver or from_config(Config("d", "dev"))
    records = [record for elements in sources for record in resolver.records(elements)]
    nodes = join.merge_locally(records, "dev", "d").nodes
    return [row for row in nodes if row["label"] in DATASET_LABELS and row["id"] not in OTHERS]


def ids(*sources: Iterable[Element]) -> set[str]:
    return {row["id"] for row in rows(*sources)}


def spline_read(identifier: str, data_format: str = "iceberg", uri: str = LOCATION) -> list[Element]:
    """What a plan of Spline's agent gives that reads a table; `identifier`: as in `params.table`."""
    spline = SplineDatabase()
    key = spline.plan("reader", reads=[Read([uri], data_format)], writes="s3://out/copy", format="parquet")
    [read] = [each for each in spline.contents["operation"] if each["type"] == "Read"]
    read["params"] = {"table": {"identifier": identifier}} if identifier else {}
    return _translated(spline, key)


def spline_write(identifier: str, command: str, data_format: str = "iceberg", **params: Any) -> list[Element]:
    """What a plan of Spline's agent gives that writes a table."""
    spline = SplineDatabase()
    key = spline.plan("writer", reads=["s3://in/raw"], writes=LOCATION, format=data_format, command=command)
    [write] = [each for each in spline.contents["operation"] if each["type"] == "Write"]
    write["params"] = {"table": {"identifier": identifier}, **params}
    return _translated(spline, key)


def _translated(spline: SplineDatabase, key: str) -> list[Element]:
    plan, rejections = assemble(key, spline.contents, EVERYTHING)
    assert rejections == []
    return list(translate(plan))


def sql(relation: str, before: str = "") -> tuple[Element, ...]:
    """What a SQL file gives that reads a relation of its FROM clause."""
    found = lineage_of(f"{before} INSERT INTO out.copy (id) SELECT id FROM {relation}", "spark")
    assert found.problems == set()
    return found.elements


def sql_write(statement: str) -> tuple[Element, ...]:
    found = lineage_of(statement, "spark")
    assert found.problems == set()
    return found.elements


def table(
    name: str = "",
    catalog: str = "lake",
    address: str = "s3://lake|wh/db/orders",
    namespace: str = "s3://lake/wh",
    kind: str = "TABLE",
    layer: str = "iceberg",
) -> Event:
    """A dataset of openlineage-spark: a location, and the name of its table if it is used by name."""
    facets: dict[str, Any] = {"schema": {"fields": [{"name": "id"}]}}
    if layer:
        facets["storage"] = {"storageLayer": layer, "fileFormat": "parquet"}
    if name:
        facets["catalog"] = {"framework": "iceberg", "name": catalog, "source": "spark"}
        facets["symlinks"] = {"identifiers": [{"namespace": namespace, "name": name, "type": kind}]}
    return dataset(address, facets)


def events(*, reads: Event | None = None, writes: Event | None = None) -> list[Element]:
    """What a run of openlineage-spark gives."""
    complete = event(
        "COMPLETE",
        "06:01",
        inputs=[reads or "s3://in|raw"],
        outputs=[writes or "s3://out|copy"],
        run_facets=of_spark("job"),
        job_facets=job_type("SPARK", "SQL_JOB"),
        producer=SPARK,
    )
    run = combine_events([complete])
    return [element for key in openlineage.targets(run) for element in openlineage.translate(run, key)]


BY_NAME = spline_write("lake.db.orders", "AppendData", isByName=True)


@pytest.mark.parametrize(
    "elements",
    [
        pytest.param(spline_read("lake.db.orders"), id="spline-name"),
        pytest.param(spline_read(LOCATION), id="spline-path"),
        pytest.param(spline_read("", "parquet"), id="spline-delta-by-path"),
        pytest.param(spline_read(f"delta.`{LOCATION}`", "delta"), id="spline-delta-path-as-name"),
        pytest.param(spline_read("lake.db.orders.branch_b"), id="spline-branch"),
        pytest.param(spline_read("lake.db.orders.tag_x"), id="spline-tag"),
        pytest.param(spline_read("lake.db.orders.snapshot_id_1"), id="spline-snapshot"),
        pytest.param(spline_read("lake.db.orders.files"), id="spline-metadata"),
        pytest.param(spline_read(f"{LOCATION}#branch_b"), id="spline-branch-of-path"),
        pytest.param(
            spline_write("lake.db.orders.branch_b", "AppendData", isByName=True), id="spline-to-branch"
        ),
        pytest.param(
            spline_read("", uri=naming.table_uri("lake", "db.orders")), id="capture-table-without-location"
        ),
        pytest.param(events(reads=table("db.orders")), id="openlineage-name"),
        pytest.param(events(reads=table()), id="openlineage-path"),
        pytest.param(events(reads=table(layer="")), id="openlineage-files"),
        pytest.param(events(reads=table("db.orders.branch_b")), id="openlineage-branch"),
        pytest.param(events(reads=table("db.orders.tag_x")), id="openlineage-tag"),
        pytest.param(events(reads=table("db.orders.snapshot_id_1")), id="openlineage-snapshot"),
        pytest.param(events(writes=table("db.orders.branch_b")), id="openlineage-to-branch"),
        pytest.param(
            events(reads=table("table/db/orders", namespace="arn:aws:glue:eu-west-1:111122223333")),
            id="openlineage-glue",
        ),
        pytest.param(sql("lake.db.orders"), id="sql-name"),
        pytest.param(sql("LAKE.DB.Orders"), id="sql-name-in-other-case"),
        pytest.param(sql("orders", "USE lake.db;"), id="sql-current-database"),
        pytest.param(sql(f"iceberg.`{LOCATION}`"), id="sql-path"),
        pytest.param(sql(f"iceberg.`{LOCATION}#branch_b`"), id="sql-branch-of-path"),
        pytest.param(sql(f"delta.`{LOCATION}`"), id="sql-delta"),
        pytest.param(sql(f"delta.`{LOCATION}@v3`"), id="sql-delta-version-in-path"),
        pytest.param(sql(f"delta.`{LOCATION}@20260131120000000`"), id="sql-delta-time-in-path"),
        pytest.param(sql(f"hudi.`{LOCATION}`"), id="sql-hudi"),
        pytest.param(sql("lake.db.orders.branch_b"), id="sql-branch"),
        pytest.param(sql("lake.db.orders.tag_x"), id="sql-tag"),
        pytest.param(sql("lake.db.orders.snapshot_id_1"), id="sql-snapshot"),
        pytest.param(sql("lake.db.orders VERSION AS OF 'b'"), id="sql-version-as-of-branch"),
        pytest.param(sql("lake.db.orders VERSION AS OF 123"), id="sql-version-as-of"),
        pytest.param(sql("lake.db.orders FOR SYSTEM_VERSION AS OF 123"), id="sql-system-version"),
        pytest.param(sql("lake.db.orders TIMESTAMP AS OF '2026-01-31'"), id="sql-timestamp-as-of"),
        pytest.param(sql("lake.db.orders@v1"), id="sql-at-version"),
        pytest.param(sql("STREAM(lake.db.orders) AS o"), id="sql-stream"),
        pytest.param(sql("STREAM lake.db.orders"), id="sql-stream-without-parentheses"),
        pytest.param(
            sql_write("INSERT INTO lake.db.orders.branch_b (id) SELECT id FROM out.copy"), id="sql-to-branch"
        ),
        pytest.param(
            sql_write("UPDATE lake.db.orders.branch_b SET id = id + 1 WHERE id > 1"),
            id="sql-update-of-branch",
        ),
    ],
)
def test_a_table_is_one_vertex_however_it_is_named(elements: Iterable[Element]) -> None:
    assert ids(BY_NAME, elements) == {ORDERS}


@pytest.mark.parametrize(
    "location",
    [BUCKET, f"{BUCKET}/", f"{BUCKET}/metadata/00001-63a8e430-6e0b-46f5-b833-00000000000a.metadata.json"],
)
def test_a_table_of_s3_tables_is_its_bucket(location: str) -> None:
    def named(name: str) -> Event:
        return table(name="/", catalog="c1", address=f"{S3_TABLES}|{name}", namespace=BUCKET, kind="LOCATION")

    found = rows(
        events(writes=named("c1.sales.orders")),
        events(reads=named("c1.sales.orders.branch_b")),
        events(reads=table(address=f"{S3_TABLES}|c2.sales.orders")),
        spline_read("c1.sales.orders", uri=location),
        spline_read("c3.sales.orders", uri=location),
        sql("c1.sales.orders"),
    )

    assert [(row["id"], row["name"], row["qualified_name"], row["format"]) for row in found] == [
        (f"dev|{BUCKET}|/", "orders", "sales.orders", "iceberg")
    ]


def test_a_catalog_of_s3_tables_may_be_mapped_to_its_namespace() -> None:
    resolver = DatasetResolver("dev", from_config(Config("d", "dev")).rules, {"lake": S3_TABLES})
    found = rows(
        sql("lake.sales.orders"),
        events(reads=table(address=f"{S3_TABLES}|c2.sales.orders")),
        resolver=resolver,
    )

    assert [row["id"] for row in found] == [f"dev|{S3_TABLES}|sales.orders"]


@pytest.mark.parametrize("new", ["lake.db.orders", "db.orders", "orders"])
def test_a_renamed_table_is_found_by_its_new_name(new: str) -> None:
    script = (
        "CREATE TABLE lake.db.loading AS SELECT id FROM out.copy;"
        f" ALTER TABLE lake.db.loading RENAME TO {new};"
    )

    assert ids(BY_NAME, lineage_of(script, "spark").elements) == {ORDERS}


def test_a_table_that_was_renamed_between_two_runs_is_where_its_files_are() -> None:
    before = spline_write("lake.db.loading", "AppendData", isByName=True)

    assert ids(before, BY_NAME, sql("lake.db.loading"), sql("lake.db.orders")) == {ORDERS}


CREATED = [
    *spline_write("db.orders", "AppendData", isByName=False),
    *spline_write("db.orders", "CreateTableAsSelect", ignoreIfExists=False),
]


def test_a_created_table_is_joined_by_what_another_plan_or_event_says_of_its_path() -> None:
    assert ids(CREATED, spline_read(LOCATION), events(reads=table())) == {ORDERS}
    assert ids(CREATED, sql("lake.db.orders"), spline_read("lake.db.orders")) == {ORDERS}
    assert ids(CREATED, sql("lake.db.orders"), events(reads=table("db.orders"))) == {ORDERS}


def missed(*sources: Iterable[Element]) -> tuple[NearMiss, ...]:
    config = CONFIGURATION.parse({"environment": "dev", "dag_name": "d"}, needs_source=False)
    resolver = from_config(config)
    records = LocalEngine().rows(record for elements in sources for record in resolver.records(elements))
    return find_near_misses(join.merge(records, "dev", "d").elements, config).found


def test_a_created_table_whose_catalog_is_unknown_is_a_near_miss_of_the_name_that_is_read() -> None:
    assert ids(CREATED, sql("lake.db.orders")) == {ORDERS, "dev|lake|db.orders"}

    (miss,) = missed(CREATED, sql("lake.db.orders"))

    assert (miss.written, miss.read) == (ORDERS, "dev|lake|db.orders")
    assert miss.evidence == ("both are the table db.orders of a catalog",)
    fixed = {"environment": "dev", "dag_name": "d", **yaml.safe_load(miss.fix)}
    config = CONFIGURATION.parse(fixed, needs_source=False)
    assert [row["id"] for row in rows(CREATED, sql("lake.db.orders"), resolver=from_config(config))] == [
        "dev|lake|db.orders"
    ]


@pytest.mark.parametrize("relation", ["lake.other.orders", "lake.db.order"])
def test_another_table_is_no_near_miss_of_a_created_one(relation: str) -> None:
    assert missed(CREATED, sql(relation)) == ()


@pytest.mark.parametrize("files_first", [True, False])
@pytest.mark.parametrize("table_format", ["iceberg", "delta", "hudi", "paimon"])
def test_a_table_has_its_table_format_if_any_client_sees_it(table_format: str, files_first: bool) -> None:
    as_files = spline_write("", "InsertIntoHadoopFsRelationCommand", data_format="parquet")
    as_table = spline_read("", table_format)

    (found,) = rows(*([as_files, as_table] if files_first else [as_table, as_files]))

    assert found["format"] == table_format

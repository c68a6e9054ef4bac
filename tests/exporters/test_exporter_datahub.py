"""DataHub's proposals as its own library reads them back from a file."""

from pathlib import Path
from typing import Any

import pytest
from datahub.metadata.schema_classes import (
    DataJobInputOutputClass,
    SchemaMetadataClass,
    SubTypesClass,
    UpstreamLineageClass,
)
from datahub.metadata.urns import Urn

from lineage_merge.exporters.datahub.fields import data_type
from lineage_merge.exporters.datahub.names import Names
from lineage_merge.exporters.graph_batches import JobLineage
from lineage_merge.graph_format.elements import Vertex
from lineage_merge.model.elements import JobKey
from lineage_merge.model.errors import ConfigError
from lineage_merge.questions.backends.folder import read_folder
from lineage_merge.questions.graph import LineageGraph
from tests.exporters import tickit_in_datahub as expected
from tests.exporters.datahub_reading import Aspects, exported, of_kind
from tests.lineage_made import MadeLineage


def upstreams(aspects: Aspects) -> set[tuple[str, str]]:
    lineage: dict[str, UpstreamLineageClass] = of_kind(aspects, "upstreamLineage")
    return {(each.dataset, urn) for urn, exported in lineage.items() for each in exported.upstreams}


def columns(lineages: Any) -> set[tuple[str, str, str]]:
    return {
        (source, target, each.transformOperation or "")
        for each in lineages or ()
        for source in each.upstreams or ()
        for target in each.downstreams or ()
    }


@pytest.fixture(scope="module")
def aspects(tickit: LineageGraph, tmp_path_factory: pytest.TempPathFactory) -> Aspects:
    return exported(tickit, tmp_path_factory.mktemp("datahub"))


@pytest.mark.jvm
def test_datasets_have_datahubs_urns_and_sub_types(aspects: Aspects) -> None:
    kinds: dict[str, SubTypesClass] = of_kind(aspects, "subTypes")
    assert {urn: each.typeNames for urn, each in kinds.items()} == {
        urn: [kind] for urn, kind in expected.SUBTYPES.items()
    }
    assert set(of_kind(aspects, "datasetProperties")) == set(expected.SUBTYPES)
    assert {urn: each.removed for urn, each in of_kind(aspects, "status").items()} == dict.fromkeys(
        aspects, False
    )


@pytest.mark.jvm
def test_datasets_have_upstreams(aspects: Aspects) -> None:
    assert upstreams(aspects) == expected.UPSTREAMS


@pytest.mark.jvm
def test_columns_have_upstreams_with_expressions(aspects: Aspects) -> None:
    found = {
        each
        for urn in (expected.LAKE, expected.MART)
        for each in columns(aspects[urn]["upstreamLineage"].fineGrainedLineages)
    }
    assert found == expected.COLUMNS


@pytest.mark.jvm
def test_column_edges_are_exported_with_dataset_and_job(aspects: Aspects, tickit: LineageGraph) -> None:
    def urn(identifier: str) -> str:
        _, namespace, name, column = identifier.split("|")
        is_file = namespace.startswith("s3://")
        dataset = (
            expected.s3(f"{namespace.removeprefix('s3://')}/{name}")
            if is_file
            else expected.table(name.removeprefix("dev."))
        )
        return expected.column(dataset, spelled.get(identifier, column))

    spelled = {
        column.id: column.name
        for column in tickit.everything(labels=["column"])
        if isinstance(column, Vertex)
    }
    edges = {(urn(start), urn(end)) for start, end in tickit.pairs(["feeds_column"])}
    assert len(edges) > 80
    for name in ("upstreamLineage", "dataJobInputOutput"):
        found = {
            (source, target)
            for each in of_kind(aspects, name).values()
            for source, target, _ in columns(each.fineGrainedLineages)
        }
        assert found == edges, name


@pytest.mark.jvm
def test_jobs_have_dag_inputs_outputs_and_newest_run(aspects: Aspects) -> None:
    moves: dict[str, DataJobInputOutputClass] = of_kind(aspects, "dataJobInputOutput")
    assert {
        urn: (set(each.inputDatasets), set(each.outputDatasets)) for urn, each in moves.items()
    } == expected.MOVES
    about = of_kind(aspects, "dataJobInfo")
    assert set(about) == set(expected.MOVES)
    assert {each.flowUrn for each in about.values()} == {expected.FLOW}
    assert (aspects[expected.FLOW]["dataFlowInfo"].name, aspects[expected.FLOW]["dataFlowInfo"].env) == (
        "tickit_daily",
        "DEV",
    )
    ingest = about[expected.job("spark.tickit_sales_ingest")]
    assert (ingest.name, ingest.type) == ("tickit_sales_ingest", "SPARK")
    shown_properties = ("framework", "rows_written", "status", "last_run_at", "last_run_id")
    assert {name: ingest.customProperties[name] for name in shown_properties} == {
        "framework": "spark 3.5.9",
        "rows_written": "520",
        "status": "succeeded",
        "last_run_at": "1795252901088",
        "last_run_id": "local-1795252872126",
    }


@pytest.mark.jvm
def test_columns_that_determine_rows_are_upstream_properties(aspects: Aspects) -> None:
    deciding = {
        (each.dataset, each.properties["rows decided by"])
        for each in aspects[expected.PEOPLE]["upstreamLineage"].upstreams
    }
    assert deciding == {
        (expected.STG["users"], "full_name (GROUP_BY), userid (JOIN,GROUP_BY)"),
        (expected.FACTS, "buyerid (JOIN), sellerid (JOIN)"),
    }
    (facts, *_) = aspects[expected.FACTS]["upstreamLineage"].upstreams
    assert facts.properties["via"] == "int_sales_enriched"


@pytest.mark.jvm
def test_schemas_have_ordered_columns_with_types(aspects: Aspects) -> None:
    schema: SchemaMetadataClass = aspects[expected.PUBLIC["event"]]["schemaMetadata"]
    assert [
        (each.fieldPath, each.nativeDataType, type(each.type.type).__name__.removesuffix("TypeClass"))
        for each in schema.fields
    ] == [
        ("eventid", "int", "Number"),
        ("venueid", "int", "Number"),
        ("catid", "int", "Number"),
        ("dateid", "int", "Number"),
        ("eventname", "string", "String"),
        ("starttime", "timestamp", "Time"),
    ]


@pytest.mark.jvm
def test_other_properties_are_custom_properties(aspects: Aspects) -> None:
    sales = aspects[expected.PUBLIC["sales"]]["datasetProperties"]
    assert (sales.name, sales.qualifiedName) == ("sales", "dev.public.sales")
    assert sales.customProperties == {
        "environment": "dev",
        "dag_name": "tickit_daily",
        "aliases": "s3://aws-glue-assets-111122223333-us-east-1|temporary/redshift/public.sales"
        " (redshift-temporary-directory)",
        "file_path": "models/staging/sources.yml",
    }
    assert aspects[expected.MART]["datasetProperties"].description == "Top 10 events by sales"


@pytest.mark.jvm
def test_tags_are_added_to_existing_ones(aspects: Aspects) -> None:
    patches = of_kind(aspects, "globalTags")
    assert {
        (urn, each["value"]["tag"], each["op"]) for urn, patch in patches.items() for each in patch["patch"]
    } == {(urn, tag, "add") for urn, tag in expected.TAGS}


@pytest.mark.jvm
def test_an_exposure_is_a_dashboard_as_in_the_dbt_source(aspects: Aspects) -> None:
    dashboards = of_kind(aspects, "dashboardInfo")
    assert {urn: set(each.datasets) for urn, each in dashboards.items()} == {
        expected.DASHBOARD: expected.SHOWN_BY_DASHBOARD
    }
    assert dashboards[expected.DASHBOARD].title == "sales_dashboard"
    assert dashboards[expected.DASHBOARD].dashboardUrl == "https://bi.example.com/1"


@pytest.mark.jvm
def test_lineage_only_exports_no_other_aspects(tickit: LineageGraph, tmp_path: Path) -> None:
    found = exported(tickit, tmp_path, lineage_only=True)
    of_datasets = {name for urn, held in found.items() if ":dataset:" in urn for name in held}
    assert of_datasets == {"status", "upstreamLineage"}
    assert upstreams(found) == expected.UPSTREAMS


@pytest.mark.jvm
def test_a_platform_instance_is_an_aspect_and_part_of_the_urn(tickit: LineageGraph, tmp_path: Path) -> None:
    found = exported(tickit, tmp_path, instances={"redshift://tickit-wh.*": "wh_us"})
    sales = "urn:li:dataset:(urn:li:dataPlatform:redshift,wh_us.dev.public.sales,DEV)"
    assert (expected.LAKE, sales) in upstreams(found)
    instance = found[sales]["dataPlatformInstance"]
    assert (instance.platform, instance.instance) == (
        "urn:li:dataPlatform:redshift",
        "urn:li:dataPlatformInstance:(urn:li:dataPlatform:redshift,wh_us)",
    )
    assert "dataPlatformInstance" not in found[expected.LAKE]
    assert not any("redshift,dev." in urn for urn in found)


def test_a_shared_dataset_is_exported_with_the_lineage_of_all_dags(tmp_path: Path) -> None:
    made = MadeLineage().flow("a > c", job="one", dag="daily").flow("b > c", job="two", dag="nightly")
    made.columns("a.x > c.x", job="one", dag="daily").columns("b.y > c.x", job="two", dag="nightly")
    made.flow("d > e", job="three", dag="nightly")
    found = exported(read_folder(made.folder(tmp_path / "made")), tmp_path, dag="daily")
    a, b, c = (f"urn:li:dataset:(urn:li:dataPlatform:redshift,{name},DEV)" for name in "abc")
    assert upstreams(found) == {(a, c), (b, c)}
    assert columns(found[c]["upstreamLineage"].fineGrainedLineages) == {
        (expected.column(a, "x"), expected.column(c, "x"), ""),
        (expected.column(b, "y"), expected.column(c, "x"), ""),
    }
    jobs = of_kind(found, "dataJobInputOutput")
    assert {urn: each.inputDatasets for urn, each in jobs.items()} == {
        "urn:li:dataJob:(urn:li:dataFlow:(airflow,daily,dev),spark.one)": [a]
    }


def test_an_empty_graph_is_an_empty_list(tmp_path: Path) -> None:
    assert (
        exported(read_folder(MadeLineage().flow("a > b").folder(tmp_path / "made")), tmp_path, dag="no") == {}
    )


@pytest.mark.parametrize(
    ("namespace", "name", "platform", "datahub_name"),
    [
        ("s3://bucket", "a/b", "s3", "bucket/a/b"),
        ("s3://bucket", "/", "s3", "bucket"),
        ("gs://bucket", "a/b", "gcs", "bucket/a/b"),
        ("abfss://raw@lake.dfs.core.windows.net", "a/b", "abs", "raw/a/b"),
        ("file", "/data/x", "file", "/data/x"),
        ("hdfs://nn:8020", "/data/x", "hdfs", "/data/x"),
        ("redshift://wh.us-east-1:5439", "dev.public.sales", "redshift", "dev.public.sales"),
        ("postgres://db:5432", "app.public.users", "postgres", "app.public.users"),
        ("mssql://db:1433", "app.dbo.users", "mssql", "app.dbo.users"),
        ("mysql://db:3306", "app.users", "mysql", "app.users"),
        ("snowflake://org-account", "DB.PUBLIC.USERS", "snowflake", "db.public.users"),
        ("bigquery", "project.set.table", "bigquery", "project.set.table"),
        ("awsathena://athena.us-east-1.amazonaws.com", "awsdatacatalog.db.t", "athena", "db.t"),
        ("arn:aws:glue:us-east-1:111122223333", "table/db/t", "glue", "db.t"),
        ("hive://metastore:9083", "db.t", "hive", "db.t"),
        ("spark_catalog", "db.t", "hive", "db.t"),
        ("kafka://broker:9092", "orders", "kafka", "orders"),
        ("trino://starburst:8080", "c.s.t", "starburst", "c.s.t"),
    ],
)
def test_dataset_names_are_those_of_datahubs_own_sources(
    namespace: str, name: str, platform: str, datahub_name: str
) -> None:
    names = Names.from_settings({"platforms": {"trino://starburst*": "starburst"}})
    assert names.name_dataset(namespace, name) == (platform, datahub_name, "")


@pytest.mark.parametrize(
    ("environment", "fabric"),
    [
        ("dev", "DEV"),
        ("prod", "PROD"),
        ("staging", "STG"),
        ("Production", "PROD"),
        ("eu", "CORP"),
        ("qa", "QA"),
    ],
)
def test_environments_have_fabrics(environment: str, fabric: str) -> None:
    assert Names.from_settings({"fabrics": {"eu": "CORP"}}).fabric(environment) == fabric


def test_an_environment_without_fabric_is_rejected() -> None:
    with pytest.raises(
        ConfigError, match=r"exporters\.datahub\.fabrics.*no DataHub fabric for environment eu"
    ):
        Names.from_settings({}).fabric("eu")


def test_two_environments_with_one_fabric_are_rejected(tmp_path: Path) -> None:
    made = MadeLineage().flow("a > b", environment="stage").flow("a > b", environment="staging")
    with pytest.raises(ConfigError, match="stage and staging are both STG"):
        exported(read_folder(made.folder(tmp_path / "made")), tmp_path)


@pytest.mark.parametrize("name", ["load (eu), part 2", "späte Läufe", "a,b", "50%", "a:b/c"])
def test_job_urns_are_unique_for_any_name(name: str) -> None:
    job = JobLineage("dev", "daily", JobKey("spark", name), None, ())
    found = Urn.from_string(Names.from_settings({}).job(job))
    assert found.entity_type == "dataJob"
    assert len(found.entity_ids) == 2
    others = {
        Names.from_settings({}).job(JobLineage("dev", "daily", JobKey("spark", other), None, ()))
        for other in ("a", "a;b")
    }
    assert found.urn() not in others


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("decimal(8,2)", "Number"),
        ("BIGINT", "Number"),
        ("character varying(256)", "String"),
        ("TIMESTAMP WITHOUT TIME ZONE", "Time"),
        ("array<struct<a:int>>", "Array"),
        ("", "Null"),
        ("whatever", "Null"),
    ],
)
def test_types_are_mapped_to_datahubs(written: str, kind: str) -> None:
    assert type(data_type(written).type).__name__ == f"{kind}TypeClass"

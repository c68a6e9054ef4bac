"""Statements that write, sources of DataFrames, and unsupported inputs. Nothing is run."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (its name everywhere)

from lineage_merge import capture
from lineage_merge.model.elements import Feeds, FeedsColumn, Influences, Problem, Writes
from lineage_merge.model.errors import CaptureError
from lineage_merge.spark_capture import Captured
from lineage_merge.spark_capture.session import JvmSession
from lineage_merge.spark_capture.write_documents import write_document

pytestmark = pytest.mark.jvm


@pytest.fixture
def folder(spark: SparkSession, tmp_path: Path) -> Iterator[Path]:
    """A database in a folder, with the table `sales` (id, price); it is the current one."""
    spark.sql(f"create database shop location '{tmp_path}/shop'")
    spark.sql("use shop")
    spark.sql("create table sales using parquet as select 1 as id, 2.5D as price")
    yield tmp_path
    spark.sql("use default")
    spark.sql("drop database shop cascade")


def feeds_of(captured: Captured) -> set[tuple[str, str]]:
    """Ids of datasets that feed another, without the environment."""
    return {
        (edge.from_id.partition("|")[2], edge.to_id.partition("|")[2])
        for edge in captured.edges
        if edge.label == "feeds"
    }


def datasets_of(captured: Captured) -> set[tuple[str, str, str]]:
    """Label, name and qualified name of every dataset."""
    return {(each.label, each.name, each.properties["qualified_name"]) for each in captured.graph.datasets}


def test_statements_have_their_targets(spark: SparkSession, folder: Path) -> None:
    spark.sql("create table totals (id int, total double) using parquet")
    sales, shop = f"file|{folder}/shop/sales", f"{folder}/shop"
    statements = {
        "insert into totals select id, sum(price) from sales group by id": f"file|{shop}/totals",
        "insert overwrite totals select id, price from sales": f"file|{shop}/totals",
        "create table fresh using parquet as select id from sales": f"file|{shop}/fresh",
        f"create table lies using csv location '{folder}/x' as select id from sales": f"file|{folder}/x",
        "create or replace view seen as select id from sales": "spark_catalog|shop.seen",
        "create temporary view own as select id from sales": "dataframe|own",
        f"insert overwrite directory '{folder}/out' using json select id from sales": f"file|{folder}/out",
    }

    found = {statement: feeds_of(capture(statement)) for statement in statements}

    assert found == {statement: {(sales, target)} for statement, target in statements.items()}
    assert {row.tableName for row in spark.sql("show tables").collect()} >= {"sales", "totals"}
    assert not {row.tableName for row in spark.sql("show tables").collect()} & {
        "fresh",
        "lies",
        "seen",
        "own",
    }
    assert spark.table("totals").count() == 0
    assert not (folder / "out").exists()


def test_a_table_is_its_folder_under_the_name_of_the_catalog(spark: SparkSession, folder: Path) -> None:
    frame = spark.table("sales")

    assert datasets_of(capture(frame, target="shop.totals")) == {
        ("table", "sales", "shop.sales"),
        ("table", "totals", "shop.totals"),
    }
    assert feeds_of(capture(frame, target="totals")) == feeds_of(capture(frame, target="shop.totals"))
    assert feeds_of(capture(frame, target=f"{folder}/shop/totals/")) == feeds_of(
        capture(frame, target="totals")
    )


def test_a_view_has_the_columns_that_its_statement_names(spark: SparkSession, folder: Path) -> None:
    captured = capture("create view named (a, b) as select id, price * 2 from sales")

    assert [(each.name, each.properties["data_type"]) for each in _columns(captured, "named")] == [
        ("a", "int"),
        ("b", "double"),
    ]
    assert [each.name for each in captured.columns()] == ["a", "b"]


def _columns(captured: Captured, dataset: str) -> list[Any]:
    held = {each.id: each for each in captured.nodes}
    found = [
        held[each.to_id]
        for each in captured.edges
        if each.label == "has_column" and held[each.from_id].name == dataset
    ]
    return sorted(found, key=lambda each: int(each.properties["position"]))


def test_a_frame_of_a_statement_that_was_run_says_what_it_wrote(spark: SparkSession, folder: Path) -> None:
    spark.sql("create table totals (id int, total double) using parquet")
    done = spark.sql("insert into totals select id, price from sales")

    captured = capture(done)

    assert feeds_of(captured) == {(f"file|{folder}/shop/sales", f"file|{folder}/shop/totals")}
    assert {each.properties["write_mode"] for each in captured.edges if each.label == "feeds"} == {"append"}


def test_an_rdd_is_followed_to_the_files_that_it_was_made_of(spark: SparkSession, folder: Path) -> None:
    (folder / "more").mkdir()
    (folder / "more" / "lines.txt").write_text("1 x\n")
    (folder / "others.txt").write_text("2 y\n")
    texts = spark.sparkContext.textFile(str(folder / "others.txt")).union(
        spark.sparkContext.wholeTextFiles(f"{folder}/more").map(lambda pair: pair[1])
    )
    of_texts = spark.createDataFrame(texts.map(str.split), "id string, name string")
    of_frame = spark.createDataFrame(
        spark.table("sales").groupBy("id").count().rdd.map(tuple), "id int, sold long"
    )
    constants = spark.createDataFrame([(1, 2)], "a int, b int")

    found = {
        name: {start for start, _ in feeds_of(capture(frame, target="s3://lake/out"))}
        for name, frame in {"texts": of_texts, "frame": of_frame, "constants": constants}.items()
    }

    assert found == {
        "texts": {f"file|{folder}/others.txt", f"file|{folder}/more"},
        "frame": {f"file|{folder}/shop/sales"},
        "constants": set(),
    }
    edges = capture(of_texts, target="s3://lake/out").edges
    assert {each.properties.get("column_lineage") for each in edges if each.label == "feeds"} == {
        "unavailable"
    }


def test_an_rdd_without_its_origin_is_a_problem(spark: SparkSession, folder: Path) -> None:
    captured = capture(spark.table("sales").localCheckpoint(), name="daily", target="s3://lake/out")

    assert captured.problems == (
        Problem(
            "not-joined",
            "capture of daily",
            "LogicalRDD",
            "an RDD (LocalCheckpointRDD) whose sources Spark does not report",
        ),
    )


def test_a_cached_table_is_what_it_was_computed_from(spark: SparkSession, folder: Path) -> None:
    spark.sql("cache lazy table cached as select id, price * 2 as twice from sales")
    read: Any = spark.table("cached")
    jvm: Any = spark._jvm
    held = read._jdf.queryExecution().withCachedData()
    of_cache = DataFrame(
        jvm.org.apache.spark.sql.Dataset.ofRows(read.sparkSession._jsparkSession, held), spark
    )

    for frame in (read, of_cache):
        assert feeds_of(capture(frame, target="s3://lake/out")) == {
            (f"file|{folder}/shop/sales", "s3://lake|out")
        }
    spark.sql("uncache table cached")


JDBC_CATALOG = "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog"
DERBY = "org.apache.derby.jdbc.EmbeddedDriver"


def test_a_database_is_its_address_without_the_password(spark: SparkSession, folder: Path) -> None:
    jvm: Any = spark._jvm
    jvm.java.lang.System.setProperty("derby.stream.error.file", f"{folder}/derby.log")
    url = "jdbc:derby:memory:shop;create=true;user=me;password=hush-hush"
    spark.table("sales").write.jdbc(url, "orders", properties={"driver": DERBY, "password": "hush-hush"})
    options = {"url": url, "driver": DERBY, "user": "me", "password": "hush-hush"}
    table = spark.read.format("jdbc").options(dbtable="orders", **options).load()
    query = spark.read.format("jdbc").options(query='select "id" from orders', **options).load()
    spark.conf.set("spark.sql.catalog.derby", JDBC_CATALOG)
    for name in ("url", "driver", "user", "password"):
        spark.conf.set(f"spark.sql.catalog.derby.{name}", options[name])

    found = {
        "table": capture(table, target="s3://lake/out"),
        "query": capture(query, target="s3://lake/out"),
        "catalog": capture("insert into derby.ME.ORDERS select id, price from sales"),
    }

    assert {name: feeds_of(each) for name, each in found.items()} == {
        "table": {("derby:memory:shop|orders", "s3://lake|out")},
        "query": {("derby:memory:shop|orders", "s3://lake|out")},
        "catalog": {(f"file|{folder}/shop/sales", "derby:memory:shop|ME.ORDERS")},
    }
    for name in ("", ".url", ".driver", ".user", ".password"):
        spark.conf.unset(f"spark.sql.catalog.derby{name}")
    for each in found.values():
        said = (
            f"{each!r}{each}{each.columns()}{each.elements()}{each.problems}{each.to_json()}{each.to_html()}"
        )
        assert "hush" not in said


def test_nothing_is_run(spark: SparkSession, folder: Path) -> None:
    frame = spark.table("sales").join(spark.table("sales").groupBy("id").agg(F.max("price")), "id")
    frame = frame.where("id in (select id from sales)").cache()
    scheduler: Any = spark.sparkContext._jsc.sc().dagScheduler()
    before = scheduler.numTotalJobs()

    captured = capture(frame, target="shop.joined")
    shown = captured.columns(), str(captured), captured._repr_html_(), captured.records()
    created = capture("create table joined using parquet as select * from sales order by id")

    assert shown
    assert feeds_of(created)
    assert scheduler.numTotalJobs() == before


def test_a_notebook_shows_a_picture_and_on_request_the_page(spark: SparkSession, folder: Path) -> None:
    captured = capture(
        "create table `<b>totals</b>` using parquet as select id, price + 1 as more from sales"
    )

    bundle = captured._repr_mimebundle_()
    shown = bundle["text/html"]

    assert bundle == {"text/plain": str(captured), "text/html": captured._repr_html_()}
    assert shown.count("<rect") == 2
    assert "script" not in shown
    assert "iframe" not in shown
    assert "&lt;b&gt;totals&lt;/b&gt;" in shown
    assert ">price + 1.0<" in shown.replace("price + cast(1 as double)", "price + 1.0")
    assert captured.page()._repr_html_().startswith('<iframe sandbox="allow-scripts"')


def test_a_batch_of_a_stream_has_the_columns_of_its_source(spark: SparkSession, folder: Path) -> None:
    captured: list[Captured] = []

    def write(batch: DataFrame, number: int) -> None:
        captured.append(capture(batch.selectExpr("id", "twice + 1 as more"), target="s3://lake/out"))

    sales = spark.readStream.schema("id int, price double").parquet(f"{folder}/shop/sales")
    rows = sales.where("id > 0").selectExpr("id", "price * 2 as twice")
    stream = rows.writeStream.foreachBatch(write).trigger(availableNow=True)
    stream.option("checkpointLocation", f"{folder}/checkpoint").start().awaitTermination()

    [batch] = captured
    assert feeds_of(batch) == {(f"file|{folder}/shop/sales", "s3://lake|out")}
    assert {
        (each.source_column, each.target_column) for each in batch.elements() if isinstance(each, FeedsColumn)
    } == {("id", "id"), ("price", "more")}
    assert [each.source_column for each in batch.elements() if isinstance(each, Influences)] == ["id"]
    assert batch.problems == ()


def test_an_overwrite_that_saves_to_a_data_source_has_its_address(spark: SparkSession, folder: Path) -> None:
    plan: Any = spark.table("sales")._jdf.queryExecution().analyzed()
    jvm: Any = spark._jvm
    source = jvm.org.apache.spark.sql.execution.datasources.jdbc.JdbcRelationProvider()
    options = {"url": "jdbc:postgresql://host/db?user=me&password=secret", "dbTable": "public.sales"}
    scala = jvm.org.apache.spark.api.python.PythonUtils.toScalaMap(options)
    mode = jvm.org.apache.spark.sql.SaveMode.Overwrite
    command = jvm.org.apache.spark.sql.execution.datasources.SaveIntoDataSourceCommand
    session = JvmSession(spark)

    found = write_document(session, command(plan, source, scala, mode), "daily", "the save")

    assert found is not None
    [target] = {each.target.name for each in found.elements() if isinstance(each, Writes)}
    assert target.startswith("jdbc:postgresql://host/db")
    assert target.endswith(":public.sales")
    assert "secret" not in target


def test_unsupported_inputs_are_one_clear_error(spark: SparkSession, folder: Path) -> None:
    def remote() -> Any:
        """What looks like a frame of Spark Connect, whose own class needs a server's libraries."""
        return type("DataFrame", (), {"__module__": "pyspark.sql.connect.dataframe"})()

    unsupported: dict[str, Any] = {
        "does not support streams": spark.readStream.format("rate").load(),
        "Spark Connect has its plans on the server": remote(),
        "expects a PySpark DataFrame": 3,
        "DropTable": "drop table sales",
        "PARSE_SYNTAX_ERROR": "selec id",
        "TABLE_OR_VIEW_NOT_FOUND": "select * from nowhere",
    }
    for message, value in unsupported.items():
        with pytest.raises(CaptureError, match=message) as error:
            capture(value)
        assert "\n" not in error.value.message
    with pytest.raises(CaptureError, match="omit target="):
        capture("create table again using parquet as select id from sales", target="shop.again")


def test_the_job_stands_under_its_name_dag_and_environment(spark: SparkSession, folder: Path) -> None:
    captured = capture(
        spark.table("sales"), name="daily", target="s3://lake/out", environment="prod", dag_name="finance"
    )

    assert [each.id for each in captured.nodes if each.label == "job"] == ["prod|finance|spark|daily"]
    assert {type(each) for each in captured.elements()} >= {Feeds, Writes}
    assert {each.job for each in captured.edges if each.label == "writes"} == {"daily"}

"""The listener in a real session: a document per write, with the same lineage as `capture`."""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (its name everywhere)

from lineage_merge import capture
from lineage_merge.graph_format.elements import Subgraph, edge_of_row, subgraph, vertex_of_row
from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.merge import dataset_resolver, join
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources.spline.reader import read_capture
from lineage_merge.spark_capture.listener.install import Listener
from lineage_merge.spark_capture.listener.recorder import Limits
from tests.record_reading import rows_of

LATER = Limits(seconds=3600.0)


class Recorded(NamedTuple):
    """A write of a job: short names of target and sources, and its event."""

    target: str
    sources: tuple[str, ...]
    event: Mapping[str, Any]

    @property
    def rows(self) -> Any:
        return self.event["extra"]["writeMetrics"].get("numOutputRows")


class Recording:
    """The listener, and what it records into a list."""

    def __init__(self, listener: Listener, messages: list[Any]) -> None:
        self.listener = listener
        self._messages = messages

    def plans(self) -> list[Any]:
        """The plans since the last call."""
        assert self.listener.flush()
        plans = [body for kind, body in self._messages if kind == "plan"]
        self._messages.clear()
        return plans

    def writes(self) -> list[Recorded]:
        """The writes since the last call, in order of their ends."""
        assert self.listener.flush()
        plans = {body["id"]: body["operations"] for kind, body in self._messages if kind == "plan"}
        events = [body for kind, body in self._messages if kind == "event"]
        assert {each["planId"] for each in events} == plans.keys()
        assert len(events) == len(plans)
        self._messages.clear()
        return [
            Recorded(
                _short(plans[each["planId"]]["write"]["outputSource"]),
                tuple(
                    sorted(
                        {
                            _short(uri)
                            for read in plans[each["planId"]]["reads"]
                            for uri in read["inputSources"]
                        }
                    )
                ),
                each,
            )
            for each in events
        ]


def _short(uri: str) -> str:
    return uri.rpartition("/")[2]


@pytest.fixture(scope="module")
def recording(spark: SparkSession) -> Iterator[Recording]:
    messages: list[Any] = []
    listener = capture.install(spark, messages, limits=LATER)
    assert listener is not None
    yield Recording(listener, messages)
    listener.close()


@pytest.fixture
def orders(spark: SparkSession, recording: Recording, tmp_path: Path) -> Iterator[DataFrame]:
    """A DataFrame of a folder; the database `shop` for tables."""
    folder = f"{tmp_path}/orders"
    spark.range(1, 4).selectExpr("id", "id * 2.5D as price", "'x' as city").write.parquet(folder)
    spark.sql(f"create database shop location '{tmp_path}/shop'")
    spark.sql("use shop")
    recording.writes()
    yield spark.read.parquet(folder)
    spark.catalog.dropTempView("orders")
    spark.sql("use default")
    spark.sql("drop database shop cascade")


@pytest.mark.jvm
def test_each_kind_of_write_gives_one_document(
    spark: SparkSession, recording: Recording, orders: DataFrame, tmp_path: Path
) -> None:
    orders.createOrReplaceTempView("orders")
    orders.write.csv(f"{tmp_path}/written")
    orders.write.saveAsTable("saved")
    spark.sql("create table created using parquet as select id, price from saved")
    spark.sql("insert into created select id, price from orders")
    spark.sql("insert overwrite created select id, price from orders")
    orders.select("id", "price").write.insertInto("created")
    spark.sql("create view seen as select id + 1 as next from created")
    spark.sql(f"insert overwrite directory '{tmp_path}/folder' using json select next from seen")
    orders.write.mode("append").partitionBy("city").parquet(f"{tmp_path}/written_2")

    found = recording.writes()

    assert [(each.target, each.sources, each.rows) for each in found] == [
        ("written", ("orders",), 3),
        ("saved", ("orders",), 3),
        ("created", ("saved",), 3),
        ("created", ("orders",), 3),
        ("created", ("orders",), 3),
        ("created", ("orders",), 3),
        ("shop.seen", ("created",), None),
        ("folder", ("created",), 6),
        ("written_2", ("orders",), 3),
    ]
    assert {each.event["extra"]["appId"] for each in found} == {spark.sparkContext.applicationId}
    assert all(each.event["durationNs"] > 0 for each in found)


@pytest.mark.jvm
def test_what_writes_nothing_gives_no_document(
    spark: SparkSession, recording: Recording, orders: DataFrame
) -> None:
    orders.createOrReplaceTempView("orders")
    spark.sql("select count(*) from orders").collect()
    orders.cache().count()
    orders.show()
    spark.sql("create table empty (id int) using parquet")
    failed = recording.listener.counts.failed
    orders.write.format("noop").mode("overwrite").save()

    assert recording.writes() == []
    assert recording.listener.counts.failed == failed


@pytest.mark.jvm
@pytest.mark.nightly
def test_the_same_write_again_and_again_is_as_many_documents(
    recording: Recording, orders: DataFrame, tmp_path: Path
) -> None:
    few = orders.coalesce(1)
    for _ in range(200):
        few.write.mode("append").parquet(f"{tmp_path}/many")

    assert [(each.target, each.rows) for each in recording.writes()] == [("many", 3)] * 200


_THREADS = 16


@pytest.mark.jvm
def test_writes_of_many_threads(recording: Recording, orders: DataFrame, tmp_path: Path) -> None:
    def write(number: int) -> None:
        orders.coalesce(1).select((F.col("id") + number).alias("id")).write.parquet(f"{tmp_path}/t{number}")

    with ThreadPoolExecutor(_THREADS) as pool:
        list(pool.map(write, range(_THREADS)))

    assert {(each.target, each.sources, each.rows) for each in recording.writes()} == {
        (f"t{number}", ("orders",), 3) for number in range(_THREADS)
    }


@pytest.mark.jvm
def test_a_failed_write_is_marked_as_failed_without_its_rows(
    recording: Recording, orders: DataFrame, tmp_path: Path
) -> None:
    broken = orders.select(F.expr("if(id > 2, raise_error('row 4711'), 'x')").alias("x"))
    with pytest.raises((PySparkException, Py4JJavaError)):
        broken.write.parquet(f"{tmp_path}/broken")

    (found,) = recording.writes()
    assert (found.target, found.sources) == ("broken", ("orders",))
    assert found.event["error"].startswith("SparkException")
    assert "4711" not in str(found.event)


@pytest.mark.jvm
@pytest.mark.nightly
def test_five_thousand_columns(spark: SparkSession, recording: Recording, tmp_path: Path) -> None:
    wide = spark.range(1).select(*((F.col("id") * number).alias(f"c{number}") for number in range(5_000)))
    wide.coalesce(1).write.json(f"{tmp_path}/wide")

    (plan,) = recording.plans()
    assert len([each for each in plan["attributes"] if each["name"].startswith("c")]) == 5_000


@pytest.mark.jvm
def test_sessions_of_a_session_are_watched_too(
    spark: SparkSession, recording: Recording, orders: DataFrame, tmp_path: Path
) -> None:
    other = spark.newSession()
    other.range(1).write.parquet(f"{tmp_path}/new")
    other.newSession().range(1).write.parquet(f"{tmp_path}/newer")
    clone = SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())
    clone.range(1).write.parquet(f"{tmp_path}/cloned")

    assert [each.target for each in recording.writes()] == ["new", "newer", "cloned"]


@pytest.mark.jvm
def test_batches_of_a_stream(
    spark: SparkSession, recording: Recording, orders: DataFrame, tmp_path: Path
) -> None:
    def write(batch: DataFrame, _number: int) -> None:
        batch.write.mode("append").parquet(f"{tmp_path}/batches")

    read = spark.readStream.schema(orders.schema).parquet(f"{tmp_path}/orders")
    stream = read.writeStream.foreachBatch(write).option("checkpointLocation", f"{tmp_path}/state")
    stream.trigger(availableNow=True).start().awaitTermination()

    (found,) = recording.writes()
    assert (found.target, found.sources, found.rows) == ("batches", ("orders",), 3)


@pytest.mark.jvm
def test_a_stream_to_a_sink_of_its_own_is_recorded_once_per_run(
    spark: SparkSession, recording: Recording, orders: DataFrame, tmp_path: Path
) -> None:
    read = (
        spark.readStream.schema(orders.schema).option("maxFilesPerTrigger", 1).parquet(f"{tmp_path}/orders")
    )
    stream = read.where("price > 1").select("id").writeStream.format("parquet")
    stream = stream.option("checkpointLocation", f"{tmp_path}/state").trigger(availableNow=True)
    stream.start(f"{tmp_path}/sink").awaitTermination()
    read.writeStream.format("memory").queryName("shown").trigger(availableNow=True).start().awaitTermination()

    (found,) = recording.writes()
    assert (found.target, found.sources, found.event.get("error")) == ("sink", ("orders",), None)
    assert found.event["durationNs"] > 0


@pytest.mark.jvm
def test_installing_again_gives_the_same_listener(spark: SparkSession, tmp_path: Path) -> None:
    first = capture.install(spark, tmp_path, limits=LATER)
    assert first is not None
    assert capture.install(spark, tmp_path) is first
    first.close()
    again = capture.install(spark, tmp_path)
    assert again is not first
    assert again is not None
    again.close()


@pytest.mark.jvm
def test_a_listener_that_is_closed_records_nothing(spark: SparkSession, tmp_path: Path) -> None:
    messages: list[Any] = []
    listener = capture.install(spark, messages)
    assert listener is not None
    listener.close()
    spark.range(1).write.parquet(f"{tmp_path}/after")

    assert listener.counts.executions == 0
    assert messages == []


def test_a_session_without_a_plan_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    class Connect:
        """A session of Spark Connect."""

    assert capture.install(Connect(), "s3://lake/lineage") is None  # type: ignore[arg-type]
    assert "Spark Connect has its plans on the server" in caplog.text


Write = Callable[[SparkSession, DataFrame, str], None]


@pytest.mark.jvm
def test_the_folder_gives_the_graph_of_capture(
    spark: SparkSession, recording: Recording, orders: DataFrame, tmp_path: Path
) -> None:
    lineage, target = tmp_path / "lineage", f"{tmp_path}/totals"
    listener = capture.install(spark, lineage, limits=LATER)
    assert listener is not None
    config = CONFIGURATION.parse(
        {"dag_name": "daily", "environment": "dev", "capture": {"files": str(lineage)}}
    )
    joined = orders.alias("a").join(orders.alias("b"), "id").where("a.price > 1")
    totals = joined.groupBy("a.city").agg(F.sum("b.price").alias("total"), F.max("id").alias("last"))
    view = "create view cities as select city, count(*) as orders from saved group by city"
    orders.write.saveAsTable("saved")
    expected = [
        capture(orders, target="saved", config=config),
        capture(totals, target=target, config=config),
        capture(view, config=config),
    ]

    totals.write.parquet(target)
    spark.sql(view)
    listener.close()

    records = rows_of(read_capture(LocalEngine(), config, dataset_resolver.from_config(config)))
    merged = join.merge_locally(records, "dev", "daily", config.metadata)
    found = subgraph(map(vertex_of_row, merged.nodes), map(edge_of_row, merged.edges))
    assert _edges(found) == {edge for each in expected for edge in _edges(each.graph)}
    assert _datasets(found) == {vertex for each in expected for vertex in _datasets(each.graph)}


# Of a run, which a capture is not.
_OF_RUNS = {"sequence"}


def _edges(graph: Subgraph) -> set[tuple[Any, ...]]:
    return {(edge.label, edge.from_id, edge.to_id, str(_stable(edge.properties))) for edge in graph.edges}


def _datasets(graph: Subgraph) -> set[tuple[Any, ...]]:
    return {
        (vertex.id, vertex.label, str(_stable(vertex.properties)))
        for vertex in graph.vertices.values()
        if vertex.label != "job"
    }


def _stable(properties: Mapping[str, Any]) -> list[tuple[str, str]]:
    return sorted((name, str(value)) for name, value in properties.items() if name not in _OF_RUNS)

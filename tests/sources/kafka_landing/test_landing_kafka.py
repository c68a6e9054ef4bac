"""Topics of a real broker, landed and read."""

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lineage_merge.infra.embedded.jars import spark_kafka_options
from lineage_merge.infra.engine.on_spark import SparkEngine
from lineage_merge.merge import dataset_resolver
from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import (
    ConfigError,
    LineageMergeError,
    SourceDenied,
    SourceMissing,
    SourceUnreachable,
)
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources.kafka_landing.kafka import Headers, land_messages
from lineage_merge.sources.kafka_landing.settings import Kafka
from lineage_merge.sources.spline.reader import read_spline
from tests.agent_lines import of_database
from tests.kafka_broker import Broker, Message, Topics, broker
from tests.record_reading import flows_of, problems_of, rows_of
from tests.s3_fixtures import S3
from tests.spline_documents import SplineDatabase

pytestmark = pytest.mark.jvm

ENTITIES = {"plan": "ExecutionPlan", "event": "ExecutionEvent"}


@pytest.fixture(scope="module")
def kafka(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker; the session learns Spark's Kafka source."""
    for jar in spark_kafka_options(lambda _: None)["spark.jars"].split(","):
        spark.sql(f"ADD JAR '{jar}'")
    with broker(tmp_path_factory.mktemp("kafka")) as found:
        yield found


@pytest.fixture
def topics(spark: SparkSession, kafka: Broker) -> Topics:
    return Topics(spark, kafka.servers)


def content(folder: Path) -> dict[str, list[str]]:
    """The lines of each landed file, by its name below the topic's folder."""
    return {
        str(path.relative_to(folder)): gzip.decompress(path.read_bytes()).decode().splitlines()
        for path in sorted(folder.rglob("*.gz"))
    }


def file(partition: int, start: int, end: int) -> str:
    return f"{partition}/{start:020}-{end:020}.jsonl.gz"


def test_each_landing_appends_what_is_new(
    spark: SparkSession, kafka: Broker, topics: Topics, tmp_path: Path
) -> None:
    topics.make("appended", 2)
    settings = Kafka(kafka.servers, "appended", str(tmp_path))
    folder = tmp_path / "appended"

    assert land_messages(spark, settings).folder == str(folder)
    assert content(folder) == {}

    topics.send("appended", [Message("a"), Message("b", partition=1), Message("c")])
    land_messages(spark, settings)
    first = content(folder)
    land_messages(spark, settings)
    assert content(folder) == first == {file(0, 0, 2): ["a", "c"], file(1, 0, 1): ["b"]}

    topics.send("appended", [Message('{"d":\n 1}\n'), Message(None), Message("e\nf"), Message(" ")])
    land_messages(spark, settings)
    assert content(folder) == {**first, file(0, 2, 6): ['{"d": 1}', "e", "f"]}
    assert list((tmp_path / ".unfinished").iterdir()) == []


def test_a_failed_landing_continues_where_its_files_end(
    spark: SparkSession, kafka: Broker, topics: Topics, tmp_path: Path
) -> None:
    topics.make("failing")
    topics.send("failing", [Message(str(number)) for number in range(6)])
    settings = Kafka(kafka.servers, "failing", str(tmp_path))

    def failing_at_three(value: bytes, _headers: Headers) -> bytes:
        if value == b"3":
            raise ValueError("the machine goes down")
        return value

    with pytest.raises(LineageMergeError, match="the machine goes down"):
        land_messages(spark, settings, failing_at_three, file_bytes=3)
    assert content(tmp_path / "failing") == {file(0, 0, 2): ["0", "1"]}
    assert list((tmp_path / ".unfinished").iterdir()) == []

    land_messages(spark, settings, file_bytes=3)
    assert content(tmp_path / "failing") == {
        file(0, 0, 2): ["0", "1"],
        file(0, 2, 4): ["2", "3"],
        file(0, 4, 6): ["4", "5"],
    }


def test_messages_deleted_before_reading_are_a_notice(
    spark: SparkSession, kafka: Broker, topics: Topics, tmp_path: Path
) -> None:
    topics.make("retained")
    topics.send("retained", [Message("0")])
    settings = Kafka(kafka.servers, "retained", str(tmp_path))
    land_messages(spark, settings)
    topics.send("retained", [Message("1"), Message("2"), Message("3")])
    topics.forget("retained", before=3)

    found = land_messages(spark, settings)

    lost = "offsets 1 to 2 were deleted in Kafka before they were read"
    assert found.notices == (Problem("notice", "Kafka topic retained", "partition 0", lost),)
    assert content(tmp_path / "retained") == {file(0, 0, 1): ["0"], file(0, 3, 4): ["3"]}


def test_plans_and_events_of_a_topic_become_lineage_through_s3(
    spark: SparkSession, kafka: Broker, topics: Topics, s3: S3
) -> None:
    s3.client.create_bucket(Bucket="lake")
    topics.make("spline", 2)
    spline = SplineDatabase()
    spline.plan("a", reads=["s3://in/a"], writes="s3://out/a", at=1)
    spline.plan("b", reads=["s3://in/b"], writes="s3://out/b", at=2)
    messages = [
        Message(
            json.dumps(body),
            {"ABSA-Spline-API-Version": "1.2", "ABSA-Spline-Entity-Type": ENTITIES[kind]},
            number % 2,
        )
        for number, (kind, body) in enumerate(of_database(spline.collections))
    ]
    given = {"servers": kafka.servers, "topic": "spline", "landing": "s3://lake/landing"}
    settings = CONFIGURATION.parse({"dag_name": "d", "environment": "dev", "spline": {"kafka": given}})

    def read() -> tuple[set[tuple[str, str, str]], set[tuple[str, str]]]:
        rows = rows_of(read_spline(SparkEngine(spark), settings, dataset_resolver.from_config(settings)))
        return flows_of(rows), {(kind, message) for kind, _, _, message in problems_of(rows)}

    nothing = ("notice", "no messages yet")
    assert read() == (set(), {nothing, ("notice", NO_RUN)})
    topics.send("spline", messages)
    assert read() == ({("a", "s3://in|a", "s3://out|a"), ("b", "s3://in|b", "s3://out|b")}, set())


NO_RUN = "no run is recorded: using the newest plan of each application and target"


def test_a_login_is_by_reference_and_shown_nowhere(
    spark: SparkSession, kafka: Broker, topics: Topics, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topics.make("guarded")
    topics.send("guarded", [Message("a")])
    module = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    options = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}
    settings = Kafka(
        kafka.login_servers, "guarded", str(tmp_path), options, {"sasl.jaas.config": "KAFKA_TEST_LOGIN"}
    )

    with pytest.raises(ConfigError, match="not set"):
        land_messages(spark, settings)
    monkeypatch.setenv("KAFKA_TEST_LOGIN", f'{module} username="{kafka.user}" password="hunter2";')
    with pytest.raises(SourceDenied) as refused:
        land_messages(spark, settings)
    assert "hunter2" not in str(refused.value)
    login = f'{module} username="{kafka.user}" password="{kafka.password}";'
    monkeypatch.setenv("KAFKA_TEST_LOGIN", login)
    land_messages(spark, settings)

    assert content(tmp_path / "guarded") == {file(0, 0, 1): ["a"]}
    assert kafka.password not in repr(settings)


def test_an_unreadable_topic_is_one_clear_error(spark: SparkSession, kafka: Broker, tmp_path: Path) -> None:
    place = str(tmp_path)
    quick = {"default.api.timeout.ms": "1500", "request.timeout.ms": "1000"}

    with pytest.raises(SourceMissing, match="Kafka topic nowhere: no such topic"):
        land_messages(spark, Kafka(kafka.servers, "nowhere", place))
    with pytest.raises(SourceUnreachable, match="no response from"):
        land_messages(spark, Kafka("127.0.0.1:1", "t", place, quick))
    with pytest.raises(ConfigError, match=r"spline\.kafka: Kafka rejects"):
        land_messages(
            spark, Kafka(kafka.servers, "t", place, {"security.protocol": "NONE"}, key="spline.kafka")
        )
    assert not any(tmp_path.iterdir())


def test_an_option_that_spark_keeps_for_itself_is_named(
    spark: SparkSession, kafka: Broker, topics: Topics, tmp_path: Path
) -> None:
    topics.make("options")
    topics.send("options", [Message("a")])

    with pytest.raises(ConfigError, match=r"auto\.offset\.reset"):
        land_messages(spark, Kafka(kafka.servers, "options", str(tmp_path), {"auto.offset.reset": "latest"}))


SCRIPT = """
import sys
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.config import SparkOptions
from lineage_merge.sources.kafka_landing.settings import Kafka
from lineage_merge.infra.engine.on_spark import SparkEngine
from lineage_merge.model.errors import LineageMergeError
from lineage_merge.sources.kafka_landing.kafka import land_messages
from lineage_merge.infra.spark_session import session

with session(SparkOptions(kafka=sys.argv[1] == "with")) as spark:
    try:
        kafka = Kafka(sys.argv[2], "started", sys.argv[3], key="spline.kafka")
        print("LANDED", land_messages(spark, kafka).folder)
    except LineageMergeError as error:
        print("ERROR", error.message)
"""


@pytest.mark.parametrize("kind", ["with", "without"])
def test_a_local_session_has_the_source_only_where_it_is_needed(
    kafka: Broker, topics: Topics, tmp_path: Path, kind: str
) -> None:
    if kind == "with":
        topics.make("started")
        topics.send("started", [Message("a")])
    command = [sys.executable, "-c", SCRIPT, kind, kafka.servers, str(tmp_path)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_")}

    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)

    if kind == "with":
        assert f"LANDED {tmp_path}/started" in done.stdout
        assert content(tmp_path / "started") == {file(0, 0, 1): ["a"]}
    else:
        assert "ERROR configuration: spline.kafka: the Spark session has no Kafka source" in done.stdout
        assert "spark.jars.packages=org.apache.spark:spark-sql-kafka-0-10_2.1" in done.stdout


def test_a_run_knows_by_its_configuration_that_spark_needs_the_source() -> None:
    given = {"servers": "broker:9092", "topic": "t", "landing": "s3://lake/landing"}
    settings = {"dag_name": "d", "environment": "dev"}

    assert CONFIGURATION.parse({**settings, "spline": {"kafka": given}}).spark.kafka
    assert not CONFIGURATION.parse({**settings, "spline": {"agent": "logs"}}).spark.kafka

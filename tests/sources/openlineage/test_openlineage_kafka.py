"""Events in a Kafka topic, through its landing folder."""

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lineage_merge.infra.embedded.jars import spark_kafka_options
from lineage_merge.infra.engine.on_spark import SparkEngine
from lineage_merge.merge import dataset_resolver
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources.openlineage.reader import read_openlineage
from tests.kafka_broker import Message, Topics, broker
from tests.record_reading import flows_of, problems_of, rows_of
from tests.sources.openlineage.made_events import event

pytestmark = pytest.mark.jvm


def test_events_of_a_topic_are_combined_over_several_merges(spark: SparkSession, tmp_path: Path) -> None:
    for jar in spark_kafka_options(lambda _: None)["spark.jars"].split(","):
        spark.sql(f"ADD JAR '{jar}'")
    start = event("START", "06:00", run="r1", inputs=["s3://lake|a"])
    end = event("COMPLETE", "06:01", run="r1", outputs=["s3://lake|b"])
    (tmp_path / "kafka").mkdir()
    with broker(tmp_path / "kafka") as kafka:
        topic = {"servers": kafka.servers, "topic": "lineage", "landing": str(tmp_path / "landing")}
        settings = CONFIGURATION.parse(
            {"dag_name": "d", "environment": "dev", "openlineage": {"kafka": topic}}
        )
        topics = Topics(spark, kafka.servers)
        topics.make("lineage")

        def merged() -> tuple[set[tuple[str, str, str]], set[str]]:
            rows = rows_of(
                read_openlineage(SparkEngine(spark), settings, dataset_resolver.from_config(settings))
            )
            return flows_of(rows), {message for _, _, _, message in problems_of(rows)}

        assert merged() == (set(), {"no event found in the configured files"})
        topics.send("lineage", [Message(json.dumps(start, indent=2)), Message("{ not an event")])
        assert merged() == (set(), {"not JSON"})
        topics.send("lineage", [Message(json.dumps(end)), Message(json.dumps(end))])
        assert merged() == ({("job", "s3://lake|a", "s3://lake|b")}, {"not JSON"})

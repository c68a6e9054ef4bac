"""Offsets of a topic, queried from its broker with the Kafka client in Spark's Java process."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pyspark
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import SparkSession

from lineage_merge.model.errors import (
    ConfigError,
    SourceDenied,
    SourceError,
    SourceMissing,
    SourceUnreachable,
)
from lineage_merge.sources.kafka_landing.files import Available
from lineage_merge.sources.kafka_landing.settings import Kafka

# Default timeout of requests to the broker.
_ANSWER_MS = "20000"
_PROVIDER = "org.apache.spark.sql.kafka010.KafkaSourceProvider"
_BYTES = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
_DENIED = ("Authentication", "Authorization", "SslAuthentication", "SaslAuthentication")


def available(spark: SparkSession, kafka: Kafka, options: Mapping[str, str]) -> dict[int, Available]:
    """Return the available offsets of each partition of the topic.

    Raises `SourceUnreachable`, `SourceDenied`, `SourceMissing` (no such topic), and `ConfigError` if the
    session has no Kafka source, or Kafka rejects an option.
    """
    _check_source(spark, kafka)
    jvm: Any = spark._jvm
    with _translate_errors(kafka):
        consumer = jvm.org.apache.kafka.clients.consumer.KafkaConsumer(_properties(jvm, kafka, options))
        try:
            partition_infos = consumer.partitionsFor(kafka.topic)
            if not partition_infos:
                raise SourceMissing(f"Kafka topic {kafka.topic}: no such topic")
            topic_partition = jvm.org.apache.kafka.common.TopicPartition
            partitions = jvm.java.util.ArrayList()
            for info in partition_infos:
                partitions.add(topic_partition(kafka.topic, info.partition()))
            earliest = consumer.beginningOffsets(partitions)
            latest = consumer.endOffsets(partitions)
            return {
                partition.partition(): Available(earliest[partition], latest[partition])
                for partition in partitions
            }
        finally:
            consumer.close()


def _check_source(spark: SparkSession, kafka: Kafka) -> None:
    jvm: Any = spark._jvm
    # As Spark loads it: jars added to the session are visible only to the thread's class loader.
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    try:
        jvm.java.lang.Class.forName(_PROVIDER, False, loader)
    except Py4JJavaError:
        problem = f"the Spark session has no Kafka source: start it with spark.jars.packages={package(spark)}"
        raise ConfigError(kafka.key, problem) from None


def package(spark: SparkSession) -> str:
    """Return Spark's Kafka source in the notation of ``spark.jars.packages``, for the running version."""
    scala = "2.12" if spark.version.startswith("3.") else "2.13"
    return f"org.apache.spark:spark-sql-kafka-0-10_{scala}:{spark.version or pyspark.__version__}"


def _properties(jvm: Any, kafka: Kafka, options: Mapping[str, str]) -> Any:
    properties = jvm.java.util.Properties()
    own = {
        "default.api.timeout.ms": _ANSWER_MS,
        "request.timeout.ms": _ANSWER_MS,
        **options,
        "bootstrap.servers": kafka.servers,
        "key.deserializer": _BYTES,
        "value.deserializer": _BYTES,
        "allow.auto.create.topics": "false",
        "enable.auto.commit": "false",
    }
    for name, value in own.items():
        properties.setProperty(name, value)
    return properties


@contextmanager
def _translate_errors(kafka: Kafka) -> Iterator[None]:
    """Translate Kafka's errors. Their messages may repeat options, so only some are passed on."""
    topic = f"Kafka topic {kafka.topic}"
    try:
        yield
    except Py4JJavaError as error:
        kinds = [*_kinds(error.java_exception)]
        if any(kind.startswith(_DENIED) for kind in kinds):
            raise SourceDenied(f"{topic}: login refused by Kafka ({kinds[0]})") from None
        if any(kind in ("UnknownTopicOrPartitionException", "InvalidTopicException") for kind in kinds):
            raise SourceMissing(f"{topic}: no such topic") from None
        if any(kind == "ConfigException" for kind in kinds):
            problem = "Kafka rejects these servers or options"
            raise ConfigError(kafka.key, problem) from None
        if any("Timeout" in kind or "Disconnect" in kind for kind in kinds):
            raise SourceUnreachable(f"{topic}: no response from {kafka.servers}") from None
        raise SourceError(f"{topic}: {kinds[0]}") from None
    except Py4JError:
        raise SourceError(f"{topic}: Spark's Java process does not answer") from None


def _kinds(error: Any) -> Iterator[str]:
    """Return the class names of an error and its causes."""
    while error is not None:
        yield error.getClass().getSimpleName()
        error = error.getCause()

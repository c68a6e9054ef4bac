"""Checks of Kafka without its client, which is in Spark's Java process: servers and landing folder."""

import socket
from collections.abc import Iterator

from lineage_merge.config import Config
from lineage_merge.infra.storage import list_files
from lineage_merge.model.errors import ConfigError, SourceError, SourceMissing, SourceUnreachable
from lineage_merge.naming import redact
from lineage_merge.sources.diagnosis import Diagnosis, fix_for, ok, report_failure
from lineage_merge.sources.kafka_landing.files import find_landed_offsets, folder_of
from lineage_merge.sources.kafka_landing.settings import Kafka

KAFKA = "Kafka"
_SECONDS = 5.0


def list_topics(config: Config) -> Iterator[Kafka]:
    """Return the configured topics."""
    for settings in config.sources.values():
        kafka = getattr(settings, "kafka", None)
        if isinstance(kafka, Kafka):
            yield kafka


def check(kafka: Kafka) -> None:
    """Connect to any of the servers, and check the passwords that options reference.

    Raises `SourceUnreachable`, or what `Kafka.all_options` raises.
    """
    kafka.all_options()
    reasons: list[str] = []
    for server in kafka.servers.split(","):
        host, _, port = server.strip().rpartition(":")
        try:
            with socket.create_connection((host.strip("[]"), int(port)), _SECONDS):
                return
        except (OSError, OverflowError, ValueError) as error:
            reason = getattr(error, "strerror", None) or type(error).__name__
            reasons.append(f"{server.strip()} ({reason})")
    raise SourceUnreachable(f"Kafka topic {kafka.topic}: no connection to {', '.join(reasons)}")


def examine(kafka: Kafka) -> Iterator[Diagnosis]:
    """Check the servers of a topic and its landed offsets. The topic itself requires Spark."""
    try:
        check(kafka)
    except ConfigError as error:
        yield report_failure(KAFKA, error, "set the variable or secret that the options refer to")
        return
    except SourceError as error:
        yield report_failure(KAFKA, error, f"correct {kafka.key}.servers, or allow access (security group)")
        return
    folder = folder_of(kafka)
    try:
        until = find_landed_offsets(file.location for file in list_files(folder))
    except SourceMissing:
        until = {}
    except SourceError as error:
        yield report_failure(KAFKA, error, fix_for(error, folder, f"{kafka.key}.landing"))
        return
    message = f"{kafka.topic} at {kafka.servers} is available"
    read = sum(until.values())
    yield ok(KAFKA, f"{message}; {redact(folder)}: read up to {read} in {len(until)} partitions")

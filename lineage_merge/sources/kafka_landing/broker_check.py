"""Check that a Kafka broker can be reached, without its client, which is in Spark's Java process."""

import socket
from collections.abc import Iterator

from lineage_merge.config import Config
from lineage_merge.model.errors import SourceUnreachable
from lineage_merge.sources.kafka_landing.settings import Kafka

_SECONDS = 5.0


def configured(config: Config) -> Iterator[Kafka]:
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

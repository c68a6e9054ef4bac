"""Check of Kafka: its servers, and the landing folder."""

from collections.abc import Iterator

from lineage_merge.config import Config
from lineage_merge.infra.storage import list_files
from lineage_merge.model.errors import ConfigError, SourceError, SourceMissing
from lineage_merge.naming import redact
from lineage_merge.orchestration.doctor.exports import fix_for
from lineage_merge.orchestration.doctor.finding import Finding, failed, ok
from lineage_merge.sources.kafka_landing import broker_check
from lineage_merge.sources.kafka_landing.offsets import folder_of, landed_until

KAFKA = "Kafka"


def examine(config: Config) -> Iterator[Finding]:
    """Check the servers of each topic and its landed offsets. Topics themselves require Spark."""
    for kafka in broker_check.configured(config):
        try:
            broker_check.check(kafka)
        except ConfigError as error:
            yield failed(KAFKA, error, "set the variable or secret that the options refer to")
            continue
        except SourceError as error:
            yield failed(KAFKA, error, f"correct {kafka.key}.servers, or allow access (security group)")
            continue
        folder = folder_of(kafka)
        try:
            until = landed_until(file.location for file in list_files(folder))
        except SourceMissing:
            until = {}
        except SourceError as error:
            yield failed(KAFKA, error, fix_for(error, folder, f"{kafka.key}.landing"))
            continue
        message = f"{kafka.topic} at {kafka.servers} is available"
        read = sum(until.values())
        yield ok(KAFKA, f"{message}; {redact(folder)}: read up to {read} in {len(until)} partitions")

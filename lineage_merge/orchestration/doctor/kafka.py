"""Does Kafka answer, and is the landing folder a place that can be read?"""

from collections.abc import Iterator

from lineage_merge.config import Config
from lineage_merge.infra.storage import list_files
from lineage_merge.model.errors import ConfigError, SourceError, SourceMissing
from lineage_merge.naming import redact
from lineage_merge.orchestration.doctor.exports import how_to_mend
from lineage_merge.orchestration.doctor.finding import Finding, failed, ok
from lineage_merge.sources.kafka_landing import broker_check
from lineage_merge.sources.kafka_landing.offsets import folder_of, landed_until

KAFKA = "Kafka"


def examine(config: Config) -> Iterator[Finding]:
    """Each topic's servers, and how far it was read. Topics themselves only Spark can ask for."""
    for kafka in broker_check.configured(config):
        try:
            broker_check.check(kafka)
        except ConfigError as error:
            yield failed(KAFKA, error, "set what the options name, or name another")
            continue
        except SourceError as error:
            yield failed(KAFKA, error, f"check {kafka.key}.servers, the network and the security group")
            continue
        folder = folder_of(kafka)
        try:
            until = landed_until(file.location for file in list_files(folder))
        except SourceMissing:
            until = {}
        except SourceError as error:
            yield failed(KAFKA, error, how_to_mend(error, folder, f"{kafka.key}.landing"))
            continue
        told = f"{kafka.topic} at {kafka.servers} answers"
        read = sum(until.values())
        yield ok(KAFKA, f"{told}; {redact(folder)}: read up to {read} in {len(until)} partitions")

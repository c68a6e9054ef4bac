"""Kafka: ``kafka://broker:9092`` and the topic.

Spline writes ``kafka:topic``, without the brokers: the namespace is ``kafka`` then. Of
several brokers the first counts, as OpenLineage's own listener has it.
"""

from lineage_merge.infra.redaction import redact
from lineage_merge.model.elements import DatasetName
from lineage_merge.model.errors import NamingError
from lineage_merge.naming.address import Address, canonical_hosts, without_parameters
from lineage_merge.naming.named import Defaults, Located, Named

_PORT = 9092


class Kafka:
    def claims(self, address: Address) -> bool:
        return address.scheme == "kafka"

    def canonical_namespace(self, address: Address) -> str:
        broker = canonical_hosts(address.authority or "", _PORT).partition(",")[0]
        return f"kafka://{broker}" if broker else "kafka"

    def locate(self, address: Address) -> Located:
        topic = without_parameters(address.rest).strip("/")
        if "," in topic:
            raise NamingError(f"{redact(address.text)}: names several topics")
        return Located(self.canonical_namespace(address), topic)

    def identify(self, namespace: str, name: str, defaults: Defaults) -> Named:
        if not name:
            raise NamingError(f"{redact(namespace)}: names no topic")
        return Named(DatasetName(namespace, name), label="topic", stored_as_files=False, short_name=name)


KAFKA = Kafka()

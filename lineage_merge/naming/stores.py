"""Stores that are neither files nor relational (Cassandra, Elasticsearch, MongoDB, Kafka), and all others."""

import re
from dataclasses import dataclass

from lineage_merge.infra.redaction import redact
from lineage_merge.model.elements import DatasetName
from lineage_merge.model.errors import NamingError
from lineage_merge.naming.address import (
    Address,
    canonical_hosts,
    parse,
    parse_namespace,
    remove_parameters,
    trim,
)
from lineage_merge.naming.filesystem import FileSystem
from lineage_merge.naming.identifiers import join_name, split_name
from lineage_merge.naming.jdbc import Connection, table_identifiers
from lineage_merge.naming.named import Defaults, Located, Named
from lineage_merge.naming.warehouse import Warehouse


@dataclass(frozen=True, kw_only=True)
class Cassandra(Warehouse):
    """Cassandra: ``cassandra://host:9042`` and ``keyspace.table``.

    Spline writes ``cassandra:keyspace:table``, without the host: the namespace is ``cassandra`` then.
    """

    def locate(self, address: Address) -> Located:
        if address.authority is not None:
            return Warehouse.locate(self, address)
        return Located(self.scheme, join_name(address.rest.split(":", 1)))


CASSANDRA = Cassandra(scheme="cassandra", port=9042, levels=2)

_ELASTICSEARCH_PORT = 9200


class Elasticsearch:
    """Elasticsearch: ``elasticsearch://host:9200`` and the index, with its type where one is given.

    OpenLineage's specification has no entry for it; this follows its pattern.
    """

    def claims(self, address: Address) -> bool:
        return address.scheme in {"elasticsearch", "es"}

    def canonical_namespace(self, address: Address) -> str:
        hosts = canonical_hosts(_server(address).authority or "", _ELASTICSEARCH_PORT)
        return f"elasticsearch://{hosts}" if hosts else "elasticsearch"

    def locate(self, address: Address) -> Located:
        return Located(self.canonical_namespace(address), remove_parameters(_server(address).rest))

    def identify(self, namespace: str, name: str, defaults: Defaults) -> Named:
        index = "/".join(part for part in name.split("/") if part)
        if not index:
            raise NamingError(f"{redact(namespace)}: names no index")
        short_name = index.split("/")[0]
        return Named(
            DatasetName(namespace, index), label="table", stored_as_files=False, short_name=short_name
        )


def _server(address: Address) -> Address:
    """The option `es.nodes` may hold a URL: ``elasticsearch://https://host:9200/index``."""
    if (address.authority or "").lower() in {"http:", "https:"}:
        return parse("elasticsearch:" + address.rest)
    return address


ELASTICSEARCH = Elasticsearch()

_MONGODB_PORTS = {"mongodb": 27017, "mongodb+srv": None}


class MongoDB:
    """MongoDB: ``mongodb://host:27017`` and ``database.collection``.

    Spline writes the connection string, a slash, and the name:
    ``mongodb://host:27017/admin?replicaSet=rs0/shop.orders``. OpenLineage's specification has
    no entry for it; this follows its pattern. The name after ``mongodb+srv://`` is looked up
    in DNS and has no port.
    """

    def claims(self, address: Address) -> bool:
        return address.scheme in _MONGODB_PORTS

    def canonical_namespace(self, address: Address) -> str:
        hosts = canonical_hosts(address.authority or "", _MONGODB_PORTS[address.scheme])
        return f"{address.scheme}://{hosts}" if hosts else address.scheme

    def locate(self, address: Address) -> Located:
        name = address.rest.rpartition("/")[2]
        if "?" in name or "=" in name or "." not in name:
            raise NamingError(f"{redact(address.text)}: names no collection")
        return Located(self.canonical_namespace(address), name)

    def identify(self, namespace: str, name: str, defaults: Defaults) -> Named:
        if not name:
            raise NamingError(f"{redact(namespace)}: names no collection")
        database = defaults.get(namespace, "").partition(".")[0]
        if "." not in name and database:
            name = f"{database}.{name}"
        # A collection's name may have dots, a database's may not.
        short_name = name.partition(".")[2] or name
        return Named(
            DatasetName(namespace, name), label="table", stored_as_files=False, short_name=short_name
        )


MONGODB = MongoDB()

_KAFKA_PORT = 9092


class KafkaBroker:
    """Kafka: ``kafka://broker:9092`` and the topic.

    Spline writes ``kafka:topic``, without the brokers: the namespace is ``kafka`` then. Of
    several brokers the first in the alphabet counts: clients list those of one cluster in any order.
    """

    def claims(self, address: Address) -> bool:
        return address.scheme == "kafka"

    def canonical_namespace(self, address: Address) -> str:
        broker = min(canonical_hosts(address.authority or "", _KAFKA_PORT).split(","))
        return f"kafka://{broker}" if broker else "kafka"

    def locate(self, address: Address) -> Located:
        topic = remove_parameters(address.rest).strip("/")
        if "," in topic:
            raise NamingError(f"{redact(address.text)}: names several topics")
        return Located(self.canonical_namespace(address), topic)

    def identify(self, namespace: str, name: str, defaults: Defaults) -> Named:
        if not name:
            raise NamingError(f"{redact(namespace)}: names no topic")
        return Named(DatasetName(namespace, name), label="topic", stored_as_files=False, short_name=name)


KAFKA = KafkaBroker()


_LEVELS = 3
# A namespace contains no glob, and after a server no list. Redaction leaves separators before a space.
_PARAMETERS = re.compile(r"[;?]|(?<![,#&])[,#&]++(?!\S)")
_PARAMETERS_OF_SERVER = re.compile(r"[;?,]|(?<![#&])[#&]++(?!\S)")


@dataclass(frozen=True, kw_only=True)
class Other(FileSystem):
    def claims(self, address: Address) -> bool:
        return True

    def claims_jdbc(self, connection: Connection) -> bool:
        return True

    def canonical_namespace(self, address: Address) -> str:
        pattern = _PARAMETERS_OF_SERVER if address.authority else _PARAMETERS
        rest = address.rest
        while (shorter := trim(pattern.split(rest, maxsplit=1)[0])) != rest:
            rest = shorter
        if address.authority:
            return f"{address.scheme}://{address.authority}{rest}"
        if address.scheme and rest:
            # Two slashes would turn the next segment into a host.
            path = f"/{rest.lstrip('/')}" if rest.startswith("/") else rest
            return f"{address.scheme}:{path}"
        return address.scheme if ":" in address.text and address.scheme else address.text

    def locate(self, address: Address) -> Located:
        if not address.scheme:
            raise NamingError(f"{redact(address.text)}: is neither a URI nor an absolute path")
        if address.scheme == "memory":  # Spline's address of a count() or a collect()
            raise NamingError(f"{redact(address.text)}: is the memory of a driver, not a dataset")
        rest = remove_parameters(address.rest)
        if address.authority is None and not rest.startswith("/"):
            return Located(address.scheme, rest)
        located = FileSystem.locate(self, address._replace(rest=rest))
        return located if located.name else located._replace(name="/")

    def identify(self, namespace: str, name: str, defaults: Defaults) -> Named:
        if name.startswith("/"):
            return FileSystem.identify(self, namespace, name, defaults)
        if not name:
            raise NamingError(f"{redact(namespace)}: an empty name")
        table = split_name(name)[-1].value or name
        return Named(DatasetName(namespace, name), label="table", stored_as_files=False, short_name=table)

    def locate_jdbc(self, connection: Connection, table: str) -> Located:
        parts = [part.value for part in table_identifiers(connection.url, table)]
        if connection.authority:
            database = [part for part in connection.database.split("/") if part]
            missing = max(_LEVELS - len(parts), 0)
            namespace = f"{connection.protocols[0]}://{connection.authority.lower()}"
            return Located(namespace, join_name([*database[:missing], *parts]))
        if not connection.path or "@" in connection.path or "=" in connection.path:
            raise NamingError(f"{redact(connection.url)}: names no host")
        address = parse_namespace(":".join([*connection.protocols, connection.path]))
        return Located(self.canonical_namespace(address), join_name(parts))


OTHER = Other()

# The last one claims all other addresses.
PLATFORMS = (CASSANDRA, ELASTICSEARCH, MONGODB, KAFKA, OTHER)

"""A real Kafka broker for tests: one node in KRaft mode, on Java that is there anyway.

Its jars are fetched and cached like those of the Gremlin Server. Topics are made and filled
with Kafka's own client in Spark's Java process, which has it for Spark's Kafka source.
"""

import socket
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import SparkSession

from lineage_merge.infra.embedded.jars import Bundle, bundle_jars
from lineage_merge.infra.embedded.java import find_java

_VERSION = "3.9.1"
_BUNDLE = Bundle(f"Kafka {_VERSION}", Path(__file__).with_name("locks") / f"kafka-{_VERSION}.lock")
_CLUSTER = "MkU3OEVBNTcwNTJENDM2Qk"
_START_SECONDS = 60


class Broker(NamedTuple):
    """A broker's addresses: for anybody, and for who logs in."""

    servers: str
    login_servers: str
    user: str = "reader"
    password: str = "a-password-of-kafka"


class Message(NamedTuple):
    """A record to send."""

    value: str | None
    headers: Mapping[str, str] = {}
    partition: int = 0


@contextmanager
def broker(folder: Path) -> Iterator[Broker]:
    """A broker whose data lie in `folder`; it ends with the block."""
    java, jars = find_java(), bundle_jars(_BUNDLE, lambda _: None)
    plain, login, controller = (_free_port() for _ in range(3))
    found = Broker(f"127.0.0.1:{plain}", f"127.0.0.1:{login}")
    settings = folder / "server.properties"
    settings.write_text(
        f"""\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{plain},LOGIN://127.0.0.1:{login},CONTROLLER://127.0.0.1:{controller}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,LOGIN:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
sasl.enabled.mechanisms=PLAIN
listener.name.login.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule \
required user_{found.user}="{found.password}";
log.dirs={folder / "data"}
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
"""
    )
    command = [str(java), "-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", f"{jars}/*"]
    form = [*command, "kafka.tools.StorageTool", "format", "-t", _CLUSTER, "-c", str(settings)]
    subprocess.run(form, check=True, capture_output=True)
    log = folder / "broker.log"
    with (
        log.open("wb") as output,
        subprocess.Popen([*command, "kafka.Kafka", str(settings)], stdout=output, stderr=output) as process,
    ):
        try:
            _wait(process, log)
            yield found
        finally:
            process.kill()


def _wait(process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while b"Kafka Server started" not in log.read_bytes():
        assert process.poll() is None, log.read_text()[-2000:]
        assert time.monotonic() < deadline, "the broker does not start"
        time.sleep(0.1)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


class Topics:
    """Makes topics and fills them."""

    def __init__(self, spark: SparkSession, servers: str) -> None:
        self._spark: Any = spark
        self._jvm: Any = spark._jvm
        self._servers = servers

    def make(self, name: str, partitions: int = 1) -> None:
        """A new topic."""
        topics = self._jvm.java.util.ArrayList()
        topics.add(self._admin_package.NewTopic(name, partitions, 1))
        with self._admin() as admin:
            admin.createTopics(topics).all().get()

    def send(self, name: str, messages: Iterable[Message]) -> None:
        """Append records, in their order."""
        serializer = "org.apache.kafka.common.serialization.StringSerializer"
        properties = self._properties()
        properties.setProperty("key.serializer", serializer)
        properties.setProperty("value.serializer", serializer)
        clients = self._jvm.org.apache.kafka.clients.producer
        producer = clients.KafkaProducer(properties)
        for message in messages:
            record = clients.ProducerRecord(name, message.partition, None, message.value)
            for key, value in message.headers.items():
                record.headers().add(key, value.encode())
            producer.send(record)
        producer.close()

    def forget(self, name: str, before: int, partition: int = 0) -> None:
        """Delete the records before an offset, as retention does."""
        which = self._jvm.org.apache.kafka.common.TopicPartition(name, partition)
        # Not as RecordsToDelete.beforeOffset(before): a method that is not static has the same name.
        gateway = self._spark.sparkContext._gateway
        loader = self._jvm.java.lang.Thread.currentThread().getContextClassLoader()
        long = gateway.new_array(self._jvm.java.lang.Class, 1)
        long[0] = self._jvm.java.lang.Long.TYPE
        made_by = loader.loadClass("org.apache.kafka.clients.admin.RecordsToDelete").getMethod(
            "beforeOffset", long
        )
        given = gateway.new_array(self._jvm.java.lang.Object, 1)
        given[0] = self._jvm.java.lang.Long(before)
        until = made_by.invoke(None, given)
        with self._admin() as admin:
            admin.deleteRecords(self._jvm.java.util.Collections.singletonMap(which, until)).all().get()

    @property
    def _admin_package(self) -> Any:
        return self._jvm.org.apache.kafka.clients.admin

    def _properties(self) -> Any:
        properties = self._jvm.java.util.Properties()
        properties.setProperty("bootstrap.servers", self._servers)
        return properties

    @contextmanager
    def _admin(self) -> Iterator[Any]:
        admin = self._admin_package.AdminClient.create(self._properties())
        try:
            yield admin
        finally:
            admin.close()

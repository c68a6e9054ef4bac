"""Errors of Spark become one line, and errors of this package are raised unchanged."""

import logging
import socket
import struct
import threading
from socketserver import BaseRequestHandler, TCPServer

import pytest
from py4j.java_gateway import GatewayClient, GatewayParameters
from pyspark.sql import SparkSession

from lineage_merge.infra.spark_errors import own_errors
from lineage_merge.infra.spark_session import quiet_server
from lineage_merge.model.errors import DocumentError, LineageMergeError


def message(spark: SparkSession, text: str) -> str:
    """Return the message for an error of Spark's workers with this text."""
    with pytest.raises(LineageMergeError) as raised, own_errors():
        spark.range(1).selectExpr(f"raise_error('{text}')").collect()
    return str(raised.value)


@pytest.mark.jvm
@pytest.mark.parametrize(
    "text",
    [
        "java.lang.OutOfMemoryError: Java heap space",
        "org.apache.spark.memory.SparkOutOfMemoryError: [UNABLE_TO_ACQUIRE_MEMORY] got 0",
    ],
)
def test_a_lack_of_memory_is_reported_with_a_fix(spark: SparkSession, text: str) -> None:
    assert "ran out of memory" in message(spark, text)
    assert "SPARK_DRIVER_MEMORY" in message(spark, text)


@pytest.mark.jvm
def test_another_failure_is_reported_in_one_line(spark: SparkSession) -> None:
    text = message(spark, "the disk is full")
    assert text.startswith("Spark failed: ")
    assert "the disk is full" in text
    assert "\n" not in text


@pytest.mark.jvm
def test_an_error_of_our_own_is_raised_as_what_it_was(spark: SparkSession) -> None:
    def broken(_number: int) -> int:
        raise DocumentError("manifest.json", "nodes", "is not an object")

    with pytest.raises(DocumentError, match=r"^manifest\.json: nodes: is not an object"), own_errors():
        spark.sparkContext.parallelize([1], 1).map(broken).collect()


@pytest.mark.parametrize(
    ("error", "is_reported"), [(EOFError, False), (ConnectionResetError, False), (ValueError, True)]
)
def test_the_end_of_the_jvm_is_no_traceback_of_the_server_that_it_talked_to(
    capsys: pytest.CaptureFixture[str], error: type[Exception], is_reported: bool
) -> None:
    class Handler(BaseRequestHandler):
        def handle(self) -> None:
            raise error("the connection")

    with TCPServer(("127.0.0.1", 0), Handler) as server:
        quiet_server(server)
        with socket.create_connection(("127.0.0.1", server.socket.getsockname()[1])):
            server.handle_request()
    assert ("Traceback" in capsys.readouterr().err) is is_reported


@pytest.mark.jvm
def test_tracebacks_of_the_server_of_a_session_are_suppressed(spark: SparkSession) -> None:
    server = spark.sparkContext._accumulatorServer
    assert server.handle_error.__module__ == "lineage_merge.infra.spark_session"


@pytest.mark.jvm
@pytest.mark.usefixtures("spark")
def test_a_request_to_an_ended_jvm_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    reset = struct.pack("ii", 1, 0)  # closing it sends RST, as the system does for who was killed

    def end(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        with connection:
            connection.recv(100)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        killed = threading.Thread(target=end, args=(listening,))
        killed.start()
        client = GatewayClient(gateway_parameters=GatewayParameters(port=listening.getsockname()[1]))
        with caplog.at_level(logging.DEBUG):
            assert client.send_command("m\nd\no0\ne\n") == "x"  # an error, as an answer
        killed.join()
    assert not [each for each in caplog.records if each.name == "root"]

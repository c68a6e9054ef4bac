from io import BytesIO
from typing import Any

import pytest
from gremlin_python.driver.request import RequestMessage
from gremlin_python.driver.serializer import GraphBinarySerializersV1
from gremlin_python.process.traversal import Direction, T
from gremlin_python.statics import long
from gremlin_python.structure.graph import Edge, Vertex
from gremlin_python.structure.io.graphbinaryV1 import GraphBinaryWriter

from lineage_merge.load.gremlin.serializer import serializer
from lineage_merge.load.gremlin.upserts import bytecode, edge_upsert, vertex_upserts

NODE = {
    "id": "dev|b|é",
    "label": "file",
    "environment": "dev",
    "dag_name": "d",
    "name": "😀\n",
    "rows_written": 3,
}
EDGE = {
    "id": "e",
    "label": "feeds",
    "from": "a",
    "to": "b",
    "environment": "dev",
    "dag_name": "d",
    "via": "$x",
}


@pytest.mark.parametrize("upserts", [list(vertex_upserts(NODE | {"tags": ["", "t"]})), [edge_upsert(EDGE)]])
def test_the_fast_path_writes_the_same_bytes_as_gremlinpython(upserts: list[Any]) -> None:
    args = {"gremlin": bytecode(upserts), "aliases": {"g": "g"}}
    message = RequestMessage("traversal", "bytecode", args)
    request_id = "7a1f2f0e-6f0a-4d50-8a5e-3f6f3f1f0b11"
    ours = serializer().serialize_message(request_id, message._replace(args=dict(args)))
    assert ours == GraphBinarySerializersV1().serialize_message(request_id, message)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "dev|s3://bücket|😀\n",
        [],
        {},
        ["a", None, ["b", {}], 3, long(2**40), 1.5, True],
        {"id": "a", "properties": {"tags": ["x", "y"], "rows": long(7), "none": None}},
        {T.id: "a", T.label: "file", "in": {Direction.OUT: {T.id: "b"}}},
        {"x", "y"},
        Vertex("a", "file"),
        Edge("e", Vertex("a", "file"), "feeds", Vertex("b", "table")),
    ],
)
def test_the_fast_path_reads_what_gremlinpython_reads(value: Any) -> None:
    written = GraphBinaryWriter().write_object(value)
    own_reader, original_reader = (
        each._graphbinary_reader for each in (serializer(), GraphBinarySerializersV1())
    )

    # Twice in one buffer: each reads exactly its own bytes.
    buffer = BytesIO(written + written)
    read = [own_reader.read_object(buffer), own_reader.read_object(buffer)]

    assert read == [original_reader.read_object(written)] * 2
    assert type(read[0]) is type(original_reader.read_object(written))
    assert not buffer.read()


def test_maps_and_lists_as_keys_are_read_as_gremlinpython_reads_them() -> None:
    # {["a"]: "b"}: group() by a list, as the server would send it.
    written = bytearray(
        b"\x0a\x00\x00\x00\x00\x01" + b"\x09\x00\x00\x00\x00\x01" + b"\x03\x00\x00\x00\x00\x01a"
    )
    written += b"\x03\x00\x00\x00\x00\x01b"

    read = serializer()._graphbinary_reader.read_object(written)

    assert read == GraphBinarySerializersV1()._graphbinary_reader.read_object(written) == {("a",): "b"}

from typing import Any

import pytest
from gremlin_python.driver.request import RequestMessage
from gremlin_python.driver.serializer import GraphBinarySerializersV1

from lineage_merge.load.requests import bytecode, edge_upsert, vertex_upserts
from lineage_merge.load.serializer import serializer

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
def test_the_short_way_writes_the_same_bytes_as_gremlinpython(upserts: list[Any]) -> None:
    args = {"gremlin": bytecode(upserts), "aliases": {"g": "g"}}
    message = RequestMessage("traversal", "bytecode", args)
    request_id = "7a1f2f0e-6f0a-4d50-8a5e-3f6f3f1f0b11"
    ours = serializer().serialize_message(request_id, message._replace(args=dict(args)))
    assert ours == GraphBinarySerializersV1().serialize_message(request_id, message)

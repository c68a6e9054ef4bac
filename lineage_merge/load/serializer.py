"""gremlinpython's GraphBinary, with a short way for what requests are made of.

Writing a request is a third of the loader's work, and nearly all of it is text and a few
constants (`T.id`, `Merge.on_create`, ...). The bytes are the same.
"""

from enum import Enum
from struct import Struct
from typing import Any

from gremlin_python.driver.serializer import GraphBinarySerializersV1
from gremlin_python.process.traversal import Cardinality, Direction, Merge, T
from gremlin_python.structure.io.graphbinaryV1 import GraphBinaryWriter

_length = Struct(">i").pack
_STRING_NOT_NULL = b"\x03\x00"


class _Text:
    """Writes a `str`."""

    @staticmethod
    def dictify(obj: str, _writer: Any, to_extend: bytearray, *_: bool) -> bytearray:
        text = obj.encode()
        to_extend += _STRING_NOT_NULL
        to_extend += _length(len(text))
        to_extend += text
        return to_extend


class _Constants:
    """Writes the members of an enumeration, each serialised once."""

    def __init__(self, members: Any) -> None:
        writer = GraphBinaryWriter()
        self._bytes: dict[Enum, bytes] = {}
        for member in members:
            written = bytearray()
            writer.to_dict(member, written)
            self._bytes[member] = bytes(written)

    def dictify(self, obj: Enum, _writer: Any, to_extend: bytearray, *_: bool) -> bytearray:
        to_extend += self._bytes[obj]
        return to_extend


def serializer() -> GraphBinarySerializersV1:
    """A message serializer for a driver's `message_serializer`."""
    short = {str: _Text, **{kind: _Constants(kind) for kind in (T, Merge, Cardinality, Direction)}}
    return GraphBinarySerializersV1(writer=GraphBinaryWriter(short))

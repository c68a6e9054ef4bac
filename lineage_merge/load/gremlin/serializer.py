"""gremlinpython's GraphBinary serializer with fast paths for frequent types.

Serialization is a third of the loader's work, and nearly all of it is strings and a few constants (`T.id`,
`Merge.on_create`, ...). Deserialization is most of a query's work, and nearly all of it is strings, lists and
maps. The bytes and the values are identical to gremlinpython's.
"""

from enum import Enum
from io import SEEK_CUR, BytesIO
from struct import Struct
from typing import Any

from gremlin_python.driver.serializer import GraphBinarySerializersV1
from gremlin_python.process.traversal import Cardinality, Direction, Merge, T
from gremlin_python.structure.io.graphbinaryV1 import GraphBinaryReader, GraphBinaryWriter
from gremlin_python.structure.io.util import HashableDict

_length = Struct(">i").pack
_read_length = Struct(">i").unpack
_STRING_NOT_NULL = b"\x03\x00"
_LIST_NOT_NULL = b"\x09\x00"
_MAP_NOT_NULL = b"\x0a\x00"


class _FastText:
    """Serializes a `str`."""

    @staticmethod
    def dictify(obj: str, _writer: Any, to_extend: bytearray, *_: bool) -> bytearray:
        text = obj.encode()
        to_extend += _STRING_NOT_NULL
        to_extend += _length(len(text))
        to_extend += text
        return to_extend


class _Constants:
    """Serializes the members of an enumeration, from bytes computed once."""

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


class _FastReader(GraphBinaryReader):  # type: ignore[misc] # gremlinpython has no types
    """Deserializes strings, lists and maps, and leaves other types to gremlinpython."""

    def to_object(self, buff: BytesIO, data_type: Any = None, nullable: bool = True) -> Any:
        if data_type is not None:
            return super().to_object(buff, data_type, nullable)
        read = buff.read
        kind = read(2)
        if kind == _STRING_NOT_NULL:
            return read(_read_length(read(4))[0]).decode()
        if kind == _MAP_NOT_NULL:
            found: dict[Any, Any] = {}
            for _ in range(_read_length(read(4))[0]):
                key = self.to_object(buff)
                # Like gremlinpython: lists and maps as keys become hashable.
                found[key if type(key) is str else HashableDict.of(key)] = self.to_object(buff)
            return found
        if kind == _LIST_NOT_NULL:
            return [self.to_object(buff) for _ in range(_read_length(read(4))[0])]
        buff.seek(-len(kind), SEEK_CUR)
        return super().to_object(buff, None, nullable)

    def read_object(self, b: bytearray | BytesIO) -> Any:
        return self.to_object(BytesIO(b) if isinstance(b, bytearray) else b)


def serializer() -> GraphBinarySerializersV1:
    """Return a message serializer for a driver's `message_serializer`."""
    fast = {str: _FastText, **{kind: _Constants(kind) for kind in (T, Merge, Cardinality, Direction)}}
    return GraphBinarySerializersV1(reader=_FastReader(), writer=GraphBinaryWriter(fast))

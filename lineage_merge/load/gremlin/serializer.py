"""gremlinpython's GraphBinary serializer with fast paths for frequent types.

Serialization is a third of the loader's work, and nearly all of it is steps whose arguments are strings, maps
and a few constants (`T.id`, `Merge.on_create`, ...). Deserialization is most of a query's work, and nearly
all of it is strings, lists and maps. The bytes and the values are identical to gremlinpython's.
"""

from functools import lru_cache
from io import SEEK_CUR, BytesIO
from struct import Struct
from typing import Any

from gremlin_python.driver.serializer import GraphBinarySerializersV1
from gremlin_python.process.traversal import Bytecode, Cardinality, Direction, Merge, T
from gremlin_python.statics import LongType
from gremlin_python.structure.io.graphbinaryV1 import (
    BytecodeIO,
    GraphBinaryReader,
    GraphBinaryWriter,
    LongIO,
)
from gremlin_python.structure.io.util import HashableDict

_length = Struct(">i").pack
_long = Struct(">q").pack
_read_length = Struct(">i").unpack
_LONG_MIN, _LONG_MAX = -(2**63), 2**63 - 1
_LONG_NOT_NULL = b"\x02\x00"
_STRING_NOT_NULL = b"\x03\x00"
_LIST_NOT_NULL = b"\x09\x00"
_MAP_NOT_NULL = b"\x0a\x00"
_BYTECODE_NOT_NULL = b"\x15\x00"


# Property names and step names: a few dozen. Their bytes are computed once.
_NAMES_CACHED = 1024


def _constants() -> dict[int, bytes]:
    """Return the bytes of enumeration members, by `id`: their own hash is a function in Python."""
    writer = GraphBinaryWriter()
    encoded = {}
    for kind in (T, Merge, Cardinality, Direction):
        for member in kind:
            encoded[id(member)] = bytes(writer.write_object(member))
    return encoded


_CONSTANTS = _constants()


def _text(text: str) -> bytes:
    encoded = text.encode()
    return _STRING_NOT_NULL + _length(len(encoded)) + encoded


_name = lru_cache(_NAMES_CACHED)(_text)


@lru_cache(_NAMES_CACHED)
def _step(name: str, arguments: int) -> bytes:
    """Return the bytes of a step before its arguments."""
    return _text(name)[len(_STRING_NOT_NULL) :] + _length(arguments)


class _FastText:
    """Serializes a `str`."""

    @staticmethod
    def dictify(obj: str, _writer: Any, to_extend: bytearray, *_: bool) -> bytearray:
        to_extend += _text(obj)
        return to_extend


class _FastLong:
    """Serializes a 64-bit integer."""

    @staticmethod
    def dictify(obj: int, writer: Any, to_extend: bytearray, *_: bool) -> bytearray:
        if not _LONG_MIN <= obj <= _LONG_MAX:
            LongIO.dictify(obj, writer, to_extend)  # raises its error
        to_extend += _LONG_NOT_NULL
        to_extend += _long(obj)
        return to_extend


class _FastBytecode:
    """Serializes a traversal; leaves arguments other than strings, maps and constants to gremlinpython."""

    @staticmethod
    def dictify(obj: Bytecode, writer: Any, to_extend: bytearray, *_: bool) -> bytearray:
        if obj.source_instructions:
            BytecodeIO.dictify(obj, writer, to_extend)
            return to_extend
        constants, other = _CONSTANTS, writer.to_dict
        to_extend += _BYTECODE_NOT_NULL
        to_extend += _length(len(obj.step_instructions))
        for name, *arguments in obj.step_instructions:
            to_extend += _step(name, len(arguments))
            for argument in arguments:
                kind = type(argument)
                if kind is str:
                    to_extend += _text(argument)
                elif kind is dict:
                    to_extend += _MAP_NOT_NULL
                    to_extend += _length(len(argument))
                    for key, value in argument.items():
                        if type(key) is str:
                            to_extend += _name(key)
                        elif constant := constants.get(id(key)):
                            to_extend += constant
                        else:
                            other(key, to_extend)
                        if type(value) is str:
                            to_extend += _text(value)
                        else:
                            other(value, to_extend)
                elif constant := constants.get(id(argument)):
                    to_extend += constant
                else:
                    other(argument, to_extend)
        to_extend += _length(0)
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
            content: dict[Any, Any] = {}
            for _ in range(_read_length(read(4))[0]):
                key = self.to_object(buff)
                # Like gremlinpython: lists and maps as keys become hashable.
                content[key if type(key) is str else HashableDict.of(key)] = self.to_object(buff)
            return content
        if kind == _LIST_NOT_NULL:
            return [self.to_object(buff) for _ in range(_read_length(read(4))[0])]
        buff.seek(-len(kind), SEEK_CUR)
        return super().to_object(buff, None, nullable)

    def read_object(self, b: bytearray | BytesIO) -> Any:
        return self.to_object(BytesIO(b) if isinstance(b, bytearray) else b)


def serializer() -> GraphBinarySerializersV1:
    """Return a message serializer for a driver's `message_serializer`."""
    writer = GraphBinaryWriter({str: _FastText, LongType: _FastLong, Bytecode: _FastBytecode})
    return GraphBinarySerializersV1(reader=_FastReader(), writer=writer)

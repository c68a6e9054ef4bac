"""Hashes of the rows of an Arrow table, which are the same in every process.

Each distinct text of a column is hashed once, so that a column costs its distinct texts. The hash of a row
does not depend on the order of columns, nor on columns of which it has no value.
"""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

_SET_SEPARATOR = "\x1e"
# Multipliers and shifts of the finalizer of SplitMix64 (Steele, Lea, Flood 2014).
_MIX = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1))


def hash_rows(columns: Mapping[str, Any]) -> Any:
    """Return the hash of each row of several columns, of which the hashes of texts are given by name."""
    import pyarrow as pa
    import pyarrow.compute as pc

    sums = pa.scalar(0, pa.uint64())
    for name, hashes in columns.items():
        # An odd factor per column: texts that two columns exchange change the sum.
        weighted = pc.multiply(hashes, pa.scalar(hash_text(name) | 1, pa.uint64()))
        sums = pc.add(sums, pc.fill_null(weighted, pa.scalar(0, pa.uint64())))
    for shift, factor in _MIX:  # so that values which two rows exchange change the sum of their hashes
        shifted = pc.shift_right(sums, pa.scalar(shift, pa.uint64()))
        sums = pc.multiply(pc.bit_wise_xor(sums, shifted), pa.scalar(factor, pa.uint64()))
    return sums


def hash_texts(column: Any) -> Any:
    """Return the hash of each value of a column as a text: 64-bit numbers; unknown values stay unknown."""
    texts, positions = _distinct_texts(column)
    return _hash_distinct(texts).take(positions)


def hash_text(text: str) -> int:
    """Return the hash of a text, which is that of `hash_texts`."""
    return int.from_bytes(_digest(text.encode(errors="surrogatepass")), "little")


def _digest(text: bytes) -> bytes:
    return blake2b(text, digest_size=8).digest()


def _hash_distinct(texts: Any) -> Any:
    import pyarrow as pa

    encoded = texts.cast(pa.string()).cast(pa.binary()).to_pylist()
    digests = b"".join([_digest(text) for text in encoded])
    return pa.Array.from_buffers(pa.uint64(), len(texts), [None, pa.py_buffer(digests)])


def _distinct_texts(column: Any) -> tuple[Any, Any]:
    """Return the distinct texts of a column, and for each row the position of its text."""
    import pyarrow.compute as pc

    encoded = _encode(column)
    texts, positions = encoded.dictionary, encoded.indices
    if len(texts) <= len(positions):
        return texts, positions
    used = pc.unique(positions).drop_null()  # a part of a graph may have the dictionary of the whole
    return texts.take(used), pc.index_in(positions, value_set=used)


def _encode(column: Any) -> Any:
    """Return a column as one array with a dictionary of texts; of a set its sorted values."""
    import pyarrow as pa

    if pa.types.is_list(column.type):
        sets = column.to_pylist()
        texts = [None if each is None else _SET_SEPARATOR.join(sorted(each)) for each in sets]
        return pa.array(texts, pa.string()).dictionary_encode()
    if not pa.types.is_dictionary(column.type):
        column = column.cast(pa.string()).dictionary_encode()
    if not isinstance(column, pa.ChunkedArray):
        return column
    if not column.num_chunks:
        return pa.array([], pa.string()).dictionary_encode()
    return column.unify_dictionaries().combine_chunks() if column.num_chunks > 1 else column.chunk(0)

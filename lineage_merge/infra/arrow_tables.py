"""Tables and columns of Arrow: of rows, with texts by dictionary, and what masks say of them.

pyarrow is imported when something is called. `pyarrow.array` and `pyarrow.scalar` import pandas, so questions
make arrays by `text_array` and `position_array`.
"""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def table_of_rows(rows: Sequence[Mapping[str, Any]], schema: Any) -> Any:
    """Return rows as a table with those columns of a schema that a row has; other values are omitted."""
    import pyarrow as pa

    known = set().union(*rows)
    fields = [field for field in schema if field.name in known]
    columns = [array_of([row.get(field.name) for row in rows], field.type) for field in fields]
    return pa.table(columns, schema=pa.schema(fields))


def array_of(values: Sequence[Any], kind: Any) -> Any:
    """Return values as an array, with a question mark for an unpaired surrogate, which Arrow rejects."""
    import pyarrow as pa

    try:
        return pa.array(values, kind)
    except UnicodeEncodeError:
        return pa.array([*map(_replace_surrogates, values)], kind)


def _replace_surrogates(value: Any) -> Any:
    if isinstance(value, list | tuple | set | frozenset):
        return [*map(_replace_surrogates, value)]
    return value.encode(errors="replace").decode() if isinstance(value, str) else value


def encode_columns(table: Any) -> Any:
    """Return the columns that have values as one chunk each, texts by dictionary, but for ids.

    Raises `ValueError` if the texts of a column have more than 2 GB.
    """
    import pyarrow as pa

    required = {"id", "label", "from", "to"}
    columns: dict[str, Any] = {}
    for name in table.column_names:
        column = table[name]
        if column.null_count == len(column) and name not in required:
            continue
        is_id = name == "id"
        if pa.types.is_dictionary(column.type):
            column = column.unify_dictionaries()
            column = column.cast(pa.string()) if is_id else column
        elif column.type == pa.string() and not is_id:
            column = column.dictionary_encode()
        columns[name] = column.combine_chunks() if column.num_chunks else pa.array([], column.type)
        if hasattr(columns[name], "chunks"):  # its texts do not fit one array
            raise ValueError(f"the column {name} has more than 2 GB of text")
    return pa.table(columns)


def decode_columns(table: Any) -> Any:
    """Return a table whose texts have no dictionary."""
    import pyarrow as pa

    columns = {
        name: column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column
        for name, column in zip(table.column_names, table.columns, strict=True)
    }
    return pa.table(columns)


def get_column(table: Any, name: str) -> Any:
    """Return a column of a stored graph as one array; one of unknown values if the table does not have it."""
    import pyarrow as pa

    if name not in table.column_names:
        return pa.nulls(len(table), pa.string())
    column = table[name]
    if column.num_chunks == 1:
        return column.chunk(0)
    return column.combine_chunks() if column.num_chunks else pa.array([], column.type)


def is_one_of(column: Any, texts: Iterable[str]) -> Any:
    """Return for each row of an array whether its value is, or as a set has, one of the texts.

    False if it is unknown.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_list(column.type):
        return has_member(column, is_one_of(pc.list_flatten(column), texts))
    values = pa.array(list(texts), pa.string())
    if not pa.types.is_dictionary(column.type):
        return pc.is_in(column.cast(pa.string()), value_set=values)
    codes = pc.indices_nonzero(pc.is_in(column.dictionary, value_set=values))
    return pc.is_in(column.indices, value_set=codes.cast(pa.int32()))


def has_member(sets: Any, is_wanted: Any) -> Any:
    """Return for each row of an array of sets whether it has a wanted member, by a mask of all members."""
    import pyarrow as pa
    import pyarrow.compute as pc

    rows = pc.list_parent_indices(sets).filter(is_wanted).cast(pa.int32())
    return pc.is_in(all_positions(len(sets)), value_set=rows)


def all_positions(number: int) -> Any:
    """Return the positions of so many rows."""
    return position_array(range(number))


def position_array(positions: Sequence[int]) -> Any:
    """Return positions as an array of 32-bit integers; a memory view is not copied."""
    import pyarrow as pa

    values = positions if isinstance(positions, memoryview) else array("i", positions)
    return pa.Array.from_buffers(pa.int32(), len(values), [None, pa.py_buffer(values)])


def text_array(values: Iterable[str]) -> Any:
    """Return texts as an array."""
    import pyarrow as pa

    encoded = [value.encode() for value in values]
    ends = array("i", [0])
    for value in encoded:
        ends.append(ends[-1] + len(value))
    return pa.StringArray.from_buffers(len(encoded), pa.py_buffer(ends), pa.py_buffer(b"".join(encoded)))


def positions_of(numbers: Any) -> "memoryview[int]":
    """Return the values of an array of integers without nulls as a memory view."""
    import pyarrow as pa

    values = numbers.cast(pa.int32())
    if not len(values):
        return memoryview(array("i"))
    start = values.offset
    return memoryview(values.buffers()[1]).cast("i")[start : start + len(values)]

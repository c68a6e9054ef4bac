"""Search of a few rows in the Parquet files of an entry, without decoding the others."""

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

from lineage_merge.graph_format.schema import Row
from lineage_merge.history.entry_files import damaged_file, opened_files


class Condition(NamedTuple):
    """A column has one of the values, or a value that begins with one of the prefixes."""

    column: str
    values: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()


def search_rows(
    folder: str, conditions: Sequence[Condition], columns: Iterable[str] | None = None
) -> list[Row]:
    """Return the rows for which any condition holds, without unknown values. `columns` None: all.

    Of a row group only the columns of conditions are read, unless a row matches. Raises `SourceError`, and
    `IntermediateError` if a file is damaged.
    """
    found: list[Row] = []
    for location, file in opened_files(folder):
        numbers = {file.metadata.schema.column(each).path: each for each in range(file.metadata.num_columns)}
        names = [each for each in file.schema_arrow.names if columns is None or each in columns]
        try:
            for group in range(file.num_row_groups):
                mask = _mask(file, group, numbers, conditions)
                if mask is not None:
                    known = _with_values(file.metadata.row_group(group), numbers, names)
                    table = file.read_row_group(group, columns=known, use_threads=False).filter(mask)
                    found += table.to_pylist()
        except OSError:  # of Arrow
            raise damaged_file(location) from None
    return [{name: value for name, value in row.items() if value is not None} for row in found]


def _mask(file: Any, group: int, numbers: Mapping[str, int], conditions: Sequence[Condition]) -> Any:
    """Return which rows of a row group match; None if no row does."""
    import pyarrow.compute as pc

    masks = []
    for each in conditions:
        if _is_excluded(file.metadata.row_group(group).column(numbers[each.column]).statistics, each):
            continue
        values = file.read_row_group(group, columns=[each.column], use_threads=False)[each.column]
        mask = _matches(values, each)
        if pc.any(mask).as_py():
            masks.append(pc.fill_null(mask, False))
    return reduce(pc.or_, masks) if masks else None


def _matches(values: Any, condition: Condition) -> Any:
    import pyarrow.compute as pc

    masks = [pc.equal(values, each) for each in condition.values]
    masks += [pc.starts_with(values, each) for each in condition.prefixes]
    return reduce(pc.or_, masks)


def _is_excluded(statistics: Any, condition: Condition) -> bool:
    """Return whether no value of a row group can match."""
    if statistics is None or not statistics.has_min_max:
        return False
    low, high = statistics.min, statistics.max
    if any(low <= each <= high for each in condition.values):
        return False
    # Texts with a prefix are between it and the prefix with the greatest character.
    return all(each > high or low > f"{each}\U0010ffff" for each in condition.prefixes)


def _with_values(group: Any, numbers: Mapping[str, int], names: Iterable[str]) -> list[str]:
    """Return the columns that have values in a row group: most properties belong to a few labels only."""
    return [
        each
        for each in names
        if (number := numbers.get(each)) is None  # a set, whose path has further parts
        or (found := group.column(number).statistics) is None
        or found.num_values
    ]

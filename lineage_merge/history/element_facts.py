"""What an entry has of one dataset, column or job.

Only the rows that match are decoded: of a row group of Parquet first the columns of the conditions are read.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

from lineage_merge.graph_format.columns import list_known, report_damage
from lineage_merge.graph_format.comparison import list_compared_values
from lineage_merge.graph_format.elements import (
    COLUMN,
    JOB,
    Vertex,
    column_title,
    title_of_id,
    vertex_of_row,
)
from lineage_merge.graph_format.schema import Row
from lineage_merge.history.entry_files import has_files, missing_files, open_files
from lineage_merge.model.elements import dataset_of
from lineage_merge.naming.jobs import declaration_in


class FactKey(NamedTuple):
    """A property (without `name`), or a related element."""

    what: str
    name: str = ""


# Values by property or related element: of several edges all.
Facts = dict[FactKey, frozenset[str]]

_EDGE_COLUMNS = ("label", "from", "to", "job_type", "job_name", "transformation", "expression", "declared")


def facts_of(
    ids: Iterable[str], element: Vertex, nodes: str, edges: str, runs: str = "", *, must_exist: bool = False
) -> Facts | None:
    """Return the facts of an element in an entry, given its folders; None if the entry does not have it.

    `ids`: that of the element, and former ones. `must_exist`: an entry without files is an error.
    """
    wanted = sorted(ids)
    is_dataset = element.label not in (COLUMN, JOB)
    if must_exist and not has_files(nodes):
        raise missing_files(nodes, "no files")
    prefixes = tuple(f"{identifier}|" for identifier in wanted) if is_dataset else ()  # of columns
    rows = search_rows(nodes, [Condition("id", tuple(wanted), prefixes)])
    if runs:
        rows += search_rows(runs, [Condition("id", tuple(wanted))])
    own = [row for row in rows if row["id"] in wanted]
    if not own:
        return None
    facts: Facts = {
        FactKey(name): frozenset({value})
        for name, value in list_compared_values(vertex_of_row(own[-1])).items()
        if not (name == "label" and element.label in (COLUMN, JOB))
    }
    if is_dataset:
        for row in rows:
            if row["label"] == COLUMN and dataset_of(row["id"]) in wanted:
                facts[FactKey("column", row.get("name", ""))] = frozenset({row.get("data_type", "")} - {""})
    ends = [Condition("to", tuple(wanted)), Condition("from", tuple(wanted))]
    if element.label == JOB:
        ends.append(Condition("job_name", (element.name,)))
    for key, value in _list_related(search_rows(edges, ends, _EDGE_COLUMNS), set(wanted), element):
        facts[key] = facts.get(key, frozenset()) | {value} - {""}
    return facts


def _list_related(edges: Iterable[Row], ids: set[str], element: Vertex) -> Iterator[tuple[FactKey, str]]:
    for row in edges:
        label, start, end = row["label"], row["from"], row["to"]
        job = row.get("job_name", "")
        declared = declaration_in(row)
        texts = (row.get("transformation"), row.get("expression"), declared)
        how = " ".join(text for text in texts if text)
        by = f"{job} {declared}".rstrip()
        if element.label == JOB:
            if label == "writes":
                yield FactKey("writes", title_of_id(end)), ""
            elif label == "feeds" and row.get("job_type") == element.properties.get("job_type"):
                yield FactKey("reads", title_of_id(start)), ""
        elif label == "feeds":
            if start in ids:
                yield FactKey("downstream", title_of_id(end)), by
            if end in ids:
                yield FactKey("upstream", title_of_id(start)), by
        elif label == "writes":
            yield FactKey("job", job), ""
        elif label == "feeds_column":
            if start in ids:
                yield FactKey("target", column_title(end)), how
            if end in ids:
                yield FactKey("source", column_title(start)), how
        elif label == "influences":
            yield FactKey("rows of", title_of_id(end)), how


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
    rows: list[Row] = []
    for location, file in open_files(folder):
        numbers = {
            file.metadata.schema.column(index).path: index for index in range(file.metadata.num_columns)
        }
        names = [name for name in file.schema_arrow.names if columns is None or name in columns]
        try:
            for group in range(file.num_row_groups):
                mask = _mask(file, group, numbers, conditions)
                if mask is not None:
                    has_values = set(list_known(file.metadata, [group]))
                    known = [name for name in names if name in has_values]
                    table = file.read_row_group(group, columns=known, use_threads=False).filter(mask)
                    rows += table.to_pylist()
        except OSError:  # of Arrow
            raise report_damage(location) from None
    return [{name: value for name, value in row.items() if value is not None} for row in rows]


def _mask(file: Any, group: int, numbers: Mapping[str, int], conditions: Sequence[Condition]) -> Any:
    """Return which rows of a row group match; None if no row does."""
    import pyarrow.compute as pc

    masks = []
    for condition in conditions:
        if _is_excluded(
            file.metadata.row_group(group).column(numbers[condition.column]).statistics, condition
        ):
            continue
        values = file.read_row_group(group, columns=[condition.column], use_threads=False)[condition.column]
        mask = _matches(values, condition)
        if pc.any(mask).as_py():
            masks.append(pc.fill_null(mask, False))
    return reduce(pc.or_, masks) if masks else None


def _matches(values: Any, condition: Condition) -> Any:
    import pyarrow.compute as pc

    masks = [pc.equal(values, value) for value in condition.values]
    masks += [pc.starts_with(values, prefix) for prefix in condition.prefixes]
    return reduce(pc.or_, masks)


def _is_excluded(statistics: Any, condition: Condition) -> bool:
    """Return whether no value of a row group can match."""
    if statistics is None or not statistics.has_min_max:
        return False
    low, high = statistics.min, statistics.max
    if any(low <= value <= high for value in condition.values):
        return False
    # Texts with a prefix are between it and the prefix with the greatest character.
    return all(prefix > high or low > f"{prefix}\U0010ffff" for prefix in condition.prefixes)

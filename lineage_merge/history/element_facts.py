"""What an entry has of one dataset, column or job."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from lineage_merge.graph_format.elements import (
    COLUMN,
    JOB,
    Vertex,
    column_title,
    compared_values,
    dataset_of,
    title_of_id,
    vertex_of_row,
)
from lineage_merge.graph_format.schema import Row
from lineage_merge.history.entry_files import has_files, missing_files
from lineage_merge.history.row_search import Condition, search_rows


class FactKey(NamedTuple):
    """A property (without `name`), or a related element."""

    what: str
    name: str = ""


# Values by property or related element: of several edges all.
Facts = dict[FactKey, frozenset[str]]

_EDGE_COLUMNS = ("label", "from", "to", "job_type", "job_name", "transformation", "expression")


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
    prefixes = tuple(f"{each}|" for each in wanted) if is_dataset else ()  # of columns
    rows = search_rows(nodes, [Condition("id", tuple(wanted), prefixes)])
    if runs:
        rows += search_rows(runs, [Condition("id", tuple(wanted))])
    own = [row for row in rows if row["id"] in wanted]
    if not own:
        return None
    facts: Facts = {
        FactKey(name): frozenset({value})
        for name, value in compared_values(vertex_of_row(own[-1])).items()
        if not (name == "label" and element.label in (COLUMN, JOB))
    }
    if is_dataset:
        for row in rows:
            if row["label"] == COLUMN and dataset_of(row["id"]) in wanted:
                facts[FactKey("column", row.get("name", ""))] = frozenset({row.get("data_type", "")} - {""})
    ends = [Condition("to", tuple(wanted)), Condition("from", tuple(wanted))]
    if element.label == JOB:
        ends.append(Condition("job_name", (element.name,)))
    for key, value in _related(search_rows(edges, ends, _EDGE_COLUMNS), set(wanted), element):
        facts[key] = facts.get(key, frozenset()) | {value} - {""}
    return facts


def _related(edges: Iterable[Row], ids: set[str], element: Vertex) -> Iterator[tuple[FactKey, str]]:
    for row in edges:
        label, start, end = row["label"], row["from"], row["to"]
        job = row.get("job_name", "")
        how = " ".join(row[name] for name in ("transformation", "expression") if row.get(name))
        if element.label == JOB:
            if label == "writes":
                yield FactKey("writes", title_of_id(end)), ""
            elif label == "feeds" and row.get("job_type") == element.properties.get("job_type"):
                yield FactKey("reads", title_of_id(start)), ""
        elif label == "feeds":
            if start in ids:
                yield FactKey("downstream", title_of_id(end)), job
            if end in ids:
                yield FactKey("upstream", title_of_id(start)), job
        elif label == "writes":
            yield FactKey("job", job), ""
        elif label == "feeds_column":
            if start in ids:
                yield FactKey("target", column_title(end)), how
            if end in ids:
                yield FactKey("source", column_title(start)), how
        elif label == "influences":
            yield FactKey("rows of", title_of_id(end)), how

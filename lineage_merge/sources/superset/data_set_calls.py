"""``{{ dataset(5) }}`` in SQL: another data set by its number, as a table of a reserved name. Pure."""

import re
from collections.abc import Mapping, Sequence
from typing import Protocol

from lineage_merge.model.elements import Reference
from lineage_merge.sources.superset.template_values import Tokens, Unrenderable

_TABLE = "superset_data_set_{}"
_NAME = re.compile(r"(?:^|[./:])superset_data_set_(\d+)$", re.IGNORECASE)
_CALL = re.compile(r"\bdataset\(\s*(?:dataset_id\s*=\s*)?(\d{1,18})")


class _DataSet(Protocol):
    @property
    def reference(self) -> Reference: ...

    def write_metrics(self, table: str, columns: Sequence[str]) -> str: ...


def find_calls(text: str) -> set[int]:
    """Return the numbers of the data sets that a template may name."""
    return {int(number) for number in _CALL.findall(text)}


def write_call(arguments: Sequence[Tokens], data_sets: Mapping[int, _DataSet]) -> str:
    """Return the table that a call stands for. Raises `Unrenderable`."""
    given: dict[str, Tokens] = {}
    for at, tokens in enumerate(arguments):
        is_named = tokens[1:2] == ["="]
        name = tokens[0] if is_named else ("dataset_id", "include_metrics", "columns")[min(at, 2)]
        given[name] = tokens[2:] if is_named else tokens
    written = "".join(given.get("dataset_id", ()))
    number = int(written) if written.isdecimal() and len(written) < 19 else -1
    data_set = data_sets.get(number)
    if data_set is None:
        raise Unrenderable("names a data set by its number, which only the server knows: dataset")
    table = _TABLE.format(number)
    if "".join(given.get("include_metrics", ())).lower() == "true":
        columns = [token[1:-1] for token in given.get("columns", ()) if token[0] in "'\""]
        return f"({data_set.write_metrics(table, columns)}) AS dataset_{number}"
    return f"{table} AS dataset_{number}"


def resolve_table(reference: Reference, data_sets: Mapping[int, _DataSet]) -> Reference:
    """Return what a table in rendered SQL is."""
    match = _NAME.search(reference.name)
    data_set = data_sets.get(int(match[1])) if match else None
    return reference if data_set is None else data_set.reference

"""Tags, owners and descriptions that the configuration gives to datasets and columns by glob. Pure."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import partial

from lineage_merge.config import MetadataRule
from lineage_merge.graph_format.schema import DATASET_LABELS, Row
from lineage_merge.infra.engine.rows import Rows
from lineage_merge.merge.property_rows import is_edge
from lineage_merge.model.elements import DatasetName, dataset_of, decode, path_of

_COLUMN = "column"
_SETS = ("tags", "owners")


def apply(elements: Rows[Row], rules: Sequence[MetadataRule]) -> Rows[Row]:
    """Return the rows of a merge with the metadata of all rules that match them.

    The rules are complete: a dataset or column without a tag gets an empty set, so that a tag of an earlier
    configuration is dropped. `elements` are read twice if a rule names columns: cache them.
    """
    if not any(rule.column for rule in rules):
        return elements.map(partial(_add_metadata, rules))
    # Columns do not have the qualified name of their dataset.
    described = elements.filter(lambda row: not is_edge(row)).group(_dataset_of, partial(_describe, rules))
    return elements.filter(is_edge).union(described)


def _dataset_of(row: Row) -> str:
    identifier: str = row["id"]
    return dataset_of(identifier) if row["label"] == _COLUMN else identifier


def _describe(rules: Sequence[MetadataRule], _dataset: str, rows: Iterable[Row]) -> Iterator[Row]:
    elements = list(rows)
    dataset = next((row for row in elements if row["label"] in DATASET_LABELS), None)
    names = _names(dataset) if dataset else set()
    for row in elements:
        if row["label"] == _COLUMN:
            column = str(row.get("qualified_name") or row.get("name") or "")
            of_column = [rule for rule in rules if rule.column and column_matches(column, rule.column)]
            yield _combine(row, of_column, names)
        else:
            yield _add_metadata(rules, row)


def _add_metadata(rules: Sequence[MetadataRule], row: Row) -> Row:
    if is_edge(row):
        return row
    if row["label"] in DATASET_LABELS:
        return _combine(row, [rule for rule in rules if not rule.column], _names(row))
    return _combine(row, (), set()) if row["label"] == _COLUMN else row


def _names(dataset: Row) -> set[str]:
    return glob_names(dataset["id"], dataset.get("qualified_name") or "")


def _combine(row: Row, rules: Iterable[MetadataRule], names: set[str]) -> Row:
    matching = [rule for rule in rules if dataset_matches(names, rule.dataset)]
    changed: Row = {name: row.get(name) or [] for name in _SETS}
    for rule in matching:
        changed["tags"] = sorted({*changed["tags"], *rule.tags})
        changed["owners"] = sorted({*changed["owners"], *rule.owners})
        if rule.description and not row.get("description"):
            changed.setdefault("description", rule.description)
    return {**row, **changed}


def glob_names(dataset_id: str, qualified_name: str = "") -> set[str]:
    """Return the names that globs match: path, ``namespace|name``, name, and qualified name."""
    _, namespace, name = (decode(part) for part in dataset_id.split("|", 2))
    return {path_of(DatasetName(namespace, name)), f"{namespace}|{name}", name, qualified_name or name}


def dataset_matches(names: Iterable[str], glob: str) -> bool:
    """Return whether one of a dataset's `glob_names` matches."""
    return any(fnmatchcase(name, glob) for name in names)


def column_matches(column: str, glob: str) -> bool:
    """Return whether the name of a column matches, in any case."""
    return fnmatchcase(column.lower(), glob.lower())


def matching_glob(names: Collection[str], globs: Iterable[str]) -> str:
    """Return the first glob that matches one of a dataset's `glob_names`, "" if none does."""
    return next((glob for glob in globs if dataset_matches(names, glob)), "")

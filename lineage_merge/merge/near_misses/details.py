"""Details of similar datasets: their columns, and how the configuration names them.

On Spark the driver collects only those of the given datasets, and the flows, all bounded.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial

from lineage_merge.graph_format.schema import Row
from lineage_merge.infra.engine.rows import Rows, Shared
from lineage_merge.merge.dataset_resolver import DEFAULT, SPARK_CATALOG
from lineage_merge.merge.flows import Flows, PackedFlows
from lineage_merge.merge.identity_rules import REDSHIFT_TEMPORARY
from lineage_merge.merge.near_misses.names import parts_of
from lineage_merge.model.elements import decode

# Columns of a dataset.
MAX_COLUMNS = 500


@dataclass(frozen=True, slots=True)
class Details:
    """Properties of datasets by id: their columns (in lower case), and how the configuration names them.

    `completed`: the short name that a default schema completes. `directories`: the id of a temporary
    directory that a rule resolves to the dataset. `placed`: datasets that have another namespace without
    a rule.
    """

    columns: dict[str, set[str]] = field(default_factory=dict)
    completed: dict[str, str] = field(default_factory=dict)
    directories: dict[str, str] = field(default_factory=dict)
    placed: set[str] = field(default_factory=set)

    def add(self, row: Row) -> None:
        """Add a `has_column` edge or a dataset."""
        if row["label"] == "has_column":
            self.columns.setdefault(row["from"], set()).add(_column(row))
            return
        for resolved_name in row.get("resolved_names") or ():
            _, rule, namespace, name = resolved_name.split("|")
            if rule not in (DEFAULT, SPARK_CATALOG) and namespace != row["id"].split("|", 2)[1]:
                self.placed.add(row["id"])
            if rule == DEFAULT:
                self.completed[row["id"]] = decode(name)
            elif rule == REDSHIFT_TEMPORARY:
                directory = f"{row['id'].partition('|')[0]}|{namespace}|{name}"
                self.completed[row["id"]] = parts_of(directory).leaf
                self.directories[row["id"]] = directory


# Returns the columns of datasets, and the names of these and of other datasets.
DetailsOf = Callable[[frozenset[str], frozenset[str]], Details]


# What one pass over the rows finds, by kind: the columns and the row of a dataset, the flows of a partition.
_Key = tuple[str, str | int]
_Found = set[str] | Row | bytes


def details_and_flows(
    elements: Rows[Row], ids: frozenset[str], others: frozenset[str]
) -> tuple[Details, Flows]:
    """Read the details of datasets, and the edges between all datasets, in one pass."""
    shared, named = elements.engine.share(ids), elements.engine.share(ids | others)
    found = elements.map_numbered_partitions(partial(_inspect, shared, named))
    details = Details()
    flows: list[bytes] = []
    for (_, key), value in found.combine(_bounded_columns, _add_found, _add_found).collect():
        if isinstance(value, set):
            details.columns[str(key)] = value
        elif isinstance(value, bytes):
            flows.append(value)
        else:
            details.add(value)
    return details, Flows.unpacked(flows)


def _column(row: Row) -> str:
    return str(row["to"]).rpartition("|")[2]


def _inspect(
    ids: Shared[frozenset[str]], named: Shared[frozenset[str]], number: int, rows: Iterable[Row]
) -> Iterator[tuple[_Key, _Found]]:
    """Yield columns of `ids`, flows, and those of `named` of which the configuration decides the name."""
    wanted, known = ids.value, named.value
    found: dict[str, set[str]] = defaultdict(set)
    flows = PackedFlows()
    for row in rows:
        label = row["label"]
        if label == "has_column":
            if row["from"] in wanted:
                columns = found[row["from"]]
                columns.add(_column(row))
                if len(columns) > 2 * MAX_COLUMNS:
                    found[row["from"]] = _smallest(columns)
        elif label == "feeds":
            flows.add(row)
        elif row.get("resolved_names") and row["id"] in known:
            yield ("names", row["id"]), {each: row[each] for each in ("label", "id", "resolved_names")}
    yield ("flows", number), flows.packed()
    for dataset, columns in found.items():
        yield ("columns", dataset), columns


def _smallest(columns: set[str]) -> set[str]:
    """Return a bounded number of columns, in any order of rows the same ones."""
    return columns if len(columns) <= MAX_COLUMNS else set(sorted(columns)[:MAX_COLUMNS])


def _bounded_columns(found: _Found) -> _Found:
    return _smallest(found) if isinstance(found, set) else found


def _add_found(one: _Found, other: _Found) -> _Found:
    if isinstance(one, set) and isinstance(other, set):
        return _smallest(one | other)
    raise TypeError("only columns are found in several partitions")

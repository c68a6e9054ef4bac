"""Several moments of the lineage in one page's data (pure).

An element that several moments have is embedded once, with the values of the newest moment that has it::

    datasets, jobs, feeds, ...   as in `lineage_merge.exporters.page.data`, of all moments together
    moments
        list     [{key, name, merges}], oldest first; key: the time as in a link, merges: texts
        present  {list: [[index, moments]]}: the elements that only some moments have, as a bit mask
        columns  [[dataset, column, moments]], the same of columns
        values   {list: [[index, moment, values]]}: the values that differ, by position or key
        column_values  [[dataset, column, moment, values]]
        changes  {"0,2": [[kind, action, element, from, [[property, before, after]]]]}

A change's element is the index of a dataset or job, or [dataset, column]; `from` is that of an edge,
else null.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from lineage_merge.exporters.page.data import NO_USAGE, page_data, safe, safe_id
from lineage_merge.graph_format.elements import Subgraph, name_of_id
from lineage_merge.infra.redaction import redact_sql
from lineage_merge.model.elements import dataset_of, decode
from lineage_merge.questions.traversal.lineage_changes import ACTIONS, KINDS, Change
from lineage_merge.questions.traversal.staleness import Freshness
from lineage_merge.questions.traversal.usage import Usage

# Of rows: how many positions identify a row (the rest are values), and which are ends or a job.
_IDENTITY = {"feeds": 3, "column_feeds": 5, "influences": 4, "writes": 2}
_JOB_AT = {"feeds": 2, "column_feeds": 4, "influences": 3, "writes": 0}
_DATASETS_AT = {"feeds": (0, 1), "column_feeds": (0, 2), "influences": (0, 2), "writes": (1,)}
_COLUMNS_AT = {"feeds": (), "column_feeds": (1, 3), "influences": (1,), "writes": ()}
# The newest moment and those to compare it with; a bit mask and one list of changes per pair.
MAX_MOMENTS = 8


@dataclass(frozen=True, slots=True)
class PageMoment:
    """The lineage of a moment. `key`: its time as in a link; `name`: for display; `merges`: as texts.

    `freshness`: of its datasets at that time.
    """

    key: str
    name: str
    graph: Subgraph
    merges: tuple[str, ...] = ()
    freshness: tuple[Freshness, ...] = ()


# The changes from one moment to another, by their positions.
Changes = Mapping[tuple[int, int], Sequence[Change]]


def moments_data(
    moments: Sequence[PageMoment], changes: Changes, usage: Mapping[str, Usage] = NO_USAGE
) -> dict[str, Any]:
    """Return the data of moments, oldest first, in the format of the module's docstring.

    `usage`: of the newest, by id.
    """
    pictures = [
        page_data(moment.graph, moment.freshness, usage if moment is moments[-1] else NO_USAGE)
        for moment in moments
    ]
    combined = _Combined(pictures)
    return {
        **combined.data(),
        "moments": {
            "list": [
                {"key": moment.key, "name": moment.name, "merges": [safe(merge) for merge in moment.merges]}
                for moment in moments
            ],
            "present": {
                name: rows
                for name, elements in combined.lists.items()
                if (rows := elements.partly(combined.everywhere))
            },
            "columns": [
                [dataset, *row]
                for dataset, elements in enumerate(combined.columns)
                for row in elements.partly(combined.datasets.masks[dataset])
            ],
            "values": {name: elements.values for name, elements in combined.lists.items() if elements.values},
            "column_values": [
                [dataset, *row]
                for dataset, elements in enumerate(combined.columns)
                for row in elements.values
            ],
            "changes": {
                f"{before},{after}": [combined.change(change) for change in changes[before, after]]
                for before, after in combinations(range(len(moments)), 2)
            },
        },
    }


@dataclass
class _Elements:
    """Elements of all moments by what identifies them, with a bit mask of the moments that have each."""

    places: dict[Hashable, int] = field(default_factory=dict)
    rows: list[Any] = field(default_factory=list)
    masks: list[int] = field(default_factory=list)
    values: list[list[Any]] = field(default_factory=list)

    def add(self, key: Hashable, row: Any, moment: int) -> int:
        """Add the element of a moment, after those of newer moments, and return its index."""
        at = self.places.setdefault(key, len(self.rows))
        if at == len(self.rows):
            self.rows.append(row)
            self.masks.append(0)
        elif different := _different(self.rows[at], row):
            self.values.append([at, moment, different])
        self.masks[at] |= 1 << moment
        return at

    def partly(self, everywhere: int) -> list[list[int]]:
        """Return the index and mask of elements that not all of these moments have."""
        return [[at, mask] for at, mask in enumerate(self.masks) if mask != everywhere]


def _different(newest: Any, row: Any) -> dict[str, Any]:
    """Return the values of a row or object that differ from the newest ones."""
    if isinstance(row, dict):
        return {key: value for key, value in row.items() if newest[key] != value}
    longest = max(len(newest), len(row))
    padded = [[*cells, *([[]] * (longest - len(cells)))] for cells in (newest, row)]
    pairs = zip(*padded, strict=True)
    return {str(at): value for at, (known, value) in enumerate(pairs) if known != value}


class _Combined:
    """The page's data of several moments, with common indexes."""

    def __init__(self, pictures: Sequence[dict[str, Any]]) -> None:
        self.everywhere = (1 << len(pictures)) - 1
        names = ("datasets", "jobs", *_IDENTITY, "assertions")
        self.lists = {name: _Elements() for name in names}
        self.datasets, self.jobs = self.lists["datasets"], self.lists["jobs"]
        self.dags: dict[str, int] = {}
        newest_first = [*reversed([*enumerate(pictures)])]
        order = _column_order(picture for _, picture in newest_first)
        self.columns: list[_Elements] = []
        for moment, picture in newest_first:
            self._add(moment, picture, order)

    def _add(self, moment: int, picture: dict[str, Any], order: Mapping[str, dict[Hashable, int]]) -> None:
        dags = [self.dags.setdefault(name, len(self.dags)) for name in picture["dags"]]
        places: list[tuple[int, list[int]]] = []
        for dataset in picture["datasets"]:
            row = {key: value for key, value in dataset.items() if key != "columns"}
            row["dags"] = sorted(dags[dag] for dag in dataset["dags"])
            at = self.datasets.add(dataset["id"], row, moment)
            if at == len(self.columns):
                known = order[dataset["id"]]
                self.columns.append(_Elements(dict(known), [None] * len(known), [0] * len(known)))
            places.append((at, self._add_columns(self.columns[at], dataset["columns"], moment)))
        jobs = []
        for job in picture["jobs"]:
            row = {**job, "dag": dags[job["dag"]]}
            jobs.append(
                self.jobs.add((job["environment"], row["dag"], job["type"], job["name"]), row, moment)
            )
        for name in _IDENTITY:
            moved = [_move(name, row, places, jobs) for row in picture[name]]
            keys = _number_keys(tuple(made[: _IDENTITY[name]]) for made in moved)
            for key, made in zip(keys, moved, strict=True):
                self.lists[name].add(key, made, moment)
        for row in picture["assertions"]:
            made = [*row]
            made[6] = [
                [places[at][0], column if column < 0 else places[at][1][column]] for at, column in row[6]
            ]
            self.lists["assertions"].add(repr(made), made, moment)

    @staticmethod
    def _add_columns(columns: _Elements, rows: Sequence[list[Any]], moment: int) -> list[int]:
        places = []
        for key, row in zip(_column_keys(rows), rows, strict=True):
            at = columns.places[key]
            if columns.rows[at] is None:
                columns.rows[at] = row
            places.append(columns.add(key, row, moment))
        return places

    def data(self) -> dict[str, Any]:
        """Return the elements of all moments in the format of one."""
        lists = {name: elements.rows for name, elements in self.lists.items()}
        lists["datasets"] = [
            {**row, "columns": columns.rows}
            for row, columns in zip(self.datasets.rows, self.columns, strict=True)
        ]
        return {**lists, "dags": [*self.dags]}

    def change(self, change: Change) -> list[Any]:
        """Return a change with indexes instead of ids."""
        shown = redact_sql if change.kind in ("column", "expression") else safe
        return [
            KINDS.index(change.kind),
            ACTIONS.index(change.action),
            self._element(change.kind, change.id),
            self._element(change.kind, change.source) if change.source else None,
            [
                [difference.name, shown(difference.before), shown(difference.after)]
                for difference in change.differences
            ],
        ]

    def _element(self, kind: str, identifier: str) -> Any:
        if kind in ("dataset", "feed"):
            return self.datasets.places.get(safe_id(identifier), -1)
        if kind == "job":
            environment, dag, job_type, name = (decode(part) for part in identifier.split("|"))
            return self.jobs.places.get((environment, self.dags.get(dag, -1), job_type, safe(name)), -1)
        dataset = self.datasets.places.get(safe_id(dataset_of(identifier)), -1)
        name = redact_sql(name_of_id(identifier)).lower()
        return [dataset, self.columns[dataset].places.get((name, 0), -1) if dataset >= 0 else -1]


def _move(
    name: str, row: Sequence[Any], places: Sequence[tuple[int, list[int]]], jobs: Sequence[int]
) -> list[Any]:
    """Return a row with common indexes."""
    made = [*row]
    for at in _COLUMNS_AT[name]:  # beside the dataset
        made[at] = places[row[at - 1]][1][row[at]]
    for at in _DATASETS_AT[name]:
        made[at] = places[row[at]][0]
    made[_JOB_AT[name]] = jobs[row[_JOB_AT[name]]]
    return made


def _column_keys(rows: Iterable[Sequence[Any]]) -> list[tuple[Hashable, int]]:
    """Return what identifies columns: the name without its case, as in ids."""
    return [*_number_keys(row[0].lower() for row in rows)]


def _number_keys(keys: Iterable[Hashable]) -> Iterator[tuple[Hashable, int]]:
    """Yield keys with the number of equal ones before them."""
    seen: Counter[Hashable] = Counter()
    for key in keys:
        yield key, seen[key]
        seen[key] += 1


def _column_order(newest_first: Iterable[dict[str, Any]]) -> dict[str, dict[Hashable, int]]:
    """Return the places of each dataset's columns: those of older moments follow the column before them."""
    orders: defaultdict[str, list[Hashable]] = defaultdict(list)
    for picture in newest_first:
        for dataset in picture["datasets"]:
            order = orders[dataset["id"]]
            keys = _column_keys(dataset["columns"])
            if not order:
                order += keys
                continue
            known, place = set(order), 0
            for key in keys:
                if key in known:
                    place = order.index(key) + 1
                else:
                    order.insert(place, key)
                    place += 1
    return {dataset: {key: at for at, key in enumerate(order)} for dataset, order in orders.items()}

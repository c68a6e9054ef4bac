"""What the overview shows of all datasets: bands of DAGs, groups, and marks of what is red (pure)."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from lineage_merge.exporters.page.topics import Topic

# As in `bands.js`.
_PRODUCTION = ("prod", "production", "prd", "live")
_DECLARED = {
    "exposure": "dashboards",
    "semantic_model": "semantic models",
    "metric": "metrics",
    "saved_query": "saved queries",
}
_FAILED = re.compile("fail", re.IGNORECASE)
# Groups that the overview names of each band.
_LARGEST = 12
Row = list[Any]


class Mark(NamedTuple):
    """What a list of datasets has in common. `title`: "" for those that the page knows."""

    key: str
    title: str = ""
    severity: str = "failed"


_MARKS = (
    Mark("failed"),
    Mark("tests-failed"),
    Mark("tests-warned", severity="warned"),
    Mark("stale", severity="warned"),
)
# Listed, but not shown on each dataset. What they mean is as in `attention.js`.
_LISTS = (
    Mark("unread", "unread outputs", "note"),
    Mark("deprecated", "deprecated, in use", "note"),
    Mark("no-owner", "without an owner", "note"),
    Mark("end", "end points", "note"),
    Mark("source", "sources", "note"),
)
_VALUES = {"tags": "tag", "owner": "owner", "owners": "owner"}


class Entry(NamedTuple):
    """A dataset of the catalog. `dags`: of these the smallest is its band's."""

    name: str
    title: str
    number: int
    kind: str
    environment: str
    dags: tuple[str, ...]
    group: tuple[str, str]
    marks: tuple[str, ...]


class Catalog:
    """The datasets, added shard by shard; then `contents` has what the page shows."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._marks = {mark.key: mark for mark in _MARKS}
        # By what it is ("" for a mark) and its text.
        self._lists: defaultdict[tuple[str, str], list[Entry]] = defaultdict(list)
        self._sizes: Counter[tuple[str, str]] = Counter()
        self._groups: dict[tuple[str, str], tuple[str, str]] = {}

    def add(self, first: int, data: Mapping[str, Any], topics: Iterable[Topic]) -> None:
        """Add the datasets of a shard, of which this is the first number."""
        shown = list(topics)
        for topic in shown:
            self._marks.setdefault(topic.key, Mark(topic.key, topic.title, topic.severity))
        of_topics = {topic.key: set(topic.as_json()["datasets"]) for topic in shown}
        writers, tests = list_writers(data), _tests(data)
        in_loops = {source for source, target, *_ in data["feeds"] if source == target}
        for number, dataset in enumerate(data["datasets"], first):
            dags = tuple(data["dags"][dag] for dag in dataset["dags"])
            self._sizes.update((dataset["environment"], dag) for dag in dags)
            newest = _newest(writers.get(number, ()))
            written = tuple(dict.fromkeys(data["dags"][job["dag"]] for job in newest))
            marks = [
                *_own_marks(newest, tests.get(number, ()), dataset["freshness"]),
                *(key for key, ids in of_topics.items() if dataset["id"] in ids),
            ]
            group = group_of(dataset)
            entry = Entry(
                dataset["name"],
                dataset["title"],
                number,
                dataset["kind"],
                dataset["environment"],
                tuple(filter(None, written)) or dags or ("",),
                self._groups.setdefault(group, group),
                tuple(marks),
            )
            self._entries.append(entry)
            sides = [side - (number in in_loops) for side in dataset["sides"]]
            for listed in {
                *(("", key) for key in chain(marks, _own_lists(dataset, sides))),
                *_own_values(dataset, writers.get(number, ())),
            }:
                self._lists[listed].append(entry)

    def contents(self) -> "CatalogContents":
        """Return bands, groups and names; the largest band of an environment is the first."""
        marks = {key: number for number, key in enumerate(self._marks)}
        kinds = {kind: number for number, kind in enumerate(sorted({each.kind for each in self._entries}))}
        environments = sorted({each.environment for each in self._entries}, key=_environment_order)
        places = {environment: number for number, environment in enumerate(environments)}

        def row(entry: Entry) -> Row:
            own = sorted(marks[key] for key in entry.marks)
            start = [entry.name, entry.title, entry.number, kinds[entry.kind], places[entry.environment]]
            return [*start, own] if own else start

        rows = {entry.number: row(entry) for entry in self._entries}
        bands: dict[tuple[str, str], list[Entry]] = {}
        for entry in self._entries:
            dag = min(entry.dags, key=lambda name: (self._sizes[entry.environment, name], name))
            bands.setdefault((entry.environment, dag), []).append(entry)
        contents = CatalogContents([], [], [], [], [], [], list(kinds), environments)
        order = sorted(bands, key=lambda band: (_environment_order(band[0]), -len(bands[band]), band[1]))
        for band in order:
            _add_band(contents, band, bands[band], marks, rows)

        def add_list(what: str, text: str) -> tuple[int, int]:
            found = sorted(self._lists.get((what, text), ()), key=_by_name)
            contents.marked_names.extend(rows[entry.number] for entry in found)
            return len(contents.marked_names) - len(found), len(found)

        if len(self._lists["", "no-owner"]) == len(self._entries):
            del self._lists["", "no-owner"]  # Of a graph without owners, no dataset lacks one.
        for mark in [*self._marks.values(), *_LISTS]:
            contents.marked.append([*mark, *add_list("", mark.key)])
        for what, text in sorted(self._lists):
            if what:
                contents.values.append((what, text, *add_list(what, text)))
        return contents


class CatalogContents(NamedTuple):
    """Rows of the overview. `marked`: [key, title, severity, first, count], `first`: of `marked_names`.

    `values`: the same of tags and owners: (what, name, first, count).
    """

    bands: list[dict[str, Any]]
    groups: list[Row]
    names: list[Row]
    marked: list[Row]
    marked_names: list[Row]
    values: list[tuple[str, str, int, int]]
    kinds: Sequence[str]
    environments: Sequence[str]


def group_of(dataset: Mapping[str, Any]) -> tuple[str, str]:
    """Return the namespace and the name of the schema, bucket or folder of a dataset of the page's data."""
    namespace, title = dataset["namespace"], dataset["title"]
    if dataset["kind"] in _DECLARED:
        return namespace, _DECLARED[dataset["kind"]]
    if dataset["kind"] != "file" and "/" not in title and "." in title:
        return namespace, title.rpartition(".")[0]
    folders = [part for part in dataset["path"].split("/") if part][:-1]
    return namespace, "/".join(folders) or namespace


def _add_band(
    contents: CatalogContents,
    band: tuple[str, str],
    entries: list[Entry],
    marks: Mapping[str, int],
    rows: Mapping[int, Row],
) -> None:
    environment, dag = band
    groups: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        groups.setdefault(entry.group, []).append(entry)
    first = len(contents.groups)
    for group in sorted(groups):
        members = sorted(groups[group], key=_by_name)
        counts = _count(members, marks)
        start = [*group, len(contents.names), len(members)]
        contents.groups.append([*start, counts] if counts else start)
        contents.names.extend(rows[entry.number] for entry in members)
    own = contents.groups[first:]
    contents.bands.append(
        {
            "key": f"{environment}|{dag}",
            "environment": environment,
            "dag": dag,
            "names": [len(contents.names) - len(entries), len(entries)],
            "groups": [first, len(own)],
            "marks": _count(entries, marks),
            "largest": sorted(own, key=lambda group: (-group[3], group))[:_LARGEST],
        }
    )


def _count(entries: Iterable[Entry], marks: Mapping[str, int]) -> list[list[int]]:
    counts = Counter(key for entry in entries for key in entry.marks)
    return sorted([marks[key], number] for key, number in counts.items())


def _by_name(entry: Entry) -> tuple[str, str, int]:
    return entry.name.lower(), entry.title, entry.number


def _environment_order(environment: str) -> tuple[bool, str]:
    return environment.lower() not in _PRODUCTION, environment


def _fact(job: Mapping[str, Any], name: str) -> str:
    return next((text for what, text in job["facts"] if what == name), "")


def list_writers(data: Mapping[str, Any]) -> dict[int, list[Mapping[str, Any]]]:
    """Return the jobs that write each dataset of the page's data."""
    found: dict[int, dict[int, None]] = {}
    pairs = [*data["writes"], *((feed[2], feed[1]) for feed in data["feeds"])]
    for job, dataset in pairs:
        found.setdefault(dataset, {})[job] = None
    return {dataset: [data["jobs"][job] for job in sorted(jobs)] for dataset, jobs in found.items()}


def _newest(jobs: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    all_jobs = list(jobs)
    newest = max((_fact(job, "last run at") for job in all_jobs), default="")
    return [job for job in all_jobs if _fact(job, "last run at") == newest]


def _tests(data: Mapping[str, Any]) -> dict[int, list[Row]]:
    """Return the tests that check each dataset; of one that several DAGs merge the newest."""
    newest: dict[str, Row] = {}
    for row in data["assertions"]:
        job = next((text for what, text in row[7] if what == "job name"), "")
        key = repr((row[0], row[1], job, row[6]))
        if key not in newest or (row[5] or 0) >= (newest[key][5] or 0):
            newest[key] = row
    found: dict[int, list[Row]] = {}
    for row in newest.values():
        for dataset in {dataset for dataset, _ in row[6]}:
            found.setdefault(dataset, []).append(row)
    return found


def _own_marks(writers: Sequence[Mapping[str, Any]], tests: Iterable[Row], freshness: Row) -> Iterator[str]:
    if any(_FAILED.match(_fact(job, "status")) for job in writers):
        yield "failed"
    states = {(_state(row), len(row) > 8) for row in tests}  # a check of freshness has limits
    if ("failed", False) in states:
        yield "tests-failed"
    if ("warned", False) in states or ("warned", True) in states:
        yield "tests-warned"
    if freshness and freshness[0] == "stale":
        yield "stale"


def _own_lists(dataset: Mapping[str, Any], sides: Sequence[int]) -> Iterator[str]:
    """Yield the keys of lists that have a dataset. `sides`: the numbers of other datasets at its sides."""
    sources, readers = sides
    known = {what for what, _ in dataset["facts"]}
    if sources and not readers:
        yield "end"
        # People query tables directly.
        if dataset["kind"] in ("file", "topic"):
            yield "unread"
    if readers and not sources:
        yield "source"
    if readers and "deprecation date" in known:
        yield "deprecated"
    if not known & {"owner", "owners"}:
        yield "no-owner"


def _own_values(
    dataset: Mapping[str, Any], writers: Iterable[Mapping[str, Any]]
) -> Iterator[tuple[str, str]]:
    """Yield the tags and owners of a dataset, of its columns, and of the jobs that write it."""
    of_columns = (column[3] for column in dataset["columns"] if len(column) > 3)
    for facts in chain([dataset["facts"]], of_columns, (job["facts"] for job in writers)):
        for what, text in facts:
            if what in _VALUES:
                yield from ((_VALUES[what], value) for value in text.split("\n") if value)


def _state(row: Row) -> str:
    severity, status = row[2], row[3]
    if status == "warned" or (status == "failed" and severity == "warn"):
        return "warned"
    return "failed" if status in ("failed", "error") else ""

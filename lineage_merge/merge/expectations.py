"""Expectations of a merge (`merge.expect`): how many datasets it joins, and which ones lineage connects."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from lineage_merge import naming
from lineage_merge.graph_format.schema import DATASET_LABELS, Row
from lineage_merge.infra.batches import gather
from lineage_merge.infra.engine.rows import Rows, Shared
from lineage_merge.merge.dataset_uses import Flows
from lineage_merge.merge.report import Report
from lineage_merge.model.elements import DatasetName, path_of
from lineage_merge.model.errors import NamingError, TooFewJoined

if TYPE_CHECKING:
    from lineage_merge.config import Expect

# Datasets of a name that is in many places: enough to find one that is connected.
_MAX_MATCHES = 1000
_MAX_VISITED = 10_000_000


def unmet(elements: Rows[Row], report: Report, expect: "Expect") -> tuple[str, ...]:
    """Return a line for each expectation that a merge does not meet."""
    missed = []
    joined = report.datasets_joined
    if joined < expect.joined_at_least:
        missed.append(f"{joined} of at least {expect.joined_at_least} expected datasets are joined")
    return (*missed, *_list_unconnected(elements, expect.joined))


def fail_if_unmet(report: Report) -> None:
    """Raise `TooFewJoined` if a merge does not meet the expectations."""
    if report.unmet:
        hint = ""
        if report.near_misses:
            first = report.near_misses[0]
            hint = f"; near misses: {len(report.near_misses)}, first {first.written} and {first.read}"
        raise TooFewJoined(f"merge.expect: {'; '.join(report.unmet)}{hint}", report)


def _list_unconnected(elements: Rows[Row], pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    wanted = {text: _spellings(text) for pair in pairs for text in pair}
    if not wanted:
        return
    texts: dict[str, set[str]] = defaultdict(set)
    for text, spellings in wanted.items():
        for name in spellings:
            texts[name].add(text)
    shared = elements.engine.share(frozenset(texts))
    ids: dict[str, set[str]] = defaultdict(set)
    for spelling, identifier in elements.map_partitions(partial(_find_named, shared)).collect():
        for text in texts[spelling]:
            ids[text].add(identifier)
    by_id = gather((dataset, text) for text, datasets in ids.items() for dataset in datasets)
    jobs = elements.engine.share(dict(by_id))
    for text, target in elements.map_partitions(partial(_find_written, jobs)).collect():
        ids[text].add(target)
    flows = Flows.from_elements(elements, _MAX_VISITED)
    for start, end in pairs:
        missing = [text for text in (start, end) if not ids.get(text)]
        if missing:
            yield f"{' and '.join(missing)} not found in the merge"
        elif not any(flows.reaches(one, other) for one in sorted(ids[start]) for other in sorted(ids[end])):
            yield f"no lineage from {start} to {end}"


def _spellings(text: str) -> frozenset[str]:
    """Return a name in lower case, and the canonical name of a URI or of ``namespace|name``."""
    spellings = {text.lower()}
    namespace, separator, name = text.partition("|")
    try:
        named = naming.name_dataset(namespace, name) if separator else naming.name_uri(text)
        spellings.add("|".join(named.name).lower())
    except NamingError:
        pass
    return frozenset(spellings)


def _find_named(texts: Shared[frozenset[str]], rows: Iterable[Row]) -> Iterator[tuple[str, str]]:
    """Yield the nodes that have one of the names: text and id."""
    wanted = texts.value
    number: dict[str, int] = defaultdict(int)
    for row in rows:
        if "from" in row or row["label"] not in (*DATASET_LABELS, "job"):
            continue
        for text in wanted.intersection(_names(row)):
            number[text] += 1
            if number[text] <= _MAX_MATCHES:
                yield text, row["id"]


def _names(row: Row) -> Iterator[str]:
    """Yield the names of a dataset or job in lower case: ``dev.marts.sales``, ``marts.sales``, ``sales``."""
    yield row["id"].lower()
    if row["label"] == "job":
        yield str(row.get("name", "")).lower()
        return
    namespace, name = str(row.get("namespace", "")), str(row.get("qualified_name", "")).lower()
    if namespace:
        yield f"{namespace.lower()}|{name}"
        path = path_of(DatasetName(namespace.lower(), name))
        yield path
        yield path.partition("://")[2]
    while name:
        yield name
        name = name.partition(".")[2]
    yield str(row.get("name", "")).lower()
    yield str(row.get("location", "")).lower()
    for alias in row.get("aliases", ()):
        yield str(alias).rpartition(" (")[0].lower()


def _find_written(jobs: Shared[dict[str, list[str]]], rows: Iterable[Row]) -> Iterator[tuple[str, str]]:
    """Yield what the jobs write that a name matches."""
    known = jobs.value
    for row in rows:
        if row["label"] == "writes" and row["from"] in known:
            for text in known[row["from"]]:
                yield text, row["to"]

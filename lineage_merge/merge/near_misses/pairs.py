"""Pairs of a dataset that is read and never written, and one that is written under another name. Pure.

Datasets are compared only within a group of one normalized last name, or of one folder or schema and a common
word, so the effort is linear in the number of datasets. A group that is too large is divided by more of the
name; if it is still too large, its name is no evidence.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from lineage_merge.merge.near_misses.names import (
    PLACE,
    SAME_NAME,
    NameParts,
    Similarity,
    compare,
    is_catalog_of_files,
    is_generic,
    normalize,
    parts_of,
    words_of,
)

# Score from which a pair is reported; points of columns, and of pairs that differ in the same manner.
THRESHOLD = 65
COLUMNS = 40
SAME_DIFFERENCE = 10
SAME_MANNER = "more datasets differ in the same manner"
MAX_SAME_DIFFERENCE = 20
ALREADY_READ = 10
# Fewer columns than this in common are weak evidence.
_ENOUGH_COLUMNS = 3
# Comparisons within one group of names, and candidates per dataset.
MAX_COMPARISONS = 256
_MAX_CANDIDATES = 10
_NO_TABLES: Mapping[str, str] = MappingProxyType({})

# Whether the configuration dismisses a pair.
IsDismissed = Callable[["Pair"], bool]
# Whether lineage leads from one dataset to another.
Reaches = Callable[[str, str], bool]


@dataclass(frozen=True, slots=True)
class OpenDataset:
    """A dataset that is read and never written, or one that is written.

    `jobs`: types of the jobs that access it, dbt's with the project (``dbt:tickit``). `is_read`: of a written
    dataset, whether another job reads it.
    """

    id: str
    jobs: frozenset[str] = frozenset()
    is_read: bool = False


class Candidate(NamedTuple):
    """A pair whose names are similar."""

    read: NameParts
    written: NameParts
    names: Similarity
    penalty: int = 0


class Pair(NamedTuple):
    """A near miss: what is read and written, the score and the evidence.

    `is_whole`, `points`: as in `Similarity`.
    """

    read: NameParts
    written: NameParts
    score: float
    evidence: tuple[str, ...]
    is_whole: bool = False
    points: float = 0

    @property
    def ids(self) -> tuple[str, str]:
        """Return the ids of what is read and what is written."""
        return self.read.id, self.written.id


def index_keys(parts: NameParts) -> Iterator[str]:
    """Yield the keys under which a dataset is compared: its last name, and words of it within its folder."""
    if not parts.leaf:
        return
    yield parts.key
    if parts.is_path and "." in parts.leaf:  # the directory of a table: schema.table
        yield normalize(parts.leaf.rpartition(".")[2])
    parent = "/".join((parts.namespace, *parts.containers))
    for word in words_of(parts.leaf):
        if not is_generic(word):
            yield f"{parent}/{word}"
    # Of two names that differ in one letter, the first or the second half is equal.
    for half in (parts.key[: len(parts.key) // 2], parts.key[-(len(parts.key) // 2) :]):
        if len(half) > 1:
            yield f"{parent}/~{half}"


def candidates(unwritten: Iterable[OpenDataset], written: Iterable[OpenDataset]) -> list[Candidate]:
    """Return the pairs with similar names, of each unwritten dataset the best."""
    reads = {open_dataset.id: open_dataset for open_dataset in unwritten}
    writes = {open_dataset.id: open_dataset for open_dataset in written}
    parts = {identifier: parts_of(identifier) for identifier in {**reads, **writes}}
    groups: dict[str, tuple[list[NameParts], list[NameParts]]] = {}
    for identifier in sorted(reads):
        for key in set(index_keys(parts[identifier])):
            groups.setdefault(key, ([], []))[0].append(parts[identifier])
    for identifier in sorted(writes):
        for key in set(index_keys(parts[identifier])):
            if key in groups:
                groups[key][1].append(parts[identifier])
    of_reads: dict[str, dict[str, Candidate]] = defaultdict(dict)
    for of_name in groups.values():
        for read, other in _comparisons(*of_name, levels=3):
            if other.id in of_reads[read.id] or _same_project(reads[read.id], writes[other.id]):
                continue
            names = compare(read, other)
            if names is not None:
                penalty = ALREADY_READ if writes[other.id].is_read else 0
                of_reads[read.id][other.id] = Candidate(read, other, names, penalty)
    return [
        candidate
        for of_read in of_reads.values()
        for candidate in sorted(of_read.values(), key=_rate_names)[:_MAX_CANDIDATES]
    ]


def _rate_names(candidate: Candidate) -> tuple[float, str]:
    return candidate.penalty - candidate.names.points, candidate.written.id


def _comparisons(
    reads: Sequence[NameParts], writes: Sequence[NameParts], levels: int
) -> Iterator[tuple[NameParts, NameParts]]:
    """Yield the pairs to compare in a group; a large group is divided by more of the name."""
    if len(reads) * len(writes) <= MAX_COMPARISONS:
        for read in reads:
            for written in writes:
                yield read, written
        return
    if not levels:
        return
    divided: dict[tuple[str, ...], tuple[list[NameParts], list[NameParts]]] = {}
    for side, all_of_side in enumerate((reads, writes)):
        for dataset in all_of_side:
            divided.setdefault(_division(dataset, levels), ([], []))[side].append(dataset)
    for of_division in divided.values():
        if all(of_division):
            yield from _comparisons(*of_division, levels=levels - 1)


def _division(parts: NameParts, levels: int) -> tuple[str, ...]:
    """Return more of a name: with the schema or folder, the whole name, the whole name and the namespace."""
    if levels == 3:
        return parts.whole[-2:]
    return parts.whole if levels > 1 else (*parts.whole, parts.namespace)


def _same_project(one: OpenDataset, other: OpenDataset) -> bool:
    """Whether only one dbt project accesses both: its manifest states what its sources and models are."""
    jobs = one.jobs | other.jobs
    return len(jobs) == 1 and all(job.startswith("dbt:") for job in jobs)


def pairs(
    candidates: Sequence[Candidate],
    columns: Mapping[str, Collection[str]],
    reaches: Reaches,
    tables: Mapping[str, str] = _NO_TABLES,
    is_dismissed: IsDismissed = lambda _: False,
) -> list[Pair]:
    """Return the near misses among the candidates, best first.

    `columns`: by dataset, in lower case. `tables`: names of tables whose catalog is unknown, by the id of
    their path. Not returned are pairs that lineage connects, those whose similarity
    a copy explains (the read dataset feeds another one of at least the same similarity, or the written one is
    fed by one), and ambiguous ones. Of dismissed pairs, which are returned too, the next best one is also.
    """
    scored = [(candidate, _rate_columns(candidate, columns)) for candidate in candidates]
    by_namespaces: dict[tuple[str, str], set[str]] = defaultdict(set)
    for candidate, _ in scored:
        read, written = candidate.read, candidate.written
        if candidate.names.is_whole and read.namespace != written.namespace:
            by_namespaces[read.namespace, written.namespace].add(read.id)
    rated = [
        _rate(_as_table(candidate, tables), by_columns, by_namespaces) for candidate, by_columns in scored
    ]
    by_read: dict[str, list[Pair]] = defaultdict(list)
    copies: dict[str, list[Pair]] = defaultdict(list)
    for pair in rated:
        if reaches(*pair.ids):
            for end in pair.ids:
                copies[end].append(pair)
        elif pair.score >= THRESHOLD:
            by_read[pair.read.id].append(pair)
    selected = []
    for of_read in by_read.values():
        others = sorted(of_read, key=lambda pair: (-pair.score, pair.written.id))
        dismissed = [pair for pair in others if is_dismissed(_round(pair))]
        selected += [_round(pair) for pair in dismissed if not _is_explained(pair, copies)]
        others = [pair for pair in others if pair not in dismissed]
        is_ambiguous = len(others) > 1 and others[1].score == others[0].score
        selected += [
            _round(best) for best in others[:1] if not is_ambiguous and not _is_explained(best, copies)
        ]
    return sorted(selected, key=lambda pair: (-pair.score, *pair.ids))


def _round(pair: Pair) -> Pair:
    return pair._replace(score=min(100, round(pair.score)))


def _as_table(candidate: Candidate, tables: Mapping[str, str]) -> Candidate:
    """Return a table and a path with more points if whatever wrote the path gave it the table's name."""
    read, written, names, _ = candidate
    table = ".".join((*read.containers, read.leaf))
    if (
        read.is_path
        or not written.is_path
        or len(read.containers) == 0
        or table.lower() != tables.get(written.id, "").lower()
        or not is_catalog_of_files(read.namespace)
    ):
        return candidate
    points = max(names.points, SAME_NAME + 2 * PLACE)
    return candidate._replace(names=Similarity(points, (f"both are the table {table} of a catalog",)))


def _rate(
    candidate: Candidate,
    by_columns: tuple[float, str],
    by_namespaces: Mapping[tuple[str, str], Collection[str]],
) -> Pair:
    read, written, names, penalty = candidate
    score = names.points - penalty + by_columns[0]
    evidence = [*names.evidence, by_columns[1]]
    alike = len(by_namespaces.get((read.namespace, written.namespace), ())) - 1
    if names.is_whole and alike > 0:
        score += min(MAX_SAME_DIFFERENCE, SAME_DIFFERENCE * alike)
        evidence.append(f"{alike} {SAME_MANNER}")
    shown = tuple(text for text in evidence if text)
    return Pair(read, written, score, shown, names.is_whole, names.points)


def _is_explained(pair: Pair, copies: Mapping[str, Sequence[Pair]]) -> bool:
    """Whether lineage copies one of the datasets to or from a dataset of at least the same similarity."""
    return any(
        copy.points >= pair.points and copy.score >= pair.score
        for end in pair.ids
        for copy in copies.get(end, ())
    )


def _rate_columns(candidate: Candidate, columns: Mapping[str, Collection[str]]) -> tuple[float, str]:
    """Return the points of the columns: none if they are unknown, negative if fewer than half are common."""
    one, other = (set(columns.get(dataset.id, ())) for dataset in (candidate.read, candidate.written))
    if not one or not other:
        return 0, ""
    smaller = min(len(one), len(other))
    common = len(one & other)
    weight = min(1, smaller / _ENOUGH_COLUMNS)
    # A reader may use only some of the columns, so the smaller set counts.
    points = COLUMNS * weight * (2 * common / smaller - 1)
    return points, f"{common} of {smaller} columns in common" if common else ""

"""Writes the folder of a sharded page: new shards, the page that loads them; then deletes old ones."""

import re
import secrets
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from itertools import chain, count, groupby
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from lineage_merge.exporters.page.data import NO_USAGE, numbered_data
from lineage_merge.exporters.page.document import Options, describe, document, escape_json
from lineage_merge.exporters.page.sharded.batches import DatasetBatch, order_by_lineage, read_batches
from lineage_merge.exporters.page.sharded.catalog import Catalog, CatalogContents, Row, list_writers
from lineage_merge.exporters.page.sharded.names import NAMES, WHATS, WORDS, Named, NameIndex, Place, key_text
from lineage_merge.exporters.page.topics import Topic
from lineage_merge.graph_format.elements import JOB, Vertex
from lineage_merge.graph_format.schema import DATASET_LABELS
from lineage_merge.infra import storage
from lineage_merge.infra.batches import batched
from lineage_merge.infra.progress import ProgressCallback, no_progress
from lineage_merge.model.errors import ConfigError
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.questions.names import check_scope
from lineage_merge.questions.traversal.usage import Usage

INDEX = "index.html"
_FOLDER = "shards-"
_OWN_FOLDER = re.compile(rf"{_FOLDER}[0-9a-f]{{8}}")
# Rows of a shard: one is loaded and parsed in milliseconds.
_DATASETS = 64
_BYTES = 400_000
_WALK_ROWS = 2_048
_ROWS = 1_000
_NAMES = 1_500
_IDS = 4_000


class Scope(NamedTuple):
    """What is written. None: any."""

    environment: str | None = None
    dag: str | None = None


# The usage of datasets and columns by id, and the topics of these datasets.
Described = tuple[Mapping[str, Usage], list[Topic]]


def describe_nothing(_vertices: Iterable[Vertex]) -> Described:
    """Return neither usage nor topics."""
    return NO_USAGE, []


@dataclass(frozen=True, slots=True)
class Annotations:
    """Freshness of all datasets, as the page has it, and what is read for some datasets and their columns."""

    freshness: Mapping[str, list[Any]] = field(default_factory=dict)
    describe: Callable[[Iterable[Vertex]], Described] = describe_nothing


@dataclass(slots=True)
class Written:
    """Counts of what was written."""

    datasets: int = 0
    columns: int = 0
    shards: int = 0
    bytes: int = 0


def write_sharded(
    graph: LineageGraph,
    location: str,
    options: Options,
    scope: Scope = Scope(),  # noqa: B008 - immutable
    annotations: Annotations = Annotations(),
    on_progress: ProgressCallback = no_progress,
) -> Written:
    """Write the page of everything in the scope to a folder, local or in S3; an earlier page is replaced.

    Raises `NotFound` for an unknown environment or DAG, `ConfigError` if the folder has another page.
    """
    before = _own_folders(location)
    on_progress("ordering datasets by lineage")
    ids = graph.ids(DATASET_LABELS, *scope)
    if not ids:
        check_scope(graph, *scope)
    feeds = graph.pairs(["feeds"], *scope)
    ordered = order_by_lineage(ids, feeds)
    folder = _FOLDER + secrets.token_hex(4)
    with TemporaryDirectory() as scratch:
        shards = _Shards(folder, ordered, feeds, NameIndex(Path(scratch)))
        del ids, feeds
        files = shards.files(read_batches(graph, ordered, shards.place, scope.dag), annotations, on_progress)
        storage.write_new_texts(f"{location.rstrip('/')}/{folder}", files)
    page = document({**_EMPTY, **describe(options), "shards": shards.about()})
    storage.create_file(f"{location.rstrip('/')}/{INDEX}", page)
    for old in before:
        storage.delete_folder(f"{location.rstrip('/')}/{old}")
    shards.written.bytes += len(page.encode())
    return shards.written


# The page opens without datasets.
_EMPTY: Mapping[str, list[Any]] = {
    key: []
    for key in "datasets jobs feeds column_feeds influences writes assertions dags topics near_misses".split()
}


def _own_folders(location: str) -> list[str]:
    """Return the folders of shards of an earlier page."""
    names = storage.children(location)
    own = [name for name in names if _OWN_FOLDER.fullmatch(name)]
    if INDEX in names and not own:
        problem = f"{storage.redact_location(location)} has an {INDEX} that is not of a page with shards"
        raise ConfigError("", f"{problem}. Fix: name a new folder")
    return own


@dataclass(slots=True)
class _Shards:
    """The shards of all kinds: those of datasets batch by batch, then what is collected meanwhile."""

    folder: str
    ids: Sequence[str]
    feeds: InitVar[Iterable[tuple[str, str]]]
    names: NameIndex
    place: dict[str, int] = field(init=False)
    written: Written = field(default_factory=Written)
    _catalog: Catalog = field(default_factory=Catalog)
    _contents: CatalogContents | None = None
    _starts: list[int] = field(default_factory=list)
    _sources: list[list[int]] = field(init=False)
    _sides: list[list[int]] = field(init=False)
    _sums: list[int] = field(default_factory=list)
    _beginnings: dict[str, list[str]] = field(default_factory=lambda: {NAMES: [], WORDS: []})

    def __post_init__(self, feeds: Iterable[tuple[str, str]]) -> None:
        self.place = {identifier: number for number, identifier in enumerate(self.ids)}
        self._sources = [[] for _ in self.ids]
        self._sides = [[0, 0] for _ in self.ids]
        for source, target in feeds:
            if source in self.place and target in self.place:
                self._sides[self.place[target]][0] += 1
                self._sides[self.place[source]][1] += 1

    def files(
        self, batches: Iterable[DatasetBatch], annotations: Annotations, on_progress: ProgressCallback
    ) -> Iterator[tuple[str, str]]:
        """Yield the name and text of each shard; `about` is known after that."""
        total = len(self.ids)
        for batch in batches:
            yield from self._list_data(batch, annotations)
            on_progress(f"writing shards ({self.written.datasets:,} of {total:,} datasets)")
        on_progress("writing the index of names")
        self._contents = contents = self._catalog.contents()
        yield from self._list("walk", _WALK_ROWS, self._walks())
        yield from self._list("group", _ROWS, contents.groups)
        yield from self._list("name", _ROWS, contents.names)
        yield from self._list("mark", _ROWS, contents.marked_names)
        yield from self._list_ids()
        yield from self._list_names(contents)

    def about(self) -> dict[str, Any]:
        """Return what the page needs to know of its shards before it loads one."""
        contents = self._contents or self._catalog.contents()
        return {
            "folder": self.folder,
            "datasets": self.written.datasets,
            "columns": self.written.columns,
            "starts": self._starts,
            "rows": {"walk": _WALK_ROWS, "group": _ROWS, "name": _ROWS, "mark": _ROWS},
            "ids": _buckets(len(self._sums)),
            "beginnings": self._beginnings,
            "bands": contents.bands,
            "marks": contents.marked,
            "kinds": contents.kinds,
            "environments": contents.environments,
        }

    def _list_data(self, batch: DatasetBatch, annotations: Annotations) -> Iterator[tuple[str, str]]:
        columns = [column for dataset in batch.datasets for column in batch.columns.get(dataset.id, ())]
        usage, topics = annotations.describe([*batch.datasets, *columns])
        for datasets in _cut(batch):
            part = batch.part(datasets)
            data = numbered_data(part, datasets, batch.columns, batch.places, annotations.freshness, usage)
            ids = {dataset.id for dataset in datasets}
            shown = [limited for topic in topics if (limited := topic.within(ids)).datasets]
            first = self.place[datasets[0].id]
            self._complete(data, first, batch, part.vertices.values())
            self._catalog.add(first, data, shown)
            self._index(data, first)
            self._starts.append(first)
            topics_json = [topic.as_json() for topic in shown]
            yield self._shard("data", len(self._starts) - 1, {**data, "topics": topics_json})
            self.written.datasets += len(datasets)
            self.written.columns += sum(len(dataset["columns"]) for dataset in data["datasets"])

    def _complete(
        self, data: dict[str, Any], first: int, batch: DatasetBatch, vertices: Iterable[Vertex]
    ) -> None:
        """Add what the page counts in the whole graph: sides of datasets, what jobs write."""
        for number, dataset in enumerate(data["datasets"], first):
            dataset["sides"] = self._sides[number]
        written = {
            (vertex.environment, dag, str(vertex.properties.get("job_type", "")), vertex.name): number
            for vertex in vertices
            if vertex.label == JOB and (number := batch.written.get(vertex.id, 0)) > 1
            for dag in vertex.dags
        }
        for job in data["jobs"]:
            key = (job["environment"], data["dags"][job["dag"]], job["type"], job["name"])
            if key in written:
                job["written"] = written[key]
        pairs = {(feed[0], feed[1]) for feed in data["feeds"]}
        pairs |= {(edge[0], edge[2]) for edge in chain(data["column_feeds"], data["influences"])}
        for source, target in sorted(pairs):
            self._sources[target].append(source)

    def _index(self, data: Mapping[str, Any], first: int) -> None:
        writers = list_writers(data)
        for number, dataset in enumerate(data["datasets"], first):
            place = Place(number, dataset["title"], dataset["kind"], dataset["environment"])
            jobs = {job["name"] for job in writers.get(number, ())}
            self.names.add(place, dataset["name"], (column[0] for column in dataset["columns"]), jobs)
            known = dict(dataset["facts"])
            aliases = known.get("aliases", "").splitlines()
            self.names.add_words(place, dataset["name"], known.get("description", ""), aliases)
            self._sums.append(zlib.crc32(dataset["id"].encode("utf-8", "replace")))

    def _walks(self) -> Iterator[Row]:
        targets: list[list[int]] = [[] for _ in self.ids]
        for target, sources in enumerate(self._sources):
            for source in sources:
                targets[source].append(target)
        for number, sides in enumerate(zip(self._sources, targets, strict=True)):
            yield [[other - number for other in side if other != number] for side in sides]

    def _list_ids(self) -> Iterator[tuple[str, str]]:
        buckets: list[list[Row]] = [[] for _ in range(_buckets(len(self._sums)))]
        for number, checksum in enumerate(self._sums):
            buckets[checksum % len(buckets)].append([checksum, number])
        for number, rows in enumerate(buckets):
            yield self._shard("id", number, sorted(rows))

    def _list_names(self, contents: CatalogContents) -> Iterator[tuple[str, str]]:
        kinds = {kind: number for number, kind in enumerate(contents.kinds)}
        environments = {name: number for number, name in enumerate(contents.environments)}

        def row(named: Named) -> Row:
            places = [
                [place.number, place.title, kinds[place.kind], environments[place.environment]]
                for place in named.datasets
            ]
            what = WHATS[named.what]
            if what == "column":
                return [named.name, named.total, places]
            if what == "job":
                return [named.name, what, places[0], named.total]
            if what != "dataset":
                return [named.name, what, named.first, named.total]
            number, *rest = places[0]
            return [number, named.name, *rest, *filter(None, [named.more])]

        for value in contents.values:
            self.names.add_list(*value)
        for kind, found in groupby(self.names.rows(), key=attrgetter("kind")):
            for number, rows in enumerate(batched(found, _NAMES)):
                self._beginnings[kind].append(key_text(rows[0].key))
                yield self._shard(kind, number, list(map(row, rows)))

    def _list(self, kind: str, size: int, rows: Iterable[Row]) -> Iterator[tuple[str, str]]:
        for number, part in zip(count(), batched(rows, size)):
            yield self._shard(kind, number, part)

    def _shard(self, kind: str, number: int, content: object) -> tuple[str, str]:
        call = f'"{self.folder}","{kind}",{number},{escape_json(content)}'
        text = f"lineage.shards.receive({call});\n"
        self.written.shards += 1
        self.written.bytes += len(text.encode())
        return f"{kind}-{number}.js", text


def _cut(batch: DatasetBatch) -> Iterator[list[Vertex]]:
    """Yield the datasets of a batch in shards: of so many, or fewer if these have many columns and edges.

    Numbers are consecutive, also if a dataset has been deleted since the numbers were given.
    """
    place = batch.places.datasets
    part: list[Vertex] = []
    size = 0
    for dataset in batch.datasets:
        own = 300 + 60 * len(batch.columns.get(dataset.id, ())) + 90 * len(batch.edges.get(dataset.id, ()))
        is_gap = bool(part) and place[dataset.id] != place[part[-1].id] + 1
        if part and (is_gap or len(part) == _DATASETS or size + own > _BYTES):
            yield part
            part, size = [], 0
        part.append(dataset)
        size += own
    if part:
        yield part


def _buckets(datasets: int) -> int:
    return datasets // _IDS + 1

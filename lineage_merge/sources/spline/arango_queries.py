"""Queries of Spline's database in slices: a time range of `progress`, a list of plans for everything else.

Every filter uses an index that Spline creates (`progress.timestamp`, ``_key``, `operation._belongsTo`,
`follows._belongsTo`, ``_from`` of edge collections). The driver reads counts and, once, the open
transactions. Each function takes the settings of the connection.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import ceil, floor
from typing import Any

from arango.exceptions import ArangoServerError

from lineage_merge.infra.batches import batched
from lineage_merge.model.errors import SourceError, SourceMissing
from lineage_merge.model.times import latest_credible
from lineage_merge.sources.spline import labels
from lineage_merge.sources.spline.arango import MAX_NAMES, ArangoDatabase, database, readable_databases
from lineage_merge.sources.spline.database_state import COMMITTED, Snapshot
from lineage_merge.sources.spline.documents import COLLECTIONS, REQUIRED, ROW_LEVEL, Document
from lineage_merge.sources.spline.settings import Arango

PLANS_PER_REQUEST = 50
# A plan of hundreds of columns has thousands of expressions: their ids are split over several requests.
IDS_PER_REQUEST = 2000
# Maximum applications to report, if a pattern matches none.
MAX_APPLICATIONS = 10_000
# Maximum different labels to report, if no write has one.
MAX_LABELS = 10_000

# The parts of a plan that are read by `_belongsTo`, which Spline indexes only in these two collections.
_BELONGS_TO = "FOR d IN @@collection FILTER d._belongsTo IN @values RETURN d"
_BY_KEY = "FOR d IN @@collection FILTER d._key IN @values RETURN d"
_FROM = "FOR e IN @@collection FILTER e._from IN @values RETURN e"
# Edge collections by the collection that their edges start from: the other parts of a plan are reached from
# its operations.
_EDGES: Mapping[str, tuple[str, ...]] = {
    "operation": ("emits", "produces", "uses"),
    "schema": ("consistsOf",),
    "attribute": ("computedBy", "derivesFrom"),
    "expression": ("takes",),
}
# The documents of these collections are needed; of a schema, only its edges.
_VERTICES = ("attribute", "expression")

# Only the label fields of a plan's own document.
LABELS_OF_PLANS = (
    f"FOR p IN executionPlan FILTER p._key IN @keys AND {COMMITTED}"
    " RETURN {_key: p._key, labels: KEEP(p.labels || {}, @heads), extra: KEEP(p.extra || {}, @heads)}"
)
# AQL sorts null and booleans before numbers, strings after.
_TIMES = (
    f"FOR p IN progress FILTER p.timestamp >= 0 AND p.timestamp <= @latest AND {COMMITTED}"
    " SORT p.timestamp {order} LIMIT 1 RETURN p.timestamp"
)
_AHEAD = f'FOR p IN progress FILTER p.timestamp > @latest AND p.timestamp < "" AND {COMMITTED} RETURN 1'


@dataclass(frozen=True, slots=True)
class Overview:
    """Facts about a database that the driver needs to plan slices. Times are ms since 1970.

    `ahead`: the number of events with a later time than is credible, which `oldest` and `newest` leave out.
    """

    collections: frozenset[str]
    events: int
    oldest: int
    newest: int
    ahead: int
    snapshot: Snapshot


def overview(settings: Arango, latest: int | None = None) -> Overview:
    """Check connection, permissions and required collections, and return the time range of the data.

    `latest`: the latest time that is credible (default: that of now).
    """
    latest = latest_credible() if latest is None else latest
    with database(settings, retries=False) as db:
        for collection in REQUIRED:
            if collection not in db.collections:
                raise SourceMissing(
                    f"ArangoDB database {settings.database}: the required collection {collection} is missing"
                    f"{'' if db.collections.intersection(REQUIRED) else _no_spline(db)}"
                )
        if refusal := db.versions().refusal:
            raise SourceError(refusal)
        snapshot = db.snapshot()
        span: dict[str, Any] = {"events": 0, "oldest": None, "newest": None, "ahead": 0}
        if "progress" in db.collections:
            oldest, newest = (_TIMES.format(order=order) for order in ("ASC", "DESC"))
            times = f"oldest: FIRST({oldest}), newest: FIRST({newest}), ahead: LENGTH({_AHEAD})"
            query = f"RETURN {{events: LENGTH(progress), {times}}}"
            span = db.single(query, latest=latest, **snapshot.variables)
        return Overview(
            collections=db.collections.intersection(COLLECTIONS),
            events=span["events"],
            oldest=floor(span["oldest"] or 0),
            newest=ceil(span["newest"] or 0),
            ahead=span["ahead"],
            snapshot=snapshot,
        )


def _no_spline(db: ArangoDatabase) -> str:
    """Return what a database without Spline's collections has, and which databases there are."""
    own = sorted(name for name in db.collections if not name.startswith("_"))
    contents = f"it has {', '.join(own[:MAX_NAMES])}" if own else "it is empty"
    others: list[str] = []
    with suppress(ArangoServerError):
        others = [name for name in readable_databases(db.client) if name != db.client.name]
    return f"; {contents}; other databases: {', '.join(others[:MAX_NAMES])}" if others else f"; {contents}"


def document_counts(settings: Arango, collections: Iterable[str]) -> dict[str, int]:
    """Return the number of documents in each collection."""
    with database(settings) as db:
        counts: dict[str, Any] = {name: db.client.collection(name).count() for name in sorted(collections)}
        return {name: int(number) for name, number in counts.items()}


def events(settings: Arango, since: int, until: int | None) -> Iterator[Document]:
    """Yield the `progress` documents from `since` up to (not including) `until`, in ms; None: all later."""
    query = "FOR p IN progress FILTER p.timestamp >= @since AND p.timestamp < @until RETURN p"
    with database(settings) as db:
        # Every text sorts after every number.
        yield from db.query(query, since=since, until="" if until is None else until)


def list_malformed_events(settings: Arango) -> Iterator[Document]:
    """Yield the `progress` documents whose time is not a number, which are reported as rejected."""
    with database(settings) as db:
        for malformed in ("p.timestamp < 0", 'p.timestamp >= ""'):
            yield from db.query(f"FOR p IN progress FILTER {malformed} RETURN p")


def plan_labels(
    settings: Arango, keys: Sequence[str], wanted: labels.Wanted, snapshot: Snapshot
) -> dict[str, set[str]]:
    """Return the requested labels of plans, by plan."""
    bind = {"heads": labels.heads(wanted), **snapshot.variables}
    with database(settings) as db:
        return {
            document["_key"]: labels.present(wanted, document)
            for some in split_by_request(keys)
            for document in db.query(LABELS_OF_PLANS, keys=some, **bind)
        }


def row_level_plans(settings: Arango, keys: Sequence[str]) -> set[str]:
    """Return which of the plans change single rows of their target."""
    query = (
        "FOR o IN operation FILTER o._belongsTo IN @owners AND o.type == 'Write' AND o.name IN @names"
        " RETURN o._belongsTo"
    )
    with database(settings) as db:
        return {
            owner.rpartition("/")[2]
            for some in split_by_request([f"executionPlan/{key}" for key in keys])
            for owner in db.query(query, owners=some, names=sorted(ROW_LEVEL))
        }


def plan_keys(settings: Arango, offset: int, count: int) -> Iterator[str]:
    """Yield a slice of all plans, for a database without `progress`."""
    query = "FOR p IN executionPlan SORT p._key LIMIT @offset, @count RETURN p._key"
    with database(settings) as db:
        yield from db.query(query, offset=offset, count=count)


def plan_count(settings: Arango) -> int:
    """Return the number of plans."""
    with database(settings) as db:
        return int(db.single("RETURN LENGTH(executionPlan)"))


def plans(
    settings: Arango, keys: Iterator[str], collections: frozenset[str]
) -> Iterator[tuple[str, dict[str, list[Document]]]]:
    """Yield the documents of each plan, by collection, a few plans per request."""
    with database(settings) as db:

        def fetch(collection: str, query: str, values: Sequence[str]) -> Iterator[Document]:
            if collection in collections:
                for some in split_by_request(values):
                    yield from db.query(query, **{"@collection": collection, "values": some})

        for batch in batched(keys, PLANS_PER_REQUEST):
            by_plan: dict[str, dict[str, list[Document]]] = {key: defaultdict(list) for key in batch}
            for collection, document in _documents(batch, fetch):
                owner = str(document.get("_belongsTo") or document["_key"])
                key = owner.rpartition("/")[2].partition(":")[0]
                if key in by_plan:
                    by_plan[key][collection].append(document)
            yield from by_plan.items()


def _documents(
    plans: Sequence[str], fetch: Callable[[str, str, Sequence[str]], Iterable[Document]]
) -> Iterator[tuple[str, Document]]:
    """Yield the documents of plans with their collection: their operations, and what is reached from these.

    Most collections are not indexed by `_belongsTo`, so querying them by it would scan them completely; every
    edge collection has an index of `_from`.
    """
    yield from (("executionPlan", document) for document in fetch("executionPlan", _BY_KEY, plans))
    owners = [f"executionPlan/{plan}" for plan in plans]
    operations: set[str] = set()
    for document in fetch("operation", _BELONGS_TO, owners):
        operations.add(document["_id"] if "_id" in document else f"operation/{document['_key']}")
        yield "operation", document
    yield from (("follows", edge) for edge in fetch("follows", _BELONGS_TO, owners))
    seen: set[str] = set()
    waiting = {"operation": operations}
    while waiting:
        reached: defaultdict[str, set[str]] = defaultdict(set)
        for start, ids in waiting.items():
            if start in _VERTICES:
                keys = [identifier.partition("/")[2] for identifier in sorted(ids)]
                yield from ((start, document) for document in fetch(start, _BY_KEY, keys))
            for collection in _EDGES[start]:
                for edge in fetch(collection, _FROM, sorted(ids)):
                    yield collection, edge
                    end = str(edge.get("_to") or "")
                    if end not in seen and end.partition("/")[0] in _EDGES:
                        seen.add(end)
                        reached[end.partition("/")[0]].add(end)
        waiting = reached


def split_by_request(items: Iterable[str]) -> Iterator[list[str]]:
    """Yield ids or keys in lists of as many as fit into one request."""
    return batched(items, IDS_PER_REQUEST)


# For messages about patterns that match nothing


def application_names(settings: Arango, *, is_recorded: bool) -> list[str]:
    """Return the names of applications in the database, at most `MAX_APPLICATIONS`.

    `is_recorded`: it has `progress`, whose index on this field the query uses.
    """
    collection, field = "executionPlan", "name"
    if is_recorded:
        collection, field = "progress", "execPlanDetails.applicationName"
    query = f"FOR p IN {collection} COLLECT name = p.{field} LIMIT @most RETURN name"
    with database(settings) as db:
        return [name for name in db.query(query, most=MAX_APPLICATIONS) if isinstance(name, str)]


def all_labels(settings: Arango, wanted: labels.Wanted) -> Iterator[labels.Label]:
    """Yield the requested labels of plans and writes, and the names of the others with an empty value.

    At most `MAX_LABELS` of each.
    """
    distinct = (
        "FOR p IN {} COLLECT own = KEEP(p.labels || {{}}, @heads), extra = KEEP(p.extra || {{}}, @heads)"
        " LIMIT @most RETURN {{labels: own, extra: extra}}"
    )
    names = "FOR p IN executionPlan COLLECT names = ATTRIBUTES(p.labels || {}) LIMIT @most RETURN names"
    with database(settings) as db:
        for collection in sorted(db.collections & {"executionPlan", "progress"}):
            bind = {"heads": labels.heads(wanted), "most": MAX_LABELS}
            for document in db.query(distinct.format(collection), **bind):
                yield from sorted(labels.pairs(wanted, document))
        others = {name for listed in db.query(names, most=MAX_LABELS) for name in listed}
        yield from ((name, "") for name in sorted(others) if name not in wanted)

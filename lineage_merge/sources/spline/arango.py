"""Spline's database as it lives in ArangoDB, read through python-arango.

Executors ask for slices: a span of time of `progress`, a list of plans of everything else,
each in batches over a cursor. Every filter uses an index that Spline makes
(`progress.timestamp`, ``_key``, `operation._belongsTo`, `follows._belongsTo`, ``_from`` of
edge collections). The driver reads numbers and the ids of open transactions.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any

from arango.client import ArangoClient
from arango.database import StandardDatabase
from arango.exceptions import ArangoServerError
from arango.http import DefaultHTTPClient
from requests.exceptions import RequestException

from lineage_merge.config import Arango
from lineage_merge.errors import SourceDenied, SourceError, SourceMissing, SourceUnreachable
from lineage_merge.sources.spline.documents import COLLECTIONS, REQUIRED, Document

# ArangoDB's error numbers (docs: "Error codes and meanings").
_NOT_AUTHORIZED = (11, 401, 403)
_NO_DATABASE = 1228
_NO_COLLECTION = 1203

PLANS_A_REQUEST = 50

# What of a plan is reached by its `_belongsTo`, which Spline indexes in these two only.
_BELONGS_TO = "FOR d IN @@collection FILTER d._belongsTo IN @plans RETURN d"
_BY_KEY = "FOR d IN @@collection FILTER d._key IN @keys RETURN d"
_EDGES = "FOR e IN @@collection FILTER e._from IN @ids RETURN e._to"


# AQL orders null and booleans before numbers, strings after.
_TIMES = (
    'FOR p IN progress FILTER p.timestamp >= 0 AND p.timestamp < "" SORT p.timestamp {order}'
    " LIMIT 1 RETURN p.timestamp"
)


@dataclass(frozen=True, slots=True)
class Overview:
    """What the driver knows of a database before it hands out slices. Times in ms since 1970."""

    collections: frozenset[str]
    events: int
    oldest: int
    newest: int
    open_transactions: frozenset[str]


@contextmanager
def database(settings: Arango, *, patient: bool = True) -> Iterator[StandardDatabase]:
    """A connection to Spline's database; what goes wrong becomes a `SourceError`.

    `patient` False: no retries, so that an unreachable server is known at once.
    """
    http = DefaultHTTPClient(
        request_timeout=settings.timeout_seconds if patient else min(settings.timeout_seconds, 10),
        retry_attempts=3 if patient else 0,
        backoff_factor=0.5 if patient else 0,
    )
    client = ArangoClient(hosts=settings.hosts.split(","), http_client=http)
    try:
        yield client.db(
            settings.database,
            username=settings.username,
            password=settings.password(),
            auth_method=settings.auth_method,
        )
    except ArangoServerError as error:
        raise _explain(settings, error) from None
    except (RequestException, ConnectionError) as error:
        raise SourceUnreachable(
            f"no connection to ArangoDB at {_shown(settings)} ({type(error).__name__})"
        ) from None
    finally:
        client.close()


def overview(settings: Arango) -> Overview:
    """Check connection, rights and required collections, and find the span of time there is."""
    with database(settings, patient=False) as db:
        version = db.version()
        del version  # a cheap request that needs the right password and an existing database
        names = frozenset(str(each["name"]) for each in _collections(db))
        for collection in REQUIRED:
            if collection not in names:
                raise SourceMissing(
                    f"ArangoDB database {settings.database}: the required collection {collection} is missing"
                )
        span: dict[str, Any] = {"events": 0, "oldest": 0, "newest": 0}
        if "progress" in names:
            oldest, newest = (_TIMES.format(order=order) for order in ("ASC", "DESC"))
            query = f"RETURN {{events: LENGTH(progress), oldest: FIRST({oldest}), newest: FIRST({newest})}}"
            span = next(_query(db, settings, query))
        opened: frozenset[str] = frozenset()
        if "txInfo" in names:
            opened = frozenset(
                str(uid) for uid in _query(db, settings, "FOR t IN txInfo RETURN t.uid") if uid
            )
        return Overview(
            collections=names.intersection((*COLLECTIONS, "uses", "takes")),
            events=span["events"],
            oldest=span["oldest"] or 0,
            newest=span["newest"] or 0,
            open_transactions=opened,
        )


def events(settings: Arango, since: int, until: int) -> Iterator[Document]:
    """The `progress` documents from `since` up to (not including) `until`, in ms."""
    query = "FOR p IN progress FILTER p.timestamp >= @since AND p.timestamp < @until RETURN p"
    with database(settings) as db:
        yield from _query(db, settings, query, since=since, until=until)


def odd_events(settings: Arango) -> Iterator[Document]:
    """The `progress` documents whose time is no number: broken, and never lost in silence."""
    query = 'FOR p IN progress FILTER p.timestamp < 0 OR p.timestamp >= "" RETURN p'
    with database(settings) as db:
        yield from _query(db, settings, query)


def plan_keys(settings: Arango, offset: int, count: int) -> Iterator[str]:
    """A slice of all plans, for a database that has no `progress`."""
    query = "FOR p IN executionPlan SORT p._key LIMIT @offset, @count RETURN p._key"
    with database(settings) as db:
        yield from _query(db, settings, query, offset=offset, count=count)


def plan_count(settings: Arango) -> int:
    """How many plans there are."""
    with database(settings) as db:
        return next(_query(db, settings, "RETURN LENGTH(executionPlan)"))  # type: ignore[no-any-return]


def plans(
    settings: Arango, keys: Iterator[str], collections: frozenset[str]
) -> Iterator[tuple[str, dict[str, list[Document]]]]:
    """The documents of each plan, by collection, a few plans a request."""
    with database(settings) as db:
        while batch := list(islice(keys, PLANS_A_REQUEST)):
            yield from _plan_batch(db, settings, batch, collections).items()


def _plan_batch(
    db: StandardDatabase, settings: Arango, keys: Sequence[str], collections: frozenset[str]
) -> Mapping[str, dict[str, list[Document]]]:
    found: dict[str, dict[str, list[Document]]] = {key: defaultdict(list) for key in keys}
    owners = [f"executionPlan/{key}" for key in keys]

    def take(collection: str, documents: Iterator[Document]) -> None:
        for document in documents:
            owner = str(document.get("_belongsTo") or document["_key"])
            key = owner.rpartition("/")[2].partition(":")[0]
            if key in found:
                found[key][collection].append(document)

    take(
        "executionPlan", _query(db, settings, _BY_KEY, **{"@collection": "executionPlan", "keys": list(keys)})
    )
    for collection in ("operation", "follows"):
        if collection in collections:
            bind = {"@collection": collection, "plans": owners}
            take(collection, _query(db, settings, _BELONGS_TO, **bind))
    if {"uses", "takes", "expression"} <= collections:
        operations = [
            document["_id"] if "_id" in document else f"operation/{document['_key']}"
            for documents in found.values()
            for document in documents["operation"]
        ]
        take("expression", _expressions(db, settings, operations))
    return found


def _expressions(db: StandardDatabase, settings: Arango, operations: list[str]) -> Iterator[Document]:
    """The expressions that operations use, and those inside them: no index tells them by plan."""
    seen: set[str] = set()
    collection, ids = "uses", operations
    while ids:
        bind = {"@collection": collection, "ids": ids}
        reached = {
            str(each) for each in _query(db, settings, _EDGES, **bind) if str(each).startswith("expression/")
        }
        ids = sorted(reached - seen)
        seen.update(ids)
        collection = "takes"
        if ids:
            keys = [each.partition("/")[2] for each in ids]
            yield from _query(db, settings, _BY_KEY, **{"@collection": "expression", "keys": keys})


def _query(db: StandardDatabase, settings: Arango, query: str, **bind: Any) -> Iterator[Any]:
    execute: Any = db.aql.execute
    # allow_retry: when an answer is lost and the request sent again, the same batch comes again.
    cursor = execute(query, bind_vars=bind, batch_size=settings.batch_size, ttl=300, allow_retry=True)
    try:
        yield from cursor
    finally:
        cursor.close(ignore_missing=True)


def _collections(db: StandardDatabase) -> list[dict[str, Any]]:
    return db.collections()  # type: ignore[return-value]


def _shown(settings: Arango) -> str:
    """The hosts without credentials that someone may have put into the address."""
    hosts = (host.rpartition("@") for host in settings.hosts.split(","))
    return ",".join(f"{before.partition('://')[0]}://{host}" if at else host for before, at, host in hosts)


def _explain(settings: Arango, error: ArangoServerError) -> SourceError:
    place = f"ArangoDB at {_shown(settings)}"
    if error.error_code in _NOT_AUTHORIZED or error.http_code in (401, 403):
        return SourceDenied(f"{place} refuses user {settings.username!r} (wrong password or no permission)")
    if error.error_code == _NO_DATABASE:
        return SourceMissing(f"{place}: no database named {settings.database!r}")
    if error.error_code == _NO_COLLECTION:
        return SourceMissing(f"{place}, database {settings.database}: {error.error_message}")
    return SourceError(f"{place}: {error.error_message} (error {error.error_code})")

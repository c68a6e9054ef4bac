"""Spline's database as it lives in ArangoDB, read through python-arango.

Executors ask for slices: a span of time of `progress`, a list of plans of everything else,
each in batches over a cursor. Every filter uses an index that Spline makes
(`progress.timestamp`, ``_key``, `operation._belongsTo`, `follows._belongsTo`, ``_from`` of
edge collections). The driver reads numbers and, once, which transactions are committed.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from math import ceil, floor
from typing import Any

from arango.client import ArangoClient
from arango.database import StandardDatabase
from arango.exceptions import ArangoServerError
from arango.http import DefaultHTTPClient
from arango.response import Response
from requests.exceptions import RequestException

from lineage_merge.infra import input_budget
from lineage_merge.model.errors import SourceDenied, SourceError, SourceMissing, SourceUnreachable
from lineage_merge.sources.spline import labels, versions
from lineage_merge.sources.spline.documents import COLLECTIONS, REQUIRED, Document
from lineage_merge.sources.spline.plan_traversal import reach
from lineage_merge.sources.spline.settings import Arango
from lineage_merge.sources.spline.transactions import COMMITTED, COUNTER, COUNTER_KEY, OPEN, Snapshot, newest
from lineage_merge.sources.spline.versions import Versions

# ArangoDB's error numbers (docs: "Error codes and meanings").
_NOT_AUTHORIZED = (11, 401, 403)
_NO_DATABASE = 1228
_NO_COLLECTION = 1203

PLANS_A_REQUEST = 50
# A plan of hundreds of columns has thousands of expressions: their ids go in several requests.
IDS_A_REQUEST = 2000

# What of a plan is reached by its `_belongsTo`, which Spline indexes in these two only.
_BELONGS_TO = "FOR d IN @@collection FILTER d._belongsTo IN @plans RETURN d"
_BY_KEY = "FOR d IN @@collection FILTER d._key IN @keys RETURN d"
_FROM = "FOR e IN @@collection FILTER e._from IN @keys RETURN e"


# Of a plan's own document what labels need, no more.
_LABELS = (
    f"FOR p IN executionPlan FILTER p._key IN @keys AND {COMMITTED}"
    " RETURN {_key: p._key, labels: KEEP(p.labels || {}, @heads), extra: KEEP(p.extra || {}, @heads)}"
)

# AQL orders null and booleans before numbers, strings after.
_TIMES = (
    f'FOR p IN progress FILTER p.timestamp >= 0 AND p.timestamp < "" AND {COMMITTED}'
    " SORT p.timestamp {order} LIMIT 1 RETURN p.timestamp"
)


@dataclass(frozen=True, slots=True)
class Server:
    """Spline's ArangoDB and the password to it.

    The driver reads the password: executors do not have its environment.
    """

    settings: Arango
    password: str = field(repr=False)


def log_in(settings: Arango) -> Server:
    """The server with the password that the environment holds. Raises `ConfigError`."""
    return Server(settings, settings.password())


@dataclass(frozen=True, slots=True)
class Overview:
    """What the driver knows of a database before it hands out slices. Times in ms since 1970."""

    collections: frozenset[str]
    events: int
    oldest: int
    newest: int
    snapshot: Snapshot


class _Client(DefaultHTTPClient):
    """The client's own, which counts what it reads."""

    def send_request(self, *arguments: Any, **options: Any) -> Response:
        """Send a request, and count the bytes of the answer's text."""
        response = super().send_request(*arguments, **options)
        input_budget.count(len(response.raw_body))
        return response


@contextmanager
def database(server: Server, *, patient: bool = True) -> Iterator[StandardDatabase]:
    """A connection to Spline's database; what goes wrong becomes a `SourceError`.

    `patient` False: no retries, so that an unreachable server is known at once.
    """
    settings = server.settings
    hosts = [host.strip() for host in settings.hosts.split(",") if host.strip()]
    http = _Client(
        request_timeout=settings.timeout_seconds if patient else min(settings.timeout_seconds, 10),
        # Of several hosts the client tries the next one, without waiting for one that is down.
        retry_attempts=3 if patient and len(hosts) == 1 else 0,
        backoff_factor=0.5 if patient else 0,
    )
    client = ArangoClient(
        hosts=hosts, http_client=http, resolver_max_tries=None if patient else max(len(hosts), 1)
    )
    try:
        yield client.db(
            settings.database,
            username=settings.username,
            password=server.password,
            auth_method=settings.auth_method,
        )
    except ArangoServerError as error:
        raise _explain(settings, error) from None
    except (RequestException, ConnectionError) as error:
        # The client tells all failures to connect alike; others have a name of their own.
        reason = f" ({type(error).__name__})" if isinstance(error, RequestException) else ""
        raise SourceUnreachable(f"no connection to ArangoDB at {_shown(settings)}{reason}") from None
    finally:
        client.close()


def overview(server: Server) -> Overview:
    """Check connection, rights and required collections, and find the span of time there is."""
    settings = server.settings
    with database(server, patient=False) as db:
        names = collections_of(db, settings)
        for collection in REQUIRED:
            if collection not in names:
                raise SourceMissing(
                    f"ArangoDB database {settings.database}: the required collection {collection} is missing"
                )
        refusal = versions_of(db, settings, names).refusal
        if refusal:
            raise SourceError(refusal)
        seen = snapshot(db, settings, names)
        span: dict[str, Any] = {"events": 0, "oldest": None, "newest": None}
        if "progress" in names:
            oldest, newest = (_TIMES.format(order=order) for order in ("ASC", "DESC"))
            query = f"RETURN {{events: LENGTH(progress), oldest: FIRST({oldest}), newest: FIRST({newest})}}"
            span = _single(db, settings, query, **seen.variables)
        return Overview(
            collections=names.intersection(COLLECTIONS),
            events=span["events"],
            oldest=floor(span["oldest"] or 0),
            newest=ceil(span["newest"] or 0),
            snapshot=seen,
        )


def document_counts(server: Server, collections: Iterable[str]) -> dict[str, int]:
    """How many documents there are in each collection."""
    with database(server) as db:
        found: dict[str, Any] = {name: db.collection(name).count() for name in sorted(collections)}
        return {name: int(number) for name, number in found.items()}


def versions_of(db: StandardDatabase, settings: Arango, collections: frozenset[str]) -> Versions:
    """Which version of Spline made the database; `collections` are those that it has."""
    if versions.COLLECTION not in collections:
        return Versions()
    return versions.versions(ask(db, settings, "FOR v IN dbVersion RETURN v"))


def snapshot(db: StandardDatabase, settings: Arango, collections: frozenset[str]) -> Snapshot:
    """Which transactions are committed now; `collections` are those of the database.

    In two queries, the number first: what begins between them has a greater one.
    """
    number = None
    if COUNTER in collections:
        number = newest(ask(db, settings, "FOR c IN counter FILTER c._key == @key RETURN c", key=COUNTER_KEY))
    opened: frozenset[str] = frozenset()
    if OPEN in collections:
        opened = frozenset(str(key) for key in ask(db, settings, "FOR t IN txInfo RETURN t._key"))
    return Snapshot(opened, number)


def events(server: Server, since: int, until: int) -> Iterator[Document]:
    """The `progress` documents from `since` up to (not including) `until`, in ms."""
    query = "FOR p IN progress FILTER p.timestamp >= @since AND p.timestamp < @until RETURN p"
    with database(server) as db:
        yield from ask(db, server.settings, query, since=since, until=until)


def malformed_events(server: Server) -> Iterator[Document]:
    """The `progress` documents whose time is no number: broken, and never lost in silence."""
    with database(server) as db:
        for malformed in ("p.timestamp < 0", 'p.timestamp >= ""'):
            yield from ask(db, server.settings, f"FOR p IN progress FILTER {malformed} RETURN p")


def plan_labels(
    server: Server, keys: Sequence[str], wanted: labels.Wanted, snapshot: Snapshot
) -> dict[str, set[str]]:
    """Which of the wanted labels plans have, by plan."""
    heads = labels.heads(wanted)
    with database(server) as db:
        return {
            document["_key"]: labels.of_plan(wanted, document)
            for some in _in_parts(keys)
            for document in ask(db, server.settings, _LABELS, keys=some, heads=heads, **snapshot.variables)
        }


def plan_keys(server: Server, offset: int, count: int) -> Iterator[str]:
    """A slice of all plans, for a database that has no `progress`."""
    query = "FOR p IN executionPlan SORT p._key LIMIT @offset, @count RETURN p._key"
    with database(server) as db:
        yield from ask(db, server.settings, query, offset=offset, count=count)


def plan_count(server: Server) -> int:
    """How many plans there are."""
    with database(server) as db:
        return int(_single(db, server.settings, "RETURN LENGTH(executionPlan)"))


def plans(
    server: Server, keys: Iterator[str], collections: frozenset[str]
) -> Iterator[tuple[str, dict[str, list[Document]]]]:
    """The documents of each plan, by collection, a few plans a request."""
    with database(server) as db:
        while batch := list(islice(keys, PLANS_A_REQUEST)):
            yield from _plan_batch(db, server.settings, batch, collections).items()


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

    take("executionPlan", ask(db, settings, _BY_KEY, **{"@collection": "executionPlan", "keys": list(keys)}))
    for collection in ("operation", "follows"):
        if collection in collections:
            bind = {"@collection": collection, "plans": owners}
            take(collection, ask(db, settings, _BELONGS_TO, **bind))
    operations = [
        document["_id"] if "_id" in document else f"operation/{document['_key']}"
        for documents in found.values()
        for document in documents.get("operation", ())
    ]

    def fetch(collection: str, field: str, values: list[str]) -> Iterator[Document]:
        query = _BY_KEY if field == "_key" else _FROM
        for some in _in_parts(values):
            yield from ask(db, settings, query, **{"@collection": collection, "keys": some})

    for collection, document in reach(operations, collections, fetch):
        take(collection, iter((document,)))
    return found


def _in_parts(items: Sequence[str]) -> Iterator[Sequence[str]]:
    return (items[start : start + IDS_A_REQUEST] for start in range(0, len(items), IDS_A_REQUEST))


def ask(db: StandardDatabase, settings: Arango, query: str, **bind: Any) -> Iterator[Any]:
    """The results of a query, a batch at a time."""
    execute: Any = db.aql.execute
    cursor = execute(
        query,
        bind_vars=bind,
        batch_size=settings.batch_size,
        ttl=300,
        # When an answer is lost and the request sent again, the same batch comes again. Servers
        # before 3.11 send the next one instead: the count tells.
        allow_retry=True,
        count=True,
    )
    received, is_there = 0, True
    try:
        # Not `yield from`, which closes the cursor too when its reader stops early.
        for result in cursor:
            received += 1
            yield result
        if received != cursor.count():
            raise SourceError(
                f"ArangoDB at {_shown(settings)}: {cursor.count()} documents promised, {received} received"
            )
    except (RequestException, ConnectionError):
        is_there = False
        raise
    finally:
        if is_there:
            # One that cannot be closed ends by its time to live, and hides no other error.
            with suppress(ArangoServerError, RequestException, ConnectionError):
                cursor.close(ignore_missing=True)


def _single(db: StandardDatabase, settings: Arango, query: str, **bind: Any) -> Any:
    (result,) = ask(db, settings, query, **bind)
    return result


def collections_of(db: StandardDatabase, settings: Arango) -> frozenset[str]:
    """The names of a database's collections."""
    try:
        found: Any = db.collections()
        return frozenset(str(each["name"]) for each in found)
    except (KeyError, TypeError):
        raise SourceError(f"{_shown(settings)} does not answer as ArangoDB does") from None


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
    reason = error.error_message or f"HTTP {error.http_code}"
    code = f" (error {error.error_code})" if error.error_code else ""
    return SourceError(f"{place}: {reason}{code}")

"""Client of Spline's ArangoDB, through python-arango.

Executors query slices: a time range of `progress`, a list of plans for everything else, in batches over a
cursor. Every filter uses an index that Spline creates (`progress.timestamp`, ``_key``,
`operation._belongsTo`, `follows._belongsTo`, ``_from`` of edge collections). The driver reads counts and,
once, the open transactions.
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
from lineage_merge.model.errors import (
    SourceDenied,
    SourceError,
    SourceMissing,
    SourceUnreachable,
    did_you_mean,
)
from lineage_merge.sources.spline import labels, versions
from lineage_merge.sources.spline.documents import COLLECTIONS, REQUIRED, Document
from lineage_merge.sources.spline.plan_traversal import traverse
from lineage_merge.sources.spline.settings import Arango
from lineage_merge.sources.spline.transactions import COMMITTED, COUNTER, COUNTER_KEY, OPEN, Snapshot, newest
from lineage_merge.sources.spline.versions import Versions

# ArangoDB error codes (docs: "Error codes and meanings").
_NOT_AUTHORIZED = (11, 401, 403)
_NO_DATABASE = 1228
_NO_COLLECTION = 1203

# Services whose address is given in place of ArangoDB's.
_OTHER_PORTS = {
    "5439": "Redshift",
    "8080": "Spline's server",
    "8182": "Gremlin",
    "9083": "Hive's metastore",
    "9090": "Spline's UI",
    "9092": "Kafka",
}
# Maximum names of databases and collections in a message.
_MAX_NAMES = 10

PLANS_PER_REQUEST = 50
# A plan of hundreds of columns has thousands of expressions: their ids are split over several requests.
IDS_PER_REQUEST = 2000

# The parts of a plan that are read by `_belongsTo`, which Spline indexes only in these two collections.
_BELONGS_TO = "FOR d IN @@collection FILTER d._belongsTo IN @plans RETURN d"
_BY_KEY = "FOR d IN @@collection FILTER d._key IN @keys RETURN d"
_FROM = "FOR e IN @@collection FILTER e._from IN @keys RETURN e"


# Only the label fields of a plan's own document.
_LABELS = (
    f"FOR p IN executionPlan FILTER p._key IN @keys AND {COMMITTED}"
    " RETURN {_key: p._key, labels: KEEP(p.labels || {}, @heads), extra: KEEP(p.extra || {}, @heads)}"
)

# AQL sorts null and booleans before numbers, strings after.
_TIMES = (
    f'FOR p IN progress FILTER p.timestamp >= 0 AND p.timestamp < "" AND {COMMITTED}'
    " SORT p.timestamp {order} LIMIT 1 RETURN p.timestamp"
)


@dataclass(frozen=True, slots=True)
class Server:
    """Connection settings of Spline's ArangoDB and its password.

    The driver reads the password: executors do not have its environment.
    """

    settings: Arango
    password: str = field(repr=False)


def log_in(settings: Arango) -> Server:
    """Return the server with the password of the environment. Raises `ConfigError`."""
    return Server(settings, settings.password())


@dataclass(frozen=True, slots=True)
class Overview:
    """Facts about a database that the driver needs to plan slices. Times are ms since 1970."""

    collections: frozenset[str]
    events: int
    oldest: int
    newest: int
    snapshot: Snapshot


class _Client(DefaultHTTPClient):
    """python-arango's HTTP client, counting the bytes it reads."""

    def send_request(self, *arguments: Any, **options: Any) -> Response:
        """Send a request, and count the bytes of the response text."""
        response = super().send_request(*arguments, **options)
        input_budget.count(len(response.raw_body))
        return response


@contextmanager
def database(server: Server, *, retries: bool = True) -> Iterator[StandardDatabase]:
    """Connect to Spline's database; errors become `SourceError`.

    `retries` False: no retries, so that an unreachable server is reported at once.
    """
    settings = server.settings
    hosts = [host.strip() for host in settings.hosts.split(",") if host.strip()]
    http = _Client(
        request_timeout=settings.timeout_seconds if retries else min(settings.timeout_seconds, 10),
        # With several hosts the client tries the next one, without waiting for an unavailable one.
        retry_attempts=3 if retries and len(hosts) == 1 else 0,
        backoff_factor=0.5 if retries else 0,
    )
    client = ArangoClient(
        hosts=hosts, http_client=http, resolver_max_tries=None if retries else max(len(hosts), 1)
    )
    try:
        yield client.db(
            settings.database,
            username=settings.username,
            password=server.password,
            auth_method=settings.auth_method,
        )
    except ArangoServerError as error:
        databases = _databases(client, server) if error.error_code == _NO_DATABASE else []
        raise _explain(settings, error, databases) from None
    except (RequestException, ConnectionError) as error:
        # The client reports all connection failures alike; other errors have their own name.
        reason = f" ({type(error).__name__})" if isinstance(error, RequestException) else ""
        address = f"{_redacted_hosts(settings)}{reason}{_port_of_others(settings)}"
        raise SourceUnreachable(f"no connection to ArangoDB at {address}") from None
    finally:
        client.close()


def overview(server: Server) -> Overview:
    """Check connection, permissions and required collections, and return the time range of the data."""
    settings = server.settings
    with database(server, retries=False) as db:
        names = collections_of(db, settings)
        for collection in REQUIRED:
            if collection not in names:
                raise SourceMissing(
                    f"ArangoDB database {settings.database}: the required collection {collection} is missing"
                    f"{'' if names.intersection(REQUIRED) else _no_spline(db, names)}"
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


def _no_spline(db: StandardDatabase, names: frozenset[str]) -> str:
    """Return what a database without Spline's collections has, and which databases there are."""
    own = sorted(name for name in names if not name.startswith("_"))
    found = f"it has {', '.join(own[:_MAX_NAMES])}" if own else "it is empty"
    databases: Any = []
    with suppress(ArangoServerError):
        databases = db.databases_accessible_to_user()
    others = sorted(str(each) for each in databases if each != db.name)
    return f"; {found}; other databases: {', '.join(others[:_MAX_NAMES])}" if others else f"; {found}"


def document_counts(server: Server, collections: Iterable[str]) -> dict[str, int]:
    """Return the number of documents in each collection."""
    with database(server) as db:
        found: dict[str, Any] = {name: db.collection(name).count() for name in sorted(collections)}
        return {name: int(number) for name, number in found.items()}


def versions_of(db: StandardDatabase, settings: Arango, collections: frozenset[str]) -> Versions:
    """Return the version of Spline that created the database; `collections` are its collections."""
    if versions.COLLECTION not in collections:
        return Versions()
    return versions.versions(run_query(db, settings, "FOR v IN dbVersion RETURN v"))


def snapshot(db: StandardDatabase, settings: Arango, collections: frozenset[str]) -> Snapshot:
    """Return which transactions are committed now; `collections` are those of the database.

    Two queries, the number first: transactions that begin in between have a larger one.
    """
    number = None
    if COUNTER in collections:
        number = newest(
            run_query(db, settings, "FOR c IN counter FILTER c._key == @key RETURN c", key=COUNTER_KEY)
        )
    opened: frozenset[str] = frozenset()
    if OPEN in collections:
        opened = frozenset(str(key) for key in run_query(db, settings, "FOR t IN txInfo RETURN t._key"))
    return Snapshot(opened, number)


def events(server: Server, since: int, until: int) -> Iterator[Document]:
    """Yield the `progress` documents from `since` up to (not including) `until`, in ms."""
    query = "FOR p IN progress FILTER p.timestamp >= @since AND p.timestamp < @until RETURN p"
    with database(server) as db:
        yield from run_query(db, server.settings, query, since=since, until=until)


def malformed_events(server: Server) -> Iterator[Document]:
    """Yield the `progress` documents whose time is not a number, which are reported as rejected."""
    with database(server) as db:
        for malformed in ("p.timestamp < 0", 'p.timestamp >= ""'):
            yield from run_query(db, server.settings, f"FOR p IN progress FILTER {malformed} RETURN p")


def plan_labels(
    server: Server, keys: Sequence[str], wanted: labels.Wanted, snapshot: Snapshot
) -> dict[str, set[str]]:
    """Return the requested labels of plans, by plan."""
    heads = labels.heads(wanted)
    with database(server) as db:
        return {
            document["_key"]: labels.of_plan(wanted, document)
            for some in _in_parts(keys)
            for document in run_query(
                db, server.settings, _LABELS, keys=some, heads=heads, **snapshot.variables
            )
        }


def plan_keys(server: Server, offset: int, count: int) -> Iterator[str]:
    """Yield a slice of all plans, for a database without `progress`."""
    query = "FOR p IN executionPlan SORT p._key LIMIT @offset, @count RETURN p._key"
    with database(server) as db:
        yield from run_query(db, server.settings, query, offset=offset, count=count)


def plan_count(server: Server) -> int:
    """Return the number of plans."""
    with database(server) as db:
        return int(_single(db, server.settings, "RETURN LENGTH(executionPlan)"))


def plans(
    server: Server, keys: Iterator[str], collections: frozenset[str]
) -> Iterator[tuple[str, dict[str, list[Document]]]]:
    """Yield the documents of each plan, by collection, a few plans per request."""
    with database(server) as db:
        while batch := list(islice(keys, PLANS_PER_REQUEST)):
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

    take(
        "executionPlan",
        run_query(db, settings, _BY_KEY, **{"@collection": "executionPlan", "keys": list(keys)}),
    )
    for collection in ("operation", "follows"):
        if collection in collections:
            bind = {"@collection": collection, "plans": owners}
            take(collection, run_query(db, settings, _BELONGS_TO, **bind))
    operations = [
        document["_id"] if "_id" in document else f"operation/{document['_key']}"
        for documents in found.values()
        for document in documents.get("operation", ())
    ]

    def fetch(collection: str, field: str, values: list[str]) -> Iterator[Document]:
        query = _BY_KEY if field == "_key" else _FROM
        for some in _in_parts(values):
            yield from run_query(db, settings, query, **{"@collection": collection, "keys": some})

    for collection, document in traverse(operations, collections, fetch):
        take(collection, iter((document,)))
    return found


def _in_parts(items: Sequence[str]) -> Iterator[Sequence[str]]:
    return (items[start : start + IDS_PER_REQUEST] for start in range(0, len(items), IDS_PER_REQUEST))


def run_query(db: StandardDatabase, settings: Arango, query: str, **bind: Any) -> Iterator[Any]:
    """Yield the results of a query in batches."""
    execute: Any = db.aql.execute
    cursor = execute(
        query,
        bind_vars=bind,
        batch_size=settings.batch_size,
        ttl=300,
        # If a response is lost and the request repeated, the same batch is sent again. Servers before 3.11
        # send the next one instead, which the count reveals.
        allow_retry=True,
        count=True,
    )
    received, is_there = 0, True
    try:
        # Not `yield from`, which also closes the cursor when its consumer stops early.
        for result in cursor:
            received += 1
            yield result
        if received != cursor.count():
            raise SourceError(
                f"ArangoDB at {_redacted_hosts(settings)}:"
                f" {cursor.count()} documents announced, {received} received"
            )
    except (RequestException, ConnectionError):
        is_there = False
        raise
    finally:
        if is_there:
            # A cursor that cannot be closed expires, and must not hide another error.
            with suppress(ArangoServerError, RequestException, ConnectionError):
                cursor.close(ignore_missing=True)


def _single(db: StandardDatabase, settings: Arango, query: str, **bind: Any) -> Any:
    (result,) = run_query(db, settings, query, **bind)
    return result


def collections_of(db: StandardDatabase, settings: Arango) -> frozenset[str]:
    """Return the names of a database's collections."""
    try:
        collections: Any = db.collections()
        return frozenset(str(collection["name"]) for collection in collections)
    except (KeyError, TypeError):
        address = _redacted_hosts(settings)
        raise SourceError(f"{address} is not an ArangoDB server{_port_of_others(settings)}") from None


def _databases(client: ArangoClient, server: Server) -> list[str]:
    """Return the databases that the user may read; none if the server does not list them."""
    settings = server.settings
    with suppress(ArangoServerError, RequestException, ConnectionError, KeyError, TypeError):
        system = client.db(
            "_system",
            username=settings.username,
            password=server.password,
            auth_method=settings.auth_method,
        )
        found: Any = system.databases_accessible_to_user()
        return sorted(str(each) for each in found)
    return []


def _port_of_others(settings: Arango) -> str:
    """Return a hint if a host's port usually belongs to another service."""
    for host in settings.hosts.split(","):
        _, _, port = host.strip().rstrip("/").rpartition(":")
        if port in _OTHER_PORTS:
            return f" (port {port} is usually that of {_OTHER_PORTS[port]}, ArangoDB's is 8529)"
    return ""


def _redacted_hosts(settings: Arango) -> str:
    """Return the hosts without credentials in their URLs."""
    hosts = (host.rpartition("@") for host in settings.hosts.split(","))
    return ",".join(f"{before.partition('://')[0]}://{host}" if at else host for before, at, host in hosts)


def _explain(settings: Arango, error: ArangoServerError, databases: Sequence[str] = ()) -> SourceError:
    server = f"ArangoDB at {_redacted_hosts(settings)}"
    if error.error_code in _NOT_AUTHORIZED or error.http_code in (401, 403):
        return SourceDenied(f"{server} rejects user {settings.username!r} (wrong password or no permission)")
    if error.error_code == _NO_DATABASE:
        found = f"; it has {', '.join(databases[:_MAX_NAMES])}" if databases else ""
        similar = did_you_mean(settings.database, databases)
        return SourceMissing(f"{server}: missing database {settings.database!r}{found}{similar}")
    if error.error_code == _NO_COLLECTION:
        return SourceMissing(f"{server}, database {settings.database}: {error.error_message}")
    reason = error.error_message or f"HTTP {error.http_code}"
    code = f" (error {error.error_code})" if error.error_code else ""
    return SourceError(f"{server}: {reason}{code}")

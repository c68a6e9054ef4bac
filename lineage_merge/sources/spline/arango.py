"""Connection to Spline's ArangoDB, through python-arango; errors say what is wrong with the settings."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
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
from lineage_merge.sources.spline import database_state
from lineage_merge.sources.spline.database_state import COUNTER, COUNTER_KEY, OPEN, Snapshot, Versions
from lineage_merge.sources.spline.settings import Arango

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
MAX_NAMES = 10


class _Client(DefaultHTTPClient):
    """python-arango's HTTP client, counting the bytes it reads."""

    def send_request(self, *arguments: Any, **options: Any) -> Response:
        """Send a request, and count the bytes of the response text."""
        response = super().send_request(*arguments, **options)
        input_budget.count(len(response.raw_body))
        return response


class ArangoDatabase:
    """Spline's database while it is connected; `client` is python-arango's."""

    def __init__(self, client: StandardDatabase, settings: Arango) -> None:
        """Take over an open connection."""
        self.client = client
        self.settings = settings

    def query(self, query: str, **bind: Any) -> Iterator[Any]:
        """Yield the results of a query in batches."""
        execute: Any = self.client.aql.execute
        cursor = execute(
            query,
            bind_vars=bind,
            batch_size=self.settings.batch_size,
            ttl=300,
            # If a response is lost and the request repeated, the same batch is sent again. Servers before
            # 3.11 send the next one instead, which the count reveals.
            allow_retry=True,
            count=True,
        )
        received, is_connected = 0, True
        try:
            # Not `yield from`, which also closes the cursor when its consumer stops early.
            for result in cursor:
                received += 1
                yield result
            if received != cursor.count():
                raise SourceError(
                    f"ArangoDB at {_redact_hosts(self.settings)}:"
                    f" {cursor.count()} documents announced, {received} received"
                )
        except (RequestException, ConnectionError):
            is_connected = False
            raise
        finally:
            if is_connected:
                # A cursor that cannot be closed expires, and must not hide another error.
                with suppress(ArangoServerError, RequestException, ConnectionError):
                    cursor.close(ignore_missing=True)

    def single(self, query: str, **bind: Any) -> Any:
        """Return the only result of a query."""
        (result,) = self.query(query, **bind)
        return result

    @cached_property
    def collections(self) -> frozenset[str]:
        """Return the names of the collections."""
        try:
            collections: Any = self.client.collections()
            return frozenset(str(collection["name"]) for collection in collections)
        except (KeyError, TypeError):
            address = f"{_redact_hosts(self.settings)}"
            problem = f"{address} is not an ArangoDB server{_port_of_others(self.settings)}"
            raise SourceError(problem) from None

    def versions(self) -> Versions:
        """Return the version of Spline that created the database."""
        if database_state.VERSIONS not in self.collections:
            return Versions()
        return database_state.versions(self.query("FOR v IN dbVersion RETURN v"))

    def snapshot(self) -> Snapshot:
        """Return which transactions are committed now.

        Two queries, the number first: transactions that begin in between have a larger one.
        """
        number = None
        if COUNTER in self.collections:
            counters = self.query("FOR c IN counter FILTER c._key == @key RETURN c", key=COUNTER_KEY)
            number = database_state.newest(counters)
        opened: frozenset[str] = frozenset()
        if OPEN in self.collections:
            opened = frozenset(str(key) for key in self.query("FOR t IN txInfo RETURN t._key"))
        return Snapshot(opened, number)


@contextmanager
def database(settings: Arango, *, retries: bool = True) -> Iterator[ArangoDatabase]:
    """Connect to Spline's database; errors become `SourceError`.

    `retries` False: no retries, so that an unreachable server is reported at once.
    """
    hosts = [host.strip() for host in settings.hosts.split(",") if host.strip()]
    http = _Client(
        request_timeout=settings.timeout_seconds if retries else min(settings.timeout_seconds, 10),
        # With several hosts the client tries the next one, without waiting for an unavailable one.
        retry_attempts=3 if retries and len(hosts) == 1 else 0,
        backoff_factor=0.5 if retries else 0,
    )
    access: dict[str, Any] = {
        "username": settings.username,
        "password": settings.password(),
        "auth_method": settings.auth_method,
    }
    client = ArangoClient(
        hosts=hosts, http_client=http, resolver_max_tries=None if retries else max(len(hosts), 1)
    )
    try:
        yield ArangoDatabase(client.db(settings.database, **access), settings)
    except ArangoServerError as error:
        readable: list[str] = []
        if error.error_code == _NO_DATABASE:
            with suppress(ArangoServerError, RequestException, ConnectionError, KeyError, TypeError):
                readable = readable_databases(client.db("_system", **access))
        raise _explain(settings, error, readable) from None
    except (RequestException, ConnectionError) as error:
        # The client reports all connection failures alike; other errors have their own name.
        reason = f" ({type(error).__name__})" if isinstance(error, RequestException) else ""
        address = f"{_redact_hosts(settings)}{reason}{_port_of_others(settings)}"
        raise SourceUnreachable(f"no connection to ArangoDB at {address}") from None
    finally:
        client.close()


def readable_databases(client: StandardDatabase) -> list[str]:
    """Return the databases that the user may read, sorted."""
    databases: Any = client.databases_accessible_to_user()
    return sorted(map(str, databases))


def _port_of_others(settings: Arango) -> str:
    """Return a hint if a host's port usually belongs to another service."""
    for host in settings.hosts.split(","):
        _, _, port = host.strip().rstrip("/").rpartition(":")
        if port in _OTHER_PORTS:
            return f" (port {port} is usually that of {_OTHER_PORTS[port]}, ArangoDB's is 8529)"
    return ""


def _redact_hosts(settings: Arango) -> str:
    """Return the hosts without credentials in their URLs."""
    hosts = (host.rpartition("@") for host in settings.hosts.split(","))
    return ",".join(f"{before.partition('://')[0]}://{host}" if at else host for before, at, host in hosts)


def _explain(settings: Arango, error: ArangoServerError, databases: Sequence[str]) -> SourceError:
    server = f"ArangoDB at {_redact_hosts(settings)}"
    if error.error_code in _NOT_AUTHORIZED or error.http_code in (401, 403):
        return SourceDenied(f"{server} rejects user {settings.username!r} (wrong password or no permission)")
    if error.error_code == _NO_DATABASE:
        others = f"; it has {', '.join(databases[:MAX_NAMES])}" if databases else ""
        similar = did_you_mean(settings.database, databases)
        return SourceMissing(f"{server}: missing database {settings.database!r}{others}{similar}")
    if error.error_code == _NO_COLLECTION:
        return SourceMissing(f"{server}, database {settings.database}: {error.error_message}")
    reason = error.error_message or f"HTTP {error.http_code}"
    code = f" (error {error.error_code})" if error.error_code else ""
    return SourceError(f"{server}: {reason}{code}")

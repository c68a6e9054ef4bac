"""Check of Spline's ArangoDB: connection, permissions, version, indexes, writes."""

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from arango.database import StandardDatabase
from arango.exceptions import ArangoServerError

from lineage_merge.model.errors import (
    LineageMergeError,
    SourceDenied,
    SourceError,
    SourceMissing,
    SourceUnreachable,
)
from lineage_merge.sources.diagnosis import Diagnosis, failed, ok, skipped_all, warning
from lineage_merge.sources.spline import arango
from lineage_merge.sources.spline.documents import COLLECTIONS, REQUIRED, TRANSACTIONS
from lineage_merge.sources.spline.settings import Arango, Spline
from lineage_merge.sources.spline.versions import COLLECTION as COLLECTION_OF_VERSIONS
from lineage_merge.sources.spline.versions import LIMITS_OF_0_7, NO_LABELS, SUPPORTED, Versions

CONNECTION = "ArangoDB connection"
LOGIN = "ArangoDB login"
DATABASE = "ArangoDB database"
COLLECTION = "ArangoDB collections"
VERSION = "Spline version"
READ = "ArangoDB read"
INDEXES = "ArangoDB indexes"
WRITES = "Spline writes"

_STEPS = (CONNECTION, LOGIN, DATABASE, COLLECTION, VERSION, READ, INDEXES, WRITES)

_SECONDS = 5.0
# Attributes that queries filter by, besides keys and edge ends, which are always indexed.
_INDEXED = (
    ("operation", "_belongsTo"),
    ("follows", "_belongsTo"),
    ("progress", "timestamp"),
    ("progress", "execPlanDetails.applicationName"),
)
_CLOCK_MS = 5 * 60 * 1000
_DENIED = (11, 403)


def examine(spline: Spline) -> Iterator[Diagnosis]:
    """Check from the connection to the newest write; skip the rest after the first failure."""
    if spline.arango is None:
        return
    settings = spline.arango
    quick = replace(settings, timeout_seconds=min(settings.timeout_seconds, _SECONDS))
    reached = 0
    try:
        server = arango.log_in(quick)
    except LineageMergeError as error:
        yield failed(LOGIN, error, _password_fix(error))
        yield from skipped_all((CONNECTION, *_STEPS[2:]), "no password to log in with")
        return
    try:
        with arango.database(server, retries=False) as db:
            for finding in _inside(db, server, bool(spline.labels)):
                reached = max(reached, _STEPS.index(finding.check) + 1)
                yield finding
    except SourceError as error:
        # The steps before this error passed.
        at = max(reached, _STEPS.index(_step_of(error)))
        for step in _STEPS[reached:at]:
            yield ok(step, "passed")
        yield failed(_STEPS[at], error, _fix_for(error, settings))
        yield from skipped_all(_STEPS[at + 1 :], f"{_STEPS[at]} failed")


def _password_fix(error: LineageMergeError) -> str:
    match error:
        case SourceDenied():
            return "allow secretsmanager:GetSecretValue on this one secret (deploy/iam)"
        case SourceUnreachable():
            return "check the network (Secrets Manager endpoint of the VPC) and the region"
    return "set the password that password_env or password_secret refers to"


def _step_of(error: SourceError) -> str:
    match error:
        case SourceDenied():
            return LOGIN
        case SourceMissing():
            return DATABASE
    return CONNECTION


def _fix_for(error: SourceError, settings: Arango) -> str:
    match error:
        case SourceUnreachable():
            return "correct spline.arango.hosts, and allow access to the port (security group, VPN)"
        case SourceDenied():
            return (
                f"correct spline.arango.username and its password, and give {settings.username!r} "
                f"read access to the database {settings.database!r}"
            )
        case SourceMissing():
            return "correct spline.arango.database, or run spline-admin db-init URL"
    return "check the log of the ArangoDB server"


def _inside(db: StandardDatabase, server: arango.Server, has_labels: bool) -> Iterator[Diagnosis]:
    settings = server.settings
    try:
        version = str(db.version())
    except (KeyError, TypeError):
        raise SourceError(f"{settings.hosts} is not an ArangoDB server") from None
    yield ok(CONNECTION, f"ArangoDB {version}")
    yield ok(LOGIN, f"as {settings.username}")
    collections: Any = db.collections()
    yield ok(DATABASE, settings.database)
    names = frozenset(str(collection["name"]) for collection in collections)
    versions = arango.versions_of(db, settings, names)
    yield _collections(settings, names, versions)
    yield _spline_version(names, versions, has_labels)
    present = [name for name in COLLECTIONS if name in names]
    yield _readable(db, settings, present)
    yield _indexes(db, names)
    if not names.issuperset(REQUIRED):
        yield from skipped_all((WRITES,), f"{COLLECTION} failed")
    elif versions.refusal:
        yield from skipped_all((WRITES,), f"{VERSION} failed")
    else:
        yield _newest_write(server)


def _collections(settings: Arango, names: frozenset[str], versions: Versions) -> Diagnosis:
    expected = [name for name in COLLECTIONS if not (versions.is_0_7 and name in TRANSACTIONS)]
    missing = [name for name in expected if name not in names]
    required = [name for name in missing if name in REQUIRED]
    if required:
        error = SourceMissing(f"the database {settings.database} has no {' and no '.join(required)}")
        return failed(COLLECTION, error, "correct spline.arango.database, or run spline-admin db-init URL")
    if "progress" in missing:
        message = "no collection progress: the outcome of writes is unknown"
        return warning(
            COLLECTION, message, "upgrade Spline's server; now the newest plan of each target counts"
        )
    others = f", without {', '.join(missing)}" if missing else ""
    return ok(COLLECTION, f"{len(expected) - len(missing)} of {len(expected)}{others}")


def _spline_version(names: frozenset[str], versions: Versions, has_labels: bool) -> Diagnosis:
    fix = "run spline-admin db-upgrade URL"
    if COLLECTION_OF_VERSIONS not in names:
        return warning(VERSION, "no collection dbVersion: older than all tested versions", fix)
    if versions.preparing:
        state = f"an upgrade to {versions.preparing} is not complete"
        return warning(VERSION, state, "wait for it, or run spline-admin db-upgrade URL again")
    if not versions.current:
        return warning(VERSION, "dbVersion has no current version", fix)
    if not versions.is_supported:
        problem = f"Spline's database has version {versions.current}; supported: {SUPPORTED}"
        return failed(VERSION, SourceError(versions.refusal or problem), fix)
    state = f"{versions.current} of Spline's database"
    if not versions.is_0_7:
        return ok(VERSION, state)
    state += f": {LIMITS_OF_0_7}"
    if has_labels:
        return warning(VERSION, f"{state}, and spline.labels is set", NO_LABELS)
    return ok(VERSION, state)


def _readable(db: StandardDatabase, settings: Arango, collections: list[str]) -> Diagnosis:
    denied = []
    for collection in collections:
        try:
            _rows(db, "FOR d IN @@collection LIMIT 1 RETURN 1", **{"@collection": collection})
        except ArangoServerError as error:
            if error.error_code not in _DENIED and error.http_code not in _DENIED:
                raise
            denied.append(collection)
    if denied:
        error_ = SourceDenied(f"user {settings.username!r} may not read {', '.join(denied)}")
        return failed(READ, error_, f"grant the user read-only access to database {settings.database!r}")
    return ok(READ, f"{len(collections)} collections")


def _indexes(db: StandardDatabase, names: frozenset[str]) -> Diagnosis:
    missing = []
    for collection, attribute in _INDEXED:
        if collection not in names:
            continue
        listed: Any = db.collection(collection).indexes()
        # An index supports filters by its first attribute.
        if not any(each["fields"][:1] == [attribute] for each in listed if each.get("fields")):
            missing.append(f"{collection}.{attribute}")
    if missing:
        message = f"missing on {', '.join(missing)}: queries read more documents than necessary"
        return warning(INDEXES, message, "run spline-admin db-exec --indices-create URL")
    return ok(INDEXES, "complete")


def _newest_write(server: arango.Server) -> Diagnosis:
    seen = arango.overview(server)
    if not seen.events:
        fix = "run a Spark job with Spline's agent, and check the agent's log"
        return warning(WRITES, "none: the merge would be empty", fix)
    newest = datetime.fromtimestamp(seen.newest / 1000, tz=UTC).strftime("%Y-%m-%d %H:%M UTC")
    message = f"{seen.events}, the newest at {newest}"
    if seen.newest > time.time_ns() // 1_000_000 + _CLOCK_MS:
        fix = "synchronize the clocks: spline.lookback is relative to the newest write"
        return warning(WRITES, f"{message}, in the future", fix)
    if seen.snapshot.open:
        message += f"; {len(seen.snapshot.open)} uncommitted transactions, which are not read"
    return ok(WRITES, message)


def _rows(db: StandardDatabase, query: str, **bind: Any) -> list[Any]:
    execute: Any = db.aql.execute
    return list(execute(query, bind_vars=bind))

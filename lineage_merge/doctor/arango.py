"""Is Spline's ArangoDB there, may we read it, and is it as our queries need it?"""

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from arango.database import StandardDatabase
from arango.exceptions import ArangoServerError

from lineage_merge.config import Config
from lineage_merge.doctor.finding import Finding, failed, ok, skipped_all, warning
from lineage_merge.errors import (
    LineageMergeError,
    SourceDenied,
    SourceError,
    SourceMissing,
    SourceUnreachable,
)
from lineage_merge.sources.spline import arango
from lineage_merge.sources.spline.documents import COLLECTIONS, REQUIRED
from lineage_merge.sources.spline.settings import Arango

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
_KNOWN_MAJOR = "1"
# What the queries filter by, besides keys and the ends of edges, which are always indexed.
_INDEXED = (
    ("operation", "_belongsTo"),
    ("follows", "_belongsTo"),
    ("progress", "timestamp"),
    ("progress", "execPlanDetails.applicationName"),
)
_CLOCK_MS = 5 * 60 * 1000
_DENIED = (11, 403)


def examine(config: Config) -> Iterator[Finding]:
    """From the connection to the newest write; the first that fails leaves the rest out."""
    if config.spline is None or config.spline.arango is None:
        return
    settings = config.spline.arango
    quick = replace(settings, timeout_seconds=min(settings.timeout_seconds, _SECONDS))
    reached = 0
    try:
        server = arango.log_in(quick)
    except LineageMergeError as error:
        yield failed(LOGIN, error, _mend_password(error))
        yield from skipped_all((CONNECTION, *_STEPS[2:]), "no password to log in with")
        return
    try:
        with arango.database(server, patient=False) as db:
            for finding in _inside(db, server):
                reached = max(reached, _STEPS.index(finding.check) + 1)
                yield finding
    except SourceError as error:
        # What was passed on the way to this error is as it should be.
        at = max(reached, _STEPS.index(_place(error)))
        for step in _STEPS[reached:at]:
            yield ok(step, "passed")
        yield failed(_STEPS[at], error, _mend(error, settings))
        yield from skipped_all(_STEPS[at + 1 :], f"{_STEPS[at]} failed")


def _mend_password(error: LineageMergeError) -> str:
    match error:
        case SourceDenied():
            return "allow secretsmanager:GetSecretValue on this one secret (deploy/iam)"
        case SourceUnreachable():
            return "check the network (Secrets Manager endpoint of the VPC) and the region"
    return "put the password where password_env or password_secret says that it is"


def _place(error: SourceError) -> str:
    match error:
        case SourceDenied():
            return LOGIN
        case SourceMissing():
            return DATABASE
    return CONNECTION


def _mend(error: SourceError, settings: Arango) -> str:
    match error:
        case SourceUnreachable():
            return "check spline.arango.hosts, and that this machine may reach the port (security group, VPN)"
        case SourceDenied():
            return (
                f"correct spline.arango.username and its password, and give {settings.username!r} "
                f"read access to the database {settings.database!r}"
            )
        case SourceMissing():
            return "correct spline.arango.database, or make it: spline-admin db-init URL"
    return "see the log of the ArangoDB server"


def _inside(db: StandardDatabase, server: arango.Server) -> Iterator[Finding]:
    settings = server.settings
    try:
        version = str(db.version())
    except (KeyError, TypeError):
        raise SourceError(f"{settings.hosts} does not answer as ArangoDB does") from None
    yield ok(CONNECTION, f"ArangoDB {version}")
    yield ok(LOGIN, f"as {settings.username}")
    found: Any = db.collections()
    yield ok(DATABASE, settings.database)
    names = frozenset(str(each["name"]) for each in found)
    yield _collections(settings, names)
    yield _spline_version(db, names)
    present = [name for name in COLLECTIONS if name in names]
    yield _readable(db, settings, present)
    yield _indexes(db, names)
    if names.issuperset(REQUIRED):
        yield _newest_write(server)
    else:
        yield from skipped_all((WRITES,), f"{COLLECTION} failed")


def _collections(settings: Arango, names: frozenset[str]) -> Finding:
    missing = [name for name in COLLECTIONS if name not in names]
    required = [name for name in missing if name in REQUIRED]
    if required:
        lost = SourceMissing(f"the database {settings.database} has no {' and no '.join(required)}")
        return failed(COLLECTION, lost, "name Spline's database, or make it: spline-admin db-init URL")
    if "progress" in missing:
        told = "no collection progress: nothing says which writes went well"
        return warning(COLLECTION, told, "the newest plan of each target counts; upgrade Spline's server")
    others = f", without {', '.join(missing)}" if missing else ""
    return ok(COLLECTION, f"{len(COLLECTIONS) - len(missing)} of {len(COLLECTIONS)}{others}")


def _spline_version(db: StandardDatabase, names: frozenset[str]) -> Finding:
    mend = "upgrade it: spline-admin db-upgrade URL"
    if "dbVersion" not in names:
        return warning(VERSION, "no collection dbVersion: older than any that was tried", mend)
    documents = list(_rows(db, "FOR v IN dbVersion RETURN v"))
    by_status = {str(each.get("status", "")).lower(): str(each.get("version", "")) for each in documents}
    if "preparing" in by_status:
        told = f"an upgrade to {by_status['preparing']} is under way, or was left half way"
        return warning(VERSION, told, "wait for it, or repeat it: spline-admin db-upgrade URL")
    version = by_status.get("current", "")
    if not version:
        return warning(VERSION, "dbVersion names no current version", mend)
    if version.partition(".")[0] != _KNOWN_MAJOR:
        wrong = SourceError(f"Spline's database is of version {version}, {_KNOWN_MAJOR}.x is known")
        return failed(VERSION, wrong, mend)
    return ok(VERSION, f"{version} of Spline's database")


def _readable(db: StandardDatabase, settings: Arango, collections: list[str]) -> Finding:
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
        return failed(READ, error_, f"give the user read-only access to database {settings.database!r}")
    return ok(READ, f"{len(collections)} collections")


def _indexes(db: StandardDatabase, names: frozenset[str]) -> Finding:
    missing = []
    for collection, attribute in _INDEXED:
        if collection not in names:
            continue
        listed: Any = db.collection(collection).indexes()
        # An index serves a filter by its first attribute.
        if not any(each["fields"][:1] == [attribute] for each in listed if each.get("fields")):
            missing.append(f"{collection}.{attribute}")
    if missing:
        told = f"none on {', '.join(missing)}: queries read more documents than they need"
        return warning(INDEXES, told, "make them: spline-admin db-exec --indices-create URL")
    return ok(INDEXES, "as the queries need them")


def _newest_write(server: arango.Server) -> Finding:
    seen = arango.overview(server)
    if not seen.events:
        mend = "run a Spark job with Spline's agent, and look at the agent's log"
        return warning(WRITES, "none yet: the merge would find nothing", mend)
    newest = datetime.fromtimestamp(seen.newest / 1000, tz=UTC).strftime("%Y-%m-%d %H:%M UTC")
    told = f"{seen.events}, the newest at {newest}"
    if seen.newest > time.time_ns() // 1_000_000 + _CLOCK_MS:
        mend = "set the clocks right: spline.lookback counts back from the newest write"
        return warning(WRITES, f"{told}, which has not come yet", mend)
    if seen.snapshot.open:
        told += f"; {len(seen.snapshot.open)} transactions not committed, which are left out"
    return ok(WRITES, told)


def _rows(db: StandardDatabase, query: str, **bind: Any) -> list[Any]:
    execute: Any = db.aql.execute
    return list(execute(query, bind_vars=bind))

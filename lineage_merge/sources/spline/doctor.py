"""Checks of Spline's database, of exports of it, and of the files of its agents."""

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from arango.exceptions import ArangoServerError

from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import (
    LineageMergeError,
    SourceDenied,
    SourceError,
    SourceMissing,
    SourceUnreachable,
)
from lineage_merge.naming import redact
from lineage_merge.sources import line_files
from lineage_merge.sources.diagnosis import (
    Diagnosis,
    SourceCheck,
    ahead_warning,
    fix_for,
    future_times,
    ok,
    report_all_skipped,
    report_failure,
    warning,
)
from lineage_merge.sources.runs.future_times import AHEAD, FIX
from lineage_merge.sources.spline import arango, arango_queries, export
from lineage_merge.sources.spline.agent import doctor as agent
from lineage_merge.sources.spline.arango import ArangoDatabase
from lineage_merge.sources.spline.database_state import (
    LIMITS_OF_0_7,
    NO_LABELS,
    SUPPORTED,
    VERSIONS,
    Versions,
)
from lineage_merge.sources.spline.documents import COLLECTIONS, REQUIRED, TRANSACTIONS, decode
from lineage_merge.sources.spline.settings import Arango, Spline

CONNECTION = "ArangoDB connection"
LOGIN = "ArangoDB login"
DATABASE = "ArangoDB database"
COLLECTION = "ArangoDB collections"
VERSION = "Spline version"
READ = "ArangoDB read"
INDEXES = "ArangoDB indexes"
WRITES = "Spline writes"
EXPORT = "Spline export"

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


def _examine_arango(spline: Spline) -> Iterator[Diagnosis]:
    """Check from the connection to the newest write; skip the rest after the first failure."""
    if spline.arango is None:
        return
    settings = spline.arango
    quick = replace(settings, timeout_seconds=min(settings.timeout_seconds, _SECONDS))
    reached = 0
    try:
        quick = quick.with_password()
    except LineageMergeError as error:
        yield report_failure(LOGIN, error, _password_fix(error))
        yield from report_all_skipped((CONNECTION, *_STEPS[2:]), "no password to log in with")
        return
    try:
        with arango.database(quick, retries=False) as db:
            for diagnosis in _check_inside(db, has_labels=bool(spline.labels)):
                reached = max(reached, _STEPS.index(diagnosis.check) + 1)
                yield diagnosis
    except SourceError as error:
        # The steps before this error passed.
        step = DATABASE if isinstance(error, SourceMissing) else CONNECTION
        step = LOGIN if isinstance(error, SourceDenied) else step
        at = max(reached, _STEPS.index(step))
        for step in _STEPS[reached:at]:
            yield ok(step, "passed")
        yield report_failure(_STEPS[at], error, _fix_for(error, settings))
        yield from report_all_skipped(_STEPS[at + 1 :], f"{_STEPS[at]} failed")


def _password_fix(error: LineageMergeError) -> str:
    match error:
        case SourceDenied():
            return "allow secretsmanager:GetSecretValue on this one secret (deploy/iam)"
        case SourceUnreachable():
            return "check the network (Secrets Manager endpoint of the VPC) and the region"
    return "set the password that password_env or password_secret refers to"


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


def _check_inside(db: ArangoDatabase, *, has_labels: bool) -> Iterator[Diagnosis]:
    settings = db.settings
    try:
        version = str(db.client.version())
    except (KeyError, TypeError):
        raise SourceError(f"{settings.hosts} is not an ArangoDB server") from None
    yield ok(CONNECTION, f"ArangoDB {version}")
    yield ok(LOGIN, f"as {settings.username}")
    names = db.collections
    yield ok(DATABASE, settings.database)
    versions = db.versions()
    yield _collections(settings, names, versions)
    yield _spline_version(names, versions, has_labels)
    yield _readable(db, [name for name in COLLECTIONS if name in names])
    yield _indexes(db)
    if not names.issuperset(REQUIRED):
        yield from report_all_skipped((WRITES,), f"{COLLECTION} failed")
    elif versions.refusal:
        yield from report_all_skipped((WRITES,), f"{VERSION} failed")
    else:
        yield _newest_write(settings)


def _collections(settings: Arango, names: frozenset[str], versions: Versions) -> Diagnosis:
    expected = [name for name in COLLECTIONS if not (versions.is_0_7 and name in TRANSACTIONS)]
    missing = [name for name in expected if name not in names]
    required = [name for name in missing if name in REQUIRED]
    if required:
        error = SourceMissing(f"the database {settings.database} has no {' and no '.join(required)}")
        return report_failure(
            COLLECTION, error, "correct spline.arango.database, or run spline-admin db-init URL"
        )
    if "progress" in missing:
        message = "no collection progress: the outcome of writes is unknown"
        return warning(
            COLLECTION, message, "upgrade Spline's server; now the newest plan of each target counts"
        )
    others = f", without {', '.join(missing)}" if missing else ""
    return ok(COLLECTION, f"{len(expected) - len(missing)} of {len(expected)}{others}")


def _spline_version(names: frozenset[str], versions: Versions, has_labels: bool) -> Diagnosis:
    fix = "run spline-admin db-upgrade URL"
    if VERSIONS not in names:
        return warning(VERSION, "no collection dbVersion: older than all tested versions", fix)
    if versions.preparing:
        state = f"an upgrade to {versions.preparing} is not complete"
        return warning(VERSION, state, "wait for it, or run spline-admin db-upgrade URL again")
    if not versions.current:
        return warning(VERSION, "dbVersion has no current version", fix)
    if not versions.is_supported:
        problem = f"Spline's database has version {versions.current}; supported: {SUPPORTED}"
        return report_failure(VERSION, SourceError(versions.refusal or problem), fix)
    state = f"{versions.current} of Spline's database"
    return _report_limits(VERSION, state, has_labels=has_labels) if versions.is_0_7 else ok(VERSION, state)


def _readable(db: ArangoDatabase, collections: list[str]) -> Diagnosis:
    settings = db.settings
    denied = []
    for collection in collections:
        try:
            list(db.query("FOR d IN @@collection LIMIT 1 RETURN 1", **{"@collection": collection}))
        except ArangoServerError as error:
            if error.error_code not in _DENIED and error.http_code not in _DENIED:
                raise
            denied.append(collection)
    if denied:
        problem = SourceDenied(f"user {settings.username!r} may not read {', '.join(denied)}")
        return report_failure(
            READ, problem, f"grant the user read-only access to database {settings.database!r}"
        )
    return ok(READ, f"{len(collections)} collections")


def _indexes(db: ArangoDatabase) -> Diagnosis:
    missing = []
    for collection, attribute in _INDEXED:
        if collection not in db.collections:
            continue
        listed: Any = db.client.collection(collection).indexes()
        # An index supports filters by its first attribute.
        if not any(index.get("fields", [])[:1] == [attribute] for index in listed):
            missing.append(f"{collection}.{attribute}")
    if missing:
        message = f"missing on {', '.join(missing)}: queries read more documents than necessary"
        return warning(INDEXES, message, "run spline-admin db-exec --indices-create URL")
    return ok(INDEXES, "complete")


def _newest_write(settings: Arango) -> Diagnosis:
    overview = arango_queries.overview(settings)
    if not overview.events:
        fix = "run a Spark job with Spline's agent, and check the agent's log"
        return warning(WRITES, "none: the merge would be empty", fix)
    newest = datetime.fromtimestamp(overview.newest / 1000, tz=UTC).strftime("%Y-%m-%d %H:%M UTC")
    message = f"{overview.events}, the newest at {newest}"
    if overview.ahead:
        return warning(WRITES, f"{message}; {overview.ahead} with times {AHEAD}", FIX)
    if overview.newest > time.time_ns() // 1_000_000 + _CLOCK_MS:
        fix = "synchronize the clocks: spline.lookback is relative to the newest write"
        return warning(WRITES, f"{message}, in the future", fix)
    if overview.snapshot.open:
        message += f"; {len(overview.snapshot.open)} uncommitted transactions, which are not read"
    return ok(WRITES, message)


def _examine_export(spline: Spline) -> Iterator[Diagnosis]:
    """Check the folder, its collections, and the first document of each required collection."""
    if not spline.export:
        return
    folder = spline.export
    try:
        parts = export.find(folder)
        versions = export.versions_of(parts)
        broken = next(_find_broken(parts), None)
    except SourceError as error:
        yield report_failure(EXPORT, error, fix_for(error, folder, "spline.export", "folder"))
        return
    refused = [
        version for _, version in sorted(versions.items()) if version.current and not version.is_supported
    ]
    if refused:
        problem = f"{redact(folder)}: version {refused[0].current}; supported: {SUPPORTED}"
        fix = "upgrade Spline's database, and export it again"
        yield report_failure(EXPORT, SourceError(refused[0].refusal or problem), fix)
        return
    progress = {part.slice.location: part for part in parts if part.collection == "progress"}
    ends = [part.slice for part in parts if part.collection == "progress"]
    if ahead := future_times(ends, lambda end: _progress_times(replace(progress[end.location], slice=end))):
        yield ahead_warning(EXPORT, redact(folder), ahead)
    databases = {part.database for part in parts}
    collections = {part.collection for part in parts} - {VERSIONS}
    message = f"{redact(folder)}: {len(collections)} collections"
    message += f" of {len(databases)} databases" if len(databases) > 1 else ""
    if broken:
        first = f"{broken.document}: {broken.field}: {broken.message}".replace(": : ", ": ")
        yield warning(EXPORT, f"{message}, but {first}", "export it again; a run skips invalid documents")
    elif "progress" not in collections:
        fix = "export the collection progress; until then the newest plan of each target counts"
        yield warning(EXPORT, f"{message}, without progress", fix)
    elif not any(version.is_0_7 for version in versions.values()):
        yield ok(EXPORT, message)
    else:
        yield _report_limits(EXPORT, f"{message}; version 0.7", has_labels=bool(spline.labels))


def _progress_times(part: export.Part) -> Iterator[int]:
    for text in line_files.stop_at_damage(export.texts(part)):
        document = text if isinstance(text, Problem) else decode("progress", text.text, part.database)
        if not isinstance(document, Problem):
            yield int(document["timestamp"])


def _report_limits(check: str, state: str, *, has_labels: bool) -> Diagnosis:
    """Return the state of a database of Spline 0.7 with its limits."""
    state = f"{state}: {LIMITS_OF_0_7}"
    return warning(check, f"{state}, and spline.labels is set", NO_LABELS) if has_labels else ok(check, state)


def _find_broken(parts: list[export.Part]) -> Iterator[Problem]:
    """Yield the problem of the first document of each required collection, without reading large files."""
    first: dict[tuple[str, str], export.Part] = {}
    for part in parts:
        if part.collection in REQUIRED:
            first.setdefault((part.database, part.collection), part)
    for (database, collection), part in first.items():
        beginning = replace(part, slice=replace(part.slice, end=min(part.slice.end, 1)))
        for text in islice(export.texts(beginning), 1):
            problem = text if isinstance(text, Problem) else decode(collection, text.text, database)
            if isinstance(problem, Problem):
                yield problem


CHECKS = (
    SourceCheck("ArangoDB", _examine_arango),
    SourceCheck(EXPORT, _examine_export),
    *agent.CHECKS,
)

"""Remedies of sources that cannot be read, appended to the errors of their readers."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from lineage_merge.infra.storage import is_s3
from lineage_merge.model.errors import (
    ConfigError,
    DocumentError,
    SourceDenied,
    SourceError,
    SourceMissing,
    SourceUnreachable,
)
from lineage_merge.orchestration.doctor.exports import fix_for
from lineage_merge.orchestration.init import discovery
from lineage_merge.orchestration.init.sources import Sources

_FLAGS = {
    "spline": "--spline-export or --spline-agent",
    "agent": "--spline-agent",
    "openlineage": "--openlineage",
    "hive": "--hive",
    "sql": "--sql",
}


def flag_fix(source: str) -> str:
    """Return the remedy for a wrong location of a source."""
    return f"correct {_FLAGS[source]}"


@contextmanager
def explained(source: str, location: str) -> Iterator[None]:
    """Append a remedy to the errors of reading a source; `location` "" is Spline's database."""
    try:
        yield
    except DocumentError as error:
        fix = _manifest_fix(location) if source == "dbt" else flag_fix(source)
        raise DocumentError(error.document, error.field, f"{error.problem}. Fix: {fix}") from None
    except ConfigError as error:
        if "environment variable" not in error.message:
            raise
        problem = error.message.partition(f"{error.key}: ")[2]
        raise ConfigError(error.key, f"{problem}. Fix: export the variable, then run init again") from None
    except SourceError as error:
        fix = _fix(error, source, location) if location else _database_fix(error)
        raise type(error)(f"{error.message}. Fix: {fix}") from None


def _fix(error: SourceError, source: str, location: str) -> str:
    if is_s3(location):
        if isinstance(error, SourceDenied) and "credentials" in error.message:
            return "log in to AWS (aws sso login), then run init again"
        if not isinstance(error, SourceMissing):
            return fix_for(error, location, "the location")
    if source == "dbt":
        return _manifest_fix(location)
    if source == "spline":
        return _export_fix(location)
    return flag_fix(source)


def _manifest_fix(location: str) -> str:
    near = _nearby(location).dbt or _nearby(location.rpartition("/")[0] or ".").dbt
    if near:
        return f"--dbt {near[0]}"
    return "run dbt compile, and give target/manifest.json"


def _export_fix(location: str) -> str:
    near = _nearby(location).spline_export or _nearby(_parent(location)).spline_export
    if near:
        return f"--spline-export {near}"
    return (
        "export Spline's database with arangoexport --type jsonl, one file per collection, into this folder"
    )


def _nearby(folder: str) -> Sources:
    if is_s3(folder) and folder.count("/") < 3:
        return Sources()
    try:
        return discovery.search(folder).sources
    except SourceError:
        return Sources()


def _parent(location: str) -> str:
    plain = location.rstrip("/")
    head = plain.rpartition("/")[0]
    return head if head and not re.fullmatch(r"\w+:/?", head) else "."


def _database_fix(error: SourceError) -> str:
    match error:
        case SourceUnreachable():
            return "correct --spline-arango, allow access to its port, or give an export with --spline-export"
        case SourceDenied():
            return "give --spline-username, and --spline-password-env with the variable of the password"
        case SourceMissing():
            return "give the name of Spline's database with --spline-database"
    return "check the log of the ArangoDB server"

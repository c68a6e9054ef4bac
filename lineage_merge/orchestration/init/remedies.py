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
from lineage_merge.orchestration.init import discovery
from lineage_merge.orchestration.init.sources import Sources
from lineage_merge.sources import document_kind
from lineage_merge.sources.dbt.source import DBT
from lineage_merge.sources.diagnosis import fix_for
from lineage_merge.sources.document_kind import Kind
from lineage_merge.sources.registry import SOURCES
from lineage_merge.sources.source import Source
from lineage_merge.sources.spline.source import SPLINE

# Flags in place of the keys of the configuration, which end the remedies of documents.
_FLAG_OF_KEY = {
    f"{source.key}{'[]' if source.schema()['type'] == 'array' else ''}.{key}": flag
    for source in SOURCES
    for key, flag in source.flags.items()
}


def _flag_of(remedy: str) -> str:
    return _FLAG_OF_KEY.get(remedy.rpartition(" ")[2], "")


def flag_fix(source: Source, *, is_export: bool = True) -> str:
    """Return the remedy for a wrong location of a source; `is_export` False: of its files of lines."""
    flags = dict.fromkeys(source.flags.values())
    if not is_export:
        flags = {source.flags[source.line_files.key]: None}
    return f"correct {' or '.join(flags)}"


@contextmanager
def explained(source: Source, location: str, *, is_export: bool = True) -> Iterator[None]:
    """Append a remedy to the errors of reading a source; `location` "" is Spline's database.

    `is_export` False: it is of files of lines.
    """
    try:
        yield
    except ConfigError as error:
        if "environment variable" not in error.message:
            raise
        problem = error.message.partition(f"{error.key}: ")[2]
        raise ConfigError(error.key, f"{problem}. Fix: export the variable, then run init again") from None
    except SourceError as error:
        raise _with_fix(error, source, location, is_export) from None


def _with_fix(error: SourceError, source: Source, location: str, is_export: bool) -> SourceError:
    general = flag_fix(source, is_export=is_export)
    is_export = is_export and source is SPLINE
    if isinstance(error, DocumentError):
        fix = _created_fix(DBT, location) if source is DBT else _flag(error.remedy, location) or general
        problem = error.problem.removesuffix(f": {error.remedy}")  # it names a key of the configuration
        return DocumentError(error.document, error.field, f"{problem}. Fix: {fix}", fix)
    if error.remedy:
        near = _near(SPLINE, location) if is_export and _flag_of(error.remedy) else ""
        flag = near or _flag(error.remedy, location)
        problem = error.message.removesuffix(f": {error.remedy}")
        return type(error)(f"{problem}. Fix: {flag}", flag) if flag else error
    if not location:
        fix = _database_fix(error)
    elif is_s3(location) and not isinstance(error, SourceMissing):
        fix = fix_for(error, location, "the location")
    elif source is DBT:
        fix = _created_fix(DBT, location)
    else:
        fix = _created_fix(SPLINE, location) if is_export else general
    return type(error)(f"{error.message}. Fix: {fix}", fix)


def no_lineage(source: Source, location: str, kind: Kind | None) -> SourceMissing:
    """Return the error of a location without lineage; `kind`: what its files are, if it is known."""
    fix, instead = flag_fix(source, is_export=False), ""
    if kind:
        fix, instead = _flag(kind.remedy, location) or kind.remedy or fix, f", but {kind.name}"
    return SourceMissing(f"{location}: no lineage found{instead}. Fix: {fix}", fix)


def _flag(remedy: str, location: str) -> str:
    """Return the flag that reads a location, "" if the remedy of its files is another one."""
    flag = _flag_of(remedy)
    if flag == "--spline-export" and location.endswith((".json", ".jsonl", ".gz")):
        location = _parent(location)
    if flag == "--dbt" and not (
        remedy == document_kind.MANIFEST.remedy and location.endswith((".json", ".json.gz"))
    ):
        return _created_fix(DBT, location)
    return f"{flag} {location}" if flag else ""


def _created_fix(source: Source, location: str) -> str:
    return _near(source, location) or source.how_to_create


def _near(source: Source, location: str) -> str:
    """Return the flag with a document of the source at a location or beside it, "" if there is none."""
    return _nearby(location).document_of(source) or _nearby(_parent(location)).document_of(source)


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

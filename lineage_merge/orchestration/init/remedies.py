"""Remedies of sources that cannot be read, appended to the errors of their readers."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lineage_merge.infra.storage import is_s3
from lineage_merge.model.errors import ConfigError, DocumentError, SourceError, SourceMissing
from lineage_merge.orchestration.init import discovery
from lineage_merge.sources.diagnosis import fix_for
from lineage_merge.sources.discovery import SourceInput, parent
from lineage_merge.sources.kinds import Kind
from lineage_merge.sources.registry import SOURCES
from lineage_merge.sources.source import Source

# What the keys name that end the remedies of documents, such as dbt[].manifest: a source, and its key.
_KEYS = {
    f"{source.key}{'[]' if discovery.is_list else ''}.{key}": (source, key)
    for source in SOURCES
    for discovery in [source.discovery()]
    for option in discovery.locations
    for key in (option.key, *option.also)
}


def option_fix(source: Source[Any], key: str = "") -> str:
    """Return the remedy for a wrong location of a source; `key`: of this input."""
    flags = [option.flag for option in source.discovery().locations if key in (option.key, "")]
    return f"correct {' or '.join(flags)}"


@contextmanager
def explain_errors(source: Source[Any], source_input: SourceInput, location: str) -> Iterator[None]:
    """Append a remedy to the errors of reading a location of an input; "": it has none."""
    try:
        yield
    except ConfigError as error:
        if "environment variable" not in error.message:
            raise
        problem = error.message.partition(f"{error.key}: ")[2]
        raise ConfigError(error.key, f"{problem}. Fix: export the variable, then run init again") from None
    except SourceError as error:
        raise _add_fix(error, source, source_input.key, location) from None


def _add_fix(error: SourceError, source: Source[Any], key: str, location: str) -> SourceError:
    own = source.discovery()
    general = option_fix(source, key if key == own.line_key else "")
    # A document that another program writes, and that may be near.
    is_created = bool(own.how_to_create) and key != own.line_key
    if isinstance(error, DocumentError):
        fix = _write_fix(source, location) if is_created else _option(error.remedy, location) or general
        problem = error.problem.removesuffix(f": {error.remedy}")  # it names a key of the configuration
        return DocumentError(error.document, error.field, f"{problem}. Fix: {fix}", fix)
    if error.remedy:
        option = _option(error.remedy, location)
        if option and is_created:
            option = _find_near(source, location) or option
        problem = error.message.removesuffix(f": {error.remedy}")
        return type(error)(f"{problem}. Fix: {option}", option) if option else error
    if not location:
        fix = own.fix(error) or general
    elif is_s3(location) and not isinstance(error, SourceMissing):
        fix = fix_for(error, location, "the location")
    else:
        fix = _write_fix(source, location) if is_created else general
    return type(error)(f"{error.message}. Fix: {fix}", fix)


def no_lineage(source: Source[Any], location: str, kind: Kind | None) -> SourceMissing:
    """Return the error of files of lines without lineage; `kind`: what they are, if it is known."""
    fix, instead = option_fix(source, source.discovery().line_key), ""
    if kind:
        fix, instead = _option(kind.remedy, location) or kind.remedy or fix, f", but {kind.name}"
    return SourceMissing(f"{location}: no lineage found{instead}. Fix: {fix}", fix)


def _option(remedy: str, location: str) -> str:
    """Return the option that reads a location, "" if the remedy of its files is another one."""
    source, key = _KEYS.get(remedy.rpartition(" ")[2], (None, ""))
    if source is None:
        return ""
    return source.discovery().command(key, location) or _write_fix(source, location)


def _write_fix(source: Source[Any], location: str) -> str:
    return _find_near(source, location) or source.discovery().how_to_create


def _find_near(source: Source[Any], location: str) -> str:
    """Return the option with a document of the source at a location or beside it, "" if there is none."""
    return _nearby(source, location) or _nearby(source, parent(location))


def _nearby(source: Source[Any], folder: str) -> str:
    if is_s3(folder) and folder.count("/") < 3:
        return ""
    try:
        nearby = discovery.search(folder).inputs.get(source.key)
    except SourceError:
        return ""
    if nearby is None or nearby.key == source.discovery().line_key:
        return ""
    return source.discovery().command(nearby.key, nearby.locations[0])

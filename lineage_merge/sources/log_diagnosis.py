"""Check of line-based input files: they exist, and the last one contains lineage."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

from lineage_merge.infra.storage import Slice
from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import SourceError
from lineage_merge.naming import redact
from lineage_merge.sources import line_files
from lineage_merge.sources.diagnosis import Diagnosis, failed, fix_for, ok, warning
from lineage_merge.sources.source import Kind

# Bytes at the end of a file to inspect: recent lines.
_TAIL_BYTES = 4 << 20
_MAX_DOCUMENTS = 100

# Returns whether a part has a valid document, and the problem of the first invalid one.
Inspect = Callable[[Slice], tuple[bool, Problem | None]]
Find = Callable[[Iterable[str]], list[Slice]]


def examine(
    check: str,
    key: str,
    locations: tuple[str, ...],
    inspect: Inspect,
    fix: str,
    expected: Kind,
    find: Find = line_files.find,
) -> Iterator[Diagnosis]:
    """Check the files of each location of `key`, and the end of the last one.

    `fix`: the remedy if it contains no lineage. `expected`: the kind of its documents.
    """
    for location in locations:
        try:
            parts = find([location])
            message = f"{redact(location)}: {len({part.location for part in parts})} files"
            has_lineage, problem = inspect(_end(parts[-1]))
            kind = None if has_lineage else line_files.recognize(parts[-1:])
        except SourceError as error:
            yield failed(check, error, fix_for(error, location, key))
            continue
        if kind and kind is not expected:
            yield warning(check, f"{message}, but {kind.name}", kind.remedy or fix)
        elif problem:
            first = f"{problem.document}: {problem.field}: {problem.message}".replace(": : ", ": ")
            yield warning(check, f"{message}, but {first}", "correct the document; a run skips it")
        elif has_lineage:
            yield ok(check, f"{message}, with lineage")
        else:
            yield warning(check, f"{message}, no lineage at the end of the last one", fix)


def validity(documents: Iterable[Any], check: Callable[[Any], Problem | None]) -> tuple[bool, Problem | None]:
    """Return whether one of the first documents is valid, else the problem of the first one.

    `check` returns the problem of a document; documents may be problems themselves.
    """
    problem: Problem | None = None
    for document in islice(line_files.until_damage(documents), _MAX_DOCUMENTS):
        wrong = document if isinstance(document, Problem) else check(document)
        if wrong is None:
            return True, None
        problem = problem or wrong
    return False, problem


def _end(part: Slice) -> Slice:
    """Return the end of a file; a packed file or a single document completely."""
    is_cut = not part.location.endswith((".gz", ".json"))
    return replace(part, start=max(part.start, part.end - _TAIL_BYTES)) if is_cut else part

"""Are the files there whose lines a source reads, and is there lineage at the end of them?"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from lineage_merge.infra.storage import Slice
from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import SourceError
from lineage_merge.naming import redact
from lineage_merge.orchestration.doctor.exports import how_to_mend
from lineage_merge.orchestration.doctor.finding import Finding, failed, ok, warning
from lineage_merge.sources import line_files

# So much of a file's end is looked at: what is written today.
_LOOKED_AT = 4 << 20

# Whether a part has a good document, and what is wrong with the first broken one.
Look = Callable[[Slice], tuple[bool, Problem | None]]
Find = Callable[[Iterable[str]], list[Slice]]


def examine(
    check: str, key: str, locations: tuple[str, ...], look: Look, mend: str, find: Find = line_files.find
) -> Iterator[Finding]:
    """The files of each location, which `key` of the configuration names, and the end of the last one.

    `mend` says what to do where that holds nothing of the kind.
    """
    for location in locations:
        try:
            parts = find([location])
            told = f"{redact(location)}: {len({part.location for part in parts})} files"
            is_there, problem = look(_end(parts[-1]))
        except SourceError as error:
            yield failed(check, error, how_to_mend(error, location, key))
            continue
        if problem:
            first = f"{problem.document}: {problem.field}: {problem.message}".replace(": : ", ": ")
            yield warning(check, f"{told}, but {first}", "look at it; a run leaves it out")
        elif is_there:
            yield ok(check, f"{told}, with lineage")
        else:
            yield warning(check, f"{told}, no lineage in what was looked at", mend)


def _end(part: Slice) -> Slice:
    """The last part of a file; of one that is packed, or one document, all."""
    is_cut = not part.location.endswith((".gz", ".json"))
    return replace(part, start=max(part.start, part.end - _LOOKED_AT)) if is_cut else part

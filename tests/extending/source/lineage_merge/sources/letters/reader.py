"""Reads the file in slices."""

from collections.abc import Iterator

from lineage_merge.sources.letters.source import Letters
from lineage_merge.sources.letters.translator import translate

from lineage_merge.config import Config
from lineage_merge.infra.engine.rows import Engine, Rows
from lineage_merge.infra.storage import Slice
from lineage_merge.model.elements import Element
from lineage_merge.model.records import Record
from lineage_merge.sources import line_files
from lineage_merge.sources.source import Resolver


def read_letters(engine: Engine, config: Config, resolver: Resolver) -> Rows[Record]:
    """Read the whole file, as records."""
    letters = config.of(Letters)
    assert letters

    def elements(part: Slice) -> Iterator[Element]:
        for location, line in line_files.numbered(part):
            yield from translate(line.decode(), location)

    parts = line_files.parallel(engine, line_files.find([letters.file]))
    return parts.flat_map(lambda part: resolver.records(elements(part)))


def size(letters: Letters) -> int:
    """Return the size of the input, by one listing."""
    return line_files.stored_bytes(line_files.find([letters.file]))


def preflight(letters: Letters) -> None:
    """Check that the file exists. Raises `SourceError`."""
    line_files.find([letters.file])

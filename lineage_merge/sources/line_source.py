"""A source whose input are files of lines, one document in each: it gives its files and a translation."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

from lineage_merge.config import Config
from lineage_merge.infra.engine.rows import Engine, Rows
from lineage_merge.infra.storage import Slice, StoredFile
from lineage_merge.model.elements import Element, Problem
from lineage_merge.model.records import Record
from lineage_merge.sources import line_files
from lineage_merge.sources.diagnosis import Diagnosis, SourceCheck, examine_lines
from lineage_merge.sources.discovery import SourceDiscovery, files_option
from lineage_merge.sources.resolver import Resolver
from lineage_merge.sources.source import FileSource

Settings = TypeVar("Settings")


class LineSource(FileSource[Settings]):
    """A source of lines. Its files are those of `files`, under the key `line_key` of its section.

    `flag` of `init` names them. `remedy`: what to do about files without lineage. A line that cannot be read
    is a `Problem`.
    """

    line_key: str
    flag: str
    remedy: str

    def translate(self, _line: str, _location: str) -> Iterable[Element]:
        """Return the elements of a line. Pure. `location`: file and number of the line, for problems."""
        raise NotImplementedError

    def read(self, engine: Engine, config: Config, resolver: Resolver) -> Rows[Record]:
        """Read the files in slices, as records."""
        parts = line_files.parallel(engine, self.find(config.sources[self.key]))
        return parts.flat_map(partial(_records, self, resolver))

    def checks(self) -> Sequence[SourceCheck]:
        """Return the check of the files: they exist, and the last one has lineage."""
        return (SourceCheck(self.name, self._examine),)

    def discovery(self) -> SourceDiscovery:
        """Return the discovery of files of lines."""
        return LineDiscovery(self)

    def elements(self, part: Slice) -> Iterator[Element]:
        """Yield the elements of the lines of a slice."""
        for location, line in line_files.number_lines(part):
            yield from self.translate(line.decode("utf-8", errors="replace"), location)

    def inspect(self, part: Slice) -> tuple[bool, Problem | None]:
        """Return whether a slice has lineage, and its first problem."""
        elements = list(self.elements(part))
        problems = [element for element in elements if isinstance(element, Problem)]
        return len(problems) < len(elements), next(iter(problems), None)

    def _examine(self, settings: Settings) -> Iterator[Diagnosis]:
        key, files = f"{self.key}.{self.line_key}", tuple(self.files(settings))
        return examine_lines(self.name, key, files, self.inspect, self.remedy, self.kinds[0])


class LineDiscovery(SourceDiscovery):
    """Finds the files by their lines."""

    def __init__(self, source: LineSource[Any]) -> None:
        self._source = source
        self.line_key = source.line_key
        self.options = (files_option(source.flag, source.line_key, source.kinds[0].name),)

    def has_documents(self, file: StoredFile) -> bool:
        """Return whether a file has lineage."""
        return self._source.inspect(Slice(file.location, 0, file.size))[0]


def _records(source: LineSource[Any], resolver: Resolver, part: Slice) -> Iterator[Record]:
    return resolver.records(source.elements(part))

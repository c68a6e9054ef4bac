"""Reader of declarations: one file per partition."""

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial

from lineage_merge.config import Config
from lineage_merge.infra.engine.rows import Engine, Rows
from lineage_merge.model.elements import Element, Problem
from lineage_merge.model.records import Record
from lineage_merge.sources.declared.files import DECLARATION_FILES, read_declarations
from lineage_merge.sources.declared.translator import translate
from lineage_merge.sources.discovery import file_name
from lineage_merge.sources.resolver import Resolver


def read_declared(engine: Engine, config: Config, resolver: Resolver) -> Rows[Record]:
    """Read all configured files as records. Raises `SourceError` for a location without files."""
    locations = dict.fromkeys(
        file.location for path in config.sources["declared"] for file in DECLARATION_FILES.find(path)
    )
    return engine.rows(list(locations), len(locations)).flat_map(partial(_records, resolver))


def _records(resolver: Resolver, location: str) -> Iterator[Record]:
    return resolver.records(_elements(location))


def _elements(location: str) -> Iterator[Element]:
    project = file_name(location).rpartition(".")[0]
    for found in read_declarations(location):
        if isinstance(found, Problem):
            yield found
        else:
            yield from translate(found, project, datetime.now(UTC).date())

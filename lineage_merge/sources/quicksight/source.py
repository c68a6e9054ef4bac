"""The Amazon QuickSight source."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from lineage_merge.sources.quicksight.settings import DEFINITIONS, QuickSight
from lineage_merge.sources.source import Source

if TYPE_CHECKING:
    from lineage_merge.config import Config
    from lineage_merge.infra.engine.rows import Engine, Rows
    from lineage_merge.model.records import Record
    from lineage_merge.sources.diagnosis import SourceCheck
    from lineage_merge.sources.discovery import SourceDiscovery
    from lineage_merge.sources.resolver import Resolver

Accounts = tuple[QuickSight, ...]


class QuickSightSource(Source[Accounts]):
    """Reads dashboards, analyses and data sets."""

    name, key = "QuickSight", "quicksight"
    settings = Accounts
    description = "dashboards and data sets of Amazon QuickSight, through its API or from files"
    kinds = (DEFINITIONS,)
    job_types = ("quicksight",)
    by_project = True
    has_raw_uris = True
    without_sqlglot = "the tables behind custom SQL"

    def read(self, engine: "Engine", config: "Config", resolver: "Resolver") -> "Rows[Record]":
        from lineage_merge.sources.quicksight.reader import read_quicksight

        return read_quicksight(engine, config, resolver)

    def files(self, settings: Accounts) -> Iterable[str]:
        return [entry.definitions for entry in settings if entry.definitions]

    def size(self, settings: Accounts) -> int | None:
        from lineage_merge.sources.quicksight.files import DEFINITION_FILES

        if any(entry.region for entry in settings):
            return None
        return sum(file.text_bytes for entry in settings for file in DEFINITION_FILES.find(entry.definitions))

    def preflight(self, settings: Accounts) -> None:
        from lineage_merge.sources.quicksight.files import DEFINITION_FILES

        for location in self.files(settings):
            DEFINITION_FILES.find(location)

    def checks(self) -> "Sequence[SourceCheck]":
        from lineage_merge.sources.quicksight.doctor import CHECKS

        return CHECKS

    def needs_aws(self, settings: Accounts) -> bool:
        return any(entry.region for entry in settings)

    def discovery(self) -> "SourceDiscovery":
        from lineage_merge.sources.quicksight.discovery import QuickSightDiscovery

        return QuickSightDiscovery()


QUICKSIGHT = QuickSightSource()

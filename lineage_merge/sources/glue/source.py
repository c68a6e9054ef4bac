"""The AWS Glue source: a catalog with the paths of tables that other sources reference."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lineage_merge.sources.glue.settings import GlueCatalog
from lineage_merge.sources.source import Source

if TYPE_CHECKING:
    from lineage_merge.config import Config
    from lineage_merge.infra.engine.rows import Engine, Rows
    from lineage_merge.model.records import CatalogEntry
    from lineage_merge.sources.diagnosis import SourceCheck
    from lineage_merge.sources.discovery import SourceDiscovery
    from lineage_merge.sources.resolver import Resolver

Catalogs = tuple[GlueCatalog, ...]

_SUGGESTION = """\
# Glue's catalog joins dbt's tables with the paths that Spark writes:
# glue:
#   - region: us-east-1"""


class GlueSource(Source[Catalogs]):
    """Reads Glue's catalogs."""

    name, key = "the Glue catalog", "glue"
    settings = Catalogs
    description = "Glue catalogs, which have the paths of tables"
    is_catalog = True

    def read(self, engine: "Engine", config: "Config", resolver: "Resolver") -> "Rows[CatalogEntry]":
        from lineage_merge.sources.glue.reader import read_glue

        return read_glue(engine, config, resolver)

    def size(self, settings: Catalogs) -> int | None:
        from lineage_merge.sources.glue import client

        return client.size(settings)

    def checks(self) -> "Sequence[SourceCheck]":
        from lineage_merge.sources.glue.doctor import CHECKS

        return CHECKS

    def needs_aws(self, _settings: Catalogs) -> bool:
        return True

    def discovery(self) -> "SourceDiscovery":
        from lineage_merge.sources.discovery import SourceDiscovery, Suggestion

        discovery = SourceDiscovery()
        # dbt adapters whose tables are files in S3, listed in Glue's catalog.
        discovery.suggestion = Suggestion(("athena", "glue"), _SUGGESTION)
        return discovery


GLUE = GlueSource()

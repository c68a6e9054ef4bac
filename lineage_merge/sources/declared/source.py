"""The source of declared lineage."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from lineage_merge.infra.json_schema import PATH
from lineage_merge.infra.setting import ONE_OR_MORE, Form
from lineage_merge.naming.jobs import DECLARED
from lineage_merge.sources.kinds import Kind
from lineage_merge.sources.source import Source

if TYPE_CHECKING:
    from lineage_merge.config import Config
    from lineage_merge.infra.engine.rows import Engine, Rows
    from lineage_merge.model.records import Record
    from lineage_merge.sources.diagnosis import SourceCheck

Paths = Annotated[tuple[str, ...], ONE_OR_MORE, Form(schema={PATH: True})]
DECLARATIONS = Kind("declared lineage", "give its file as declared", (("lineage", "datasets"),))


class DeclaredSource(Source[tuple[str, ...]]):
    """Reads what persons declare."""

    name, key = "declared lineage", "declared"
    settings = Paths
    description = "YAML files with edges and descriptions of datasets that no tool reports"
    example = "lineage/partners.yml"
    kinds = (DECLARATIONS,)
    job_types = (DECLARED,)
    by_project = True
    has_raw_uris = True

    def read(self, engine: "Engine", config: "Config", resolver: Any) -> "Rows[Record]":
        from lineage_merge.sources.declared.reader import read_declared

        return read_declared(engine, config, resolver)

    def files(self, settings: tuple[str, ...]) -> Iterable[str]:
        return settings

    def size(self, settings: tuple[str, ...]) -> int | None:
        from lineage_merge.sources.declared.files import DECLARATION_FILES

        return sum(file.text_bytes for path in settings for file in DECLARATION_FILES.find(path))

    def checks(self) -> "Sequence[SourceCheck]":
        from lineage_merge.sources.declared.doctor import CHECKS

        return CHECKS

    def preflight(self, settings: tuple[str, ...]) -> None:
        from lineage_merge.sources.declared.files import DECLARATION_FILES

        for path in settings:
            DECLARATION_FILES.find(path)


DECLARED_LINEAGE = DeclaredSource()

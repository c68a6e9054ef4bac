"""May we list databases and tables of the Glue catalogs?"""

from collections.abc import Iterator

from lineage_merge.config import Config
from lineage_merge.model.errors import SourceDenied, SourceError, SourceUnreachable
from lineage_merge.orchestration.doctor.finding import Finding, failed, ok, warning
from lineage_merge.sources.glue import client
from lineage_merge.sources.glue.settings import GlueCatalog

CATALOG = "Glue catalog"


def examine(config: Config) -> Iterator[Finding]:
    """One line a catalog."""
    for index, catalog in enumerate(config.sources.get("glue", ())):
        try:
            yield _catalog(catalog, index)
        except SourceError as error:
            yield failed(CATALOG, error, _mend(error, catalog, index))


def _catalog(catalog: GlueCatalog, index: int) -> Finding:
    names = client.database_names(catalog)
    if not names:
        wanted = ", ".join(catalog.databases) or "anything"
        told = f"{catalog}: no database matches {wanted}"
        return warning(CATALOG, told, f"correct glue[{index}].databases and glue[{index}].region")
    # Databases and tables are two rights: one table is enough to know of the second.
    next(client.tables(catalog, names[0]), None)
    return ok(CATALOG, f"{catalog}: {len(names)} databases, tables can be listed")


def _mend(error: SourceError, catalog: GlueCatalog, index: int) -> str:
    match error:
        case SourceDenied():
            return f"allow glue:GetDatabases and glue:GetTables in {catalog.region} (deploy/iam)"
        case SourceUnreachable():
            return "check the network (Glue endpoint of the VPC) and the region"
    return f"correct glue[{index}]"

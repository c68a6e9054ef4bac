"""Check of the permissions to list databases and tables of Glue catalogs."""

from collections.abc import Iterator

from lineage_merge.model.errors import SourceDenied, SourceError, SourceUnreachable
from lineage_merge.sources.diagnosis import Diagnosis, SourceCheck, ok, report_failure, warning
from lineage_merge.sources.glue import client
from lineage_merge.sources.glue.settings import GlueCatalog

CATALOG = "Glue catalog"


def _examine(catalogs: tuple[GlueCatalog, ...]) -> Iterator[Diagnosis]:
    """Yield one diagnosis per catalog."""
    for index, catalog in enumerate(catalogs):
        try:
            yield from _catalog(catalog, index)
        except SourceError as error:
            yield report_failure(CATALOG, error, _fix_for(error, catalog, index))


def _catalog(catalog: GlueCatalog, index: int) -> Iterator[Diagnosis]:
    databases = client.all_databases(catalog)
    names = client.select_databases(catalog, databases)
    missing = client.report_unmatched(catalog, databases)
    if missing:
        problems = "; ".join(problem.message for problem in missing)
        fix = f"correct glue[{index}].databases or glue[{index}].region"
        yield warning(CATALOG, f"{catalog}: {problems}", fix)
    if not names:
        return
    # Databases and tables need separate permissions: one table is enough for the second.
    next(client.tables(catalog, names[0]), None)
    yield ok(CATALOG, f"{catalog}: {len(names)} databases, tables are readable")


def _fix_for(error: SourceError, catalog: GlueCatalog, index: int) -> str:
    match error:
        case SourceDenied():
            return f"allow glue:GetDatabases and glue:GetTables in {catalog.region} (deploy/iam)"
        case SourceUnreachable():
            return "correct the region, and check the network (Glue endpoint of the VPC)"
    return f"correct glue[{index}]"


CHECKS = (SourceCheck(CATALOG, _examine),)

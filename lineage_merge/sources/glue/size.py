"""About how much Glue's catalogs hold, without reading their tables."""

from collections.abc import Sequence

from lineage_merge.sources.glue import client
from lineage_merge.sources.glue.settings import GlueCatalog

# Glue does not say how many tables a database has. 100 tables of 30 columns, as its API answers.
BYTES_A_DATABASE = 400_000


def size(catalogs: Sequence[GlueCatalog]) -> int:
    """About the bytes of the wanted databases' tables. Raises `SourceError`."""
    return BYTES_A_DATABASE * sum(len(client.database_names(catalog)) for catalog in catalogs)

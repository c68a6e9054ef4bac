"""OpenLineage names (namespace and name) of the addresses that sources contain.

One class per platform; `resolve.PLATFORMS` lists them. Names follow OpenLineage's naming conventions
(https://openlineage.io/docs/spec/naming).
"""

from lineage_merge.infra.redaction import redact
from lineage_merge.naming.jdbc import split_jdbc
from lineage_merge.naming.named import Named
from lineage_merge.naming.resolve import (
    PLATFORMS,
    canonical_namespace,
    completes_names,
    name_dataset,
    name_uri,
    path_uri,
)

__all__ = [
    "PLATFORMS",
    "Named",
    "canonical_namespace",
    "completes_names",
    "name_dataset",
    "name_uri",
    "path_uri",
    "redact",
    "split_jdbc",
]

"""Parsing of a dbt catalog: the columns of relations in the warehouse.

`dbt docs generate` writes `catalog.json`; its schema is published at
https://schemas.getdbt.com/dbt/catalog/v1.json.
"""

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from lineage_merge.infra.document_decoder import DocumentDecoder
from lineage_merge.infra.json_schema import Checker, load_schema
from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import DocumentError
from lineage_merge.naming import redact
from lineage_merge.sources.dbt import artefact
from lineage_merge.sources.dbt.nodes import Manifest

# Each run of dbt replaces the relation.
_REPLACED = frozenset({"table", "view", "materialized_view", "dynamic_table"})
_VERSION = re.compile(r"https?://schemas\.getdbt\.com/dbt/catalog/v1\.json")


class CatalogColumn(NamedTuple):
    """A column, or a field, as reported by the warehouse."""

    name: str
    data_type: str
    description: str


Catalog = Mapping[str, tuple[CatalogColumn, ...]]
"""The columns of each relation in their order, by unique id."""


class CatalogFile(NamedTuple):
    """A catalog, the dbt invocation that wrote it ("": unknown), and its time in ms since 1970 (0: unknown).

    `dbt docs generate` also writes the manifest, of the same invocation.
    """

    tables: Catalog
    invocation_id: str = ""
    generated_at: int = 0


def read_catalog(location: str, text: str) -> tuple[CatalogFile, list[Problem]]:
    """Parse and validate a catalog; `location` names it in errors.

    Raises `DocumentError` for text that is not JSON, no catalog, or of an unknown version. A single malformed
    entry is left out and returned as a `Problem` (`rejected`).
    """
    document = artefact.parse(location, text, "catalog")
    _check(location, document)
    catalog: dict[str, tuple[CatalogColumn, ...]] = {}
    problems: list[Problem] = []
    for section in ("nodes", "sources"):
        for unique_id, entry in document[section].items():
            wrong = _checkers()[1].error(entry)
            if wrong is None:
                catalog[unique_id] = _columns(entry)
            else:
                path = f"{section}.{unique_id}.{wrong.path}".rstrip(".")
                problems.append(Problem("rejected", f"{location}: {unique_id}", path, wrong.problem))
    invocation, made = (document["metadata"].get(key) for key in ("invocation_id", "generated_at"))
    return CatalogFile(catalog, invocation or "", artefact.moment(made)), problems


def find_outdated_entries(manifest: Manifest, catalog: CatalogFile) -> frozenset[str]:
    """Return the models whose SQL may be newer than a catalog that is older than its manifest.

    Only of materializations that replace the relation: others keep columns that their SQL no longer has.
    """
    is_same = catalog.invocation_id and catalog.invocation_id == manifest.invocation_id
    if is_same or not 0 < catalog.generated_at < manifest.generated_at:
        return frozenset()
    nodes = manifest.nodes.values()
    return frozenset(
        node.unique_id for node in nodes if node.kind == "model" and node.materialized in _REPLACED
    )


def _check(location: str, document: Mapping[str, Any]) -> None:
    emptied: dict[str, Any] = {key: {} for key in ("nodes", "sources") if isinstance(document.get(key), dict)}
    error = _checkers()[0].error({**document, **emptied})
    if error is not None:
        raise DocumentError(location, error.path, error.problem)
    version = document["metadata"]["dbt_schema_version"]
    if _VERSION.fullmatch(version) is None:
        shown = redact(json.dumps(version, ensure_ascii=False))[:120]
        message = f"{shown} is not a supported catalog: v1 is supported"
        raise DocumentError(location, "metadata.dbt_schema_version", message)


def _columns(entry: Mapping[str, Any]) -> tuple[CatalogColumn, ...]:
    columns = sorted(entry["columns"].values(), key=lambda column: (column["index"], column["name"]))
    return tuple(
        CatalogColumn(column["name"], column["type"] or "", column.get("comment") or "") for column in columns
    )


@cache
def _checkers() -> tuple[Checker, DocumentDecoder]:
    """Return the validators of the document without its entries, and of one entry."""
    schema = load_schema(__package__, "catalog.schema.json")
    return Checker(schema), DocumentDecoder({"$defs": schema["$defs"], **schema["$defs"]["table"]})

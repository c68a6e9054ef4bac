"""Contents of a dbt manifest and the artifacts beside it, from which `init` proposes a configuration."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from lineage_merge.infra.storage import read_text, size_of
from lineage_merge.model.errors import SourceError, SourceMissing
from lineage_merge.sources.dbt.catalog import read_catalog
from lineage_merge.sources.dbt.manifest import read_manifest
from lineage_merge.sources.dbt.nodes import SEMANTIC, Manifest
from lineage_merge.sources.dbt.run_results import read_run_results
from lineage_merge.sources.dbt.source_freshness import read_sources
from lineage_merge.sources.dbt.translator import dataset_references

_MAX_SCHEMAS = 6
_WITHOUT_TABLE = frozenset({"exposure", *SEMANTIC})


@dataclass(frozen=True, slots=True)
class ManifestFindings:
    """What a dbt manifest contains. `sources` and `built` are the names of its datasets in the warehouse.

    `schemas` are its ``database.schema``, the most frequent first. `catalog`, `run_results` and
    `freshness` (`sources.json`) are files beside the manifest, "" if missing.
    """

    location: str
    project: str
    adapter: str
    dbt_version: str = ""
    generated_at: int = 0
    nodes: int = 0
    sources: frozenset[str] = frozenset()
    built: frozenset[str] = frozenset()
    schemas: tuple[str, ...] = ()
    catalog: str = ""
    run_results: str = ""
    freshness: str = ""
    notes: tuple[str, ...] = ()


def inspect(location: str) -> ManifestFindings:
    """Read a manifest, and find its artifacts. Raises `SourceError`."""
    manifest, problems = read_manifest(location, read_text(location))
    notes = [
        f"{problem.document}: {problem.field}: {problem.message}"
        for problem in problems
        if problem.kind == "rejected"
    ]
    found = {"sources": set[str](), "built": set[str]()}
    for unique_id, reference in dataset_references(manifest, "").items():
        kind = manifest.nodes[unique_id].kind
        if kind not in _WITHOUT_TABLE:
            found["sources" if kind == "source" else "built"].add(reference.name)
    catalog, run_results, freshness = _beside(location, notes)
    return ManifestFindings(
        location=location,
        project=manifest.project,
        adapter=manifest.adapter.lower(),
        dbt_version=manifest.dbt_version,
        generated_at=manifest.generated_at,
        nodes=len(manifest.nodes),
        sources=frozenset(found["sources"]),
        built=frozenset(found["built"]),
        schemas=_schemas(manifest),
        catalog=catalog,
        run_results=run_results,
        freshness=freshness,
        notes=tuple(notes),
    )


def _schemas(manifest: Manifest) -> tuple[str, ...]:
    """Return the schemas of the manifest, those of dbt's sources first, then by number of datasets."""
    found: Counter[tuple[bool, str]] = Counter()
    for node in manifest.nodes.values():
        schema = ".".join(part for part in (node.database, node.schema) if part)
        if schema and node.kind not in _WITHOUT_TABLE:
            found[node.kind != "source", schema] += 1
    ordered = sorted(found, key=lambda each: (each[0], -found[each], each[1]))
    return tuple(dict.fromkeys(schema for _, schema in ordered))[:_MAX_SCHEMAS]


def _beside(manifest: str, notes: list[str]) -> tuple[str, str, str]:
    """Return the locations of `catalog.json`, `run_results.json` and `sources.json` beside a manifest."""
    folder = manifest.rpartition("/")[0]

    def found(name: str, read: Callable[[str, str], object]) -> str:
        location = f"{folder}/{name}" if folder else name
        try:
            size_of(location)
            read(location, read_text(location))
        except SourceMissing:
            return ""
        except SourceError as error:
            notes.append(f"not used: {error.message}")
            return ""
        return location

    return (
        found("catalog.json", read_catalog),
        found("run_results.json", read_run_results),
        found("sources.json", read_sources),
    )

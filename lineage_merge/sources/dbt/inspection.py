"""What a manifest and the artefacts beside it contain, for `init`."""

from collections import Counter
from collections.abc import Callable, Mapping

from lineage_merge.infra.storage import read_text, size_of
from lineage_merge.model.errors import SourceError, SourceMissing
from lineage_merge.sources.dbt.catalog import read_catalog
from lineage_merge.sources.dbt.manifest import read_manifest
from lineage_merge.sources.dbt.nodes import SEMANTIC, Manifest
from lineage_merge.sources.dbt.run_results import read_run_results
from lineage_merge.sources.dbt.source_freshness import read_sources
from lineage_merge.sources.dbt.translator import dataset_references
from lineage_merge.sources.discovery import ProjectFindings

# Artefacts beside a manifest, by the key of the configuration.
_BESIDE: Mapping[str, tuple[str, Callable[[str, str], object]]] = {
    "catalog": ("catalog.json", read_catalog),
    "run_results": ("run_results.json", read_run_results),
    "sources": ("sources.json", read_sources),
}
_MAX_SCHEMAS = 6
_WITHOUT_TABLE = frozenset({"exposure", *SEMANTIC})


def inspect(location: str) -> ProjectFindings:
    """Read a manifest, and find its artifacts. Raises `SourceError`."""
    manifest, problems = read_manifest(location, read_text(location))
    notes = [
        f"{problem.document}: {problem.field}: {problem.message}"
        for problem in problems
        if problem.kind == "rejected"
    ]
    names = {"sources": set[str](), "built": set[str]()}
    for unique_id, reference in dataset_references(manifest, "").items():
        kind = manifest.nodes[unique_id].kind
        if kind not in _WITHOUT_TABLE:
            names["sources" if kind == "source" else "built"].add(reference.name)
    return ProjectFindings(
        source="dbt",
        location=location,
        project=manifest.project,
        platform=manifest.adapter.lower(),
        version=manifest.dbt_version,
        generated_at=manifest.generated_at,
        nodes=len(manifest.nodes),
        sources=frozenset(names["sources"]),
        built=frozenset(names["built"]),
        schemas=_schemas(manifest),
        beside=_find_beside(location, notes),
        notes=tuple(notes),
    )


def _schemas(manifest: Manifest) -> tuple[str, ...]:
    """Return the schemas of the manifest, those of dbt's sources first, then by number of datasets."""
    counts: Counter[tuple[bool, str]] = Counter()
    for node in manifest.nodes.values():
        schema = ".".join(part for part in (node.database, node.schema) if part)
        if schema and node.kind not in _WITHOUT_TABLE:
            counts[node.kind != "source", schema] += 1
    ordered = sorted(counts, key=lambda key: (key[0], -counts[key], key[1]))
    return tuple(dict.fromkeys(schema for _, schema in ordered))[:_MAX_SCHEMAS]


def _find_beside(manifest: str, notes: list[str]) -> dict[str, str]:
    """Return the locations of the artefacts beside a manifest, by the key of the configuration."""
    folder = manifest.rpartition("/")[0]
    locations: dict[str, str] = {}
    for key, (name, read) in _BESIDE.items():
        location = f"{folder}/{name}" if folder else name
        try:
            size_of(location)
            read(location, read_text(location))
        except SourceMissing:
            continue
        except SourceError as error:
            notes.append(f"not used: {error.message}")
        else:
            locations[key] = location
    return locations

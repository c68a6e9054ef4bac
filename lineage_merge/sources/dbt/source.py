"""Declaration of the dbt source."""

import re
from typing import Any

from lineage_merge.sources.dbt.settings import namespaces, parse
from lineage_merge.sources.source import InitOption, Kind, Source


def _artefact(name: str, schema: str, remedy: str, *keys: tuple[str, ...]) -> Kind:
    """Return the kind of an artefact, which names its JSON Schema."""
    pattern = re.compile(rf"schemas\.getdbt\.com/dbt/{schema}/v\d+\.json")

    def is_document(document: Any) -> bool:
        metadata = document.get("metadata") if isinstance(document, dict) else None
        version = metadata.get("dbt_schema_version") if isinstance(metadata, dict) else None
        return isinstance(version, str) and pattern.search(version) is not None

    return Kind(name, remedy, keys, is_document, pattern, first="{[")


MANIFEST = _artefact("a dbt manifest", "manifest", "give it as dbt[].manifest")
CATALOG = _artefact("a dbt catalog", "catalog", "give it as dbt[].catalog")
RUN_RESULTS = _artefact("dbt's run results", "run-results", "give them as dbt[].run_results")
FRESHNESS = _artefact("dbt's source freshness", "sources", "give it as dbt[].sources")
_KINDS = (
    MANIFEST,
    CATALOG,
    RUN_RESULTS,
    FRESHNESS,
    _artefact(
        "dbt's semantic manifest",
        "semantic-manifest",
        "give target/manifest.json",
        ("semantic_models", "metrics", "project_configuration"),
    ),
    Kind(
        "the HTML page of dbt docs",
        "give target/manifest.json and target/catalog.json, not index.html",
        pattern=re.compile(r"(?is)\A<(?:!doctype html|html|head|body|!--).{0,2000}?dbt[ -]docs"),
        first="<",
    ),
)

DBT = Source(
    "dbt",
    "dbt",
    "lineage_merge.sources.dbt",
    parse,
    "lineage_merge.sources.dbt.reader:read_dbt",
    size="lineage_merge.sources.dbt.reader:size",
    paths=("manifest", "catalog", "run_results", "sources"),
    checks="lineage_merge.sources.dbt.doctor:CHECKS",
    files=lambda projects: [file for project in projects for file in project.files],
    without_sqlglot="no column lineage of dbt models",
    namespaces=namespaces,
    by_project=True,
    job_types=("dbt",),
    stated_projects=lambda projects: [project.project for project in projects if project.project],
    how_to_create="run dbt compile, and give target/manifest.json",
    kinds=_KINDS,
    options=(
        InitOption(
            "--dbt",
            "manifest",
            "dbt's manifest.json",
            "dbt manifest",
            "MANIFEST",
            is_repeatable=True,
            is_rare=False,
            also=("catalog", "run_results"),
        ),
        InitOption(
            "--dbt-namespace", "namespace", "namespace of dbt's tables  [default: derived]", metavar="URL"
        ),
    ),
    discovery="lineage_merge.sources.dbt.inspection:DbtDiscovery",
    project="lineage_merge.sources.dbt.inspection:inspect",
)

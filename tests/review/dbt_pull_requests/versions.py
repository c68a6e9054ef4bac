"""The compiled project and its pull requests as manifests and versions."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from lineage_merge.merge.dataset_resolver import from_config
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.review.dbt_versions import (
    DbtFile,
    DbtVersion,
    ReviewScope,
    find_changed_entries,
    version_of,
)
from lineage_merge.sources.dbt.manifest import read_manifest

MANIFESTS = Path(__file__).parent / "manifests"
NAMESPACE = "duckdb://shop"
SETTINGS: dict[str, Any] = {
    "dag_name": "daily",
    "environment": "dev",
    "dbt": [{"manifest": "target/manifest.json", "namespace": NAMESPACE}],
}


def document(name: str) -> dict[str, Any]:
    """Return the manifest of a pull request, or of `base`."""
    found: dict[str, Any] = json.loads((MANIFESTS / "base.json").read_text())
    if name != "base":
        for section, entries in json.loads((MANIFESTS / f"{name}.json").read_text()).items():
            changed = {**found[section], **entries}
            found[section] = {key: entry for key, entry in changed.items() if entry is not None}
    return found


def file_of(content: dict[str, Any]) -> DbtFile:
    """Return a manifest as if it had been read."""
    manifest, _ = read_manifest("manifest.json", json.dumps(content), with_columns=True)
    return DbtFile(manifest)


def scope() -> ReviewScope:
    """Return the names of the tests' configuration."""
    config = CONFIGURATION.parse(SETTINGS)
    return ReviewScope(from_config(config), "daily", NAMESPACE)


def versions(base: dict[str, Any], head: dict[str, Any]) -> tuple[DbtVersion, DbtVersion]:
    """Translate two manifests as a review does."""
    files = file_of(base), file_of(head)
    only = find_changed_entries(files[0].manifest, files[1].manifest).relevant
    return version_of(files[0], scope(), only), version_of(files[1], scope(), only)


@cache
def pull_request(name: str) -> tuple[DbtVersion, DbtVersion]:
    """Return both versions of a pull request."""
    return versions(document("base"), document(name))

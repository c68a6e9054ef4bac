"""How `init` finds dbt manifests."""

from collections.abc import Iterable, Sequence

from lineage_merge.infra.storage import StoredFile
from lineage_merge.sources.discovery import (
    Discovered,
    InitOption,
    ProjectFindings,
    Prompt,
    SourceDiscovery,
    SourceInput,
    file_name,
)

_FILES = frozenset(
    {"manifest.json", "semantic_manifest.json", "catalog.json", "run_results.json", "sources.json"}
)


class DbtDiscovery(SourceDiscovery):
    """Manifests are found by their names and contents."""

    options = (
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
    )
    is_list = True
    describes_projects = True
    how_to_create = "run dbt compile, and give target/manifest.json"

    def project(self, location: str) -> ProjectFindings:
        """Read a manifest, and find its artifacts. Raises `SourceError`."""
        from lineage_merge.sources.dbt.inspection import inspect

        return inspect(location)

    def ask(self, prompt: Prompt) -> SourceInput | None:
        """Ask for a manifest."""
        manifest = prompt("dbt manifest.json (path or s3://, empty: none)")
        return SourceInput("manifest", (manifest,)) if manifest else None

    def own_files(self, files: Iterable[StoredFile]) -> Iterable[str]:
        """Return the artefacts, by name."""
        return [file.location for file in files if file_name(file.location) in _FILES]

    def search(self, files: Sequence[StoredFile], _rest: Sequence[StoredFile]) -> Discovered:
        """Return the manifests. Other programs have files of this name, too."""
        from lineage_merge.sources.dbt.artefact import has_kind

        manifests = tuple(
            file.location
            for file in files
            if file_name(file.location) == "manifest.json" and has_kind(file.location, "manifest")
        )
        return Discovered(SourceInput("manifest", manifests) if manifests else None)

    def command(self, key: str, location: str) -> str:
        """Return the option of a manifest; the others are found beside it."""
        is_manifest = key == "manifest" and location.endswith((".json", ".json.gz"))
        return super().command(key, location) if is_manifest else ""

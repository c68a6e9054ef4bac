"""The ``dbt`` configuration section, one entry per project, and the kinds of artefacts."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from lineage_merge.config.section import Namespace
from lineage_merge.infra.redaction import redact
from lineage_merge.infra.setting import Form, Texts, declare
from lineage_merge.sources.kinds import Kind
from lineage_merge.sources.settings import NamespaceSetting

What = Literal["manifest", "catalog", "run results file", "sources file"]


@dataclass(frozen=True, slots=True)
class DbtProject:
    """A dbt project: its manifest, the namespace of its tables, optionally its other artifacts."""

    manifest: str = declare(
        "manifest.json: a path or s3://bucket/key", example="target/manifest.json", is_path=True
    )
    namespace: Namespace = declare(
        "namespace of dbt's tables, such as redshift://cluster.region:5439",
        example="redshift://cluster.region:5439",
    )
    catalog: str = declare(
        "catalog.json of the same project, with the columns in the warehouse; may be missing",
        "",
        "target/catalog.json",
        is_path=True,
    )
    run_results: Texts = declare(
        "run_results.json of the last dbt build, run or test, with time and status of each model and test; "
        "several files if dbt run and dbt test are separate; may be missing",
        (),
        ["run/run_results.json", "test/run_results.json"],
        is_path=True,
    )
    target: str = declare(
        "dbt target of the manifest, such as prod, if several manifests of one project are merged: becomes "
        "part of the job names",
        "",
        "prod",
        form=Form("^[A-Za-z0-9_.-]+$", "letters, digits and _ . - only"),
    )
    sources: str = declare(
        "sources.json of the last dbt source freshness; may be missing",
        "",
        "target/sources.json",
        is_path=True,
    )
    project: str = declare(
        "dbt project of the manifest; that of another project is rejected", "", "shop", "any"
    )

    @property
    def files(self) -> tuple[str, ...]:
        """The manifest and the other artifacts."""
        return (self.manifest, *(file for file, _ in self.side_files))

    @property
    def side_files(self) -> tuple[tuple[str, What], ...]:
        """The artifacts that may be missing, with what they are."""
        run_results: list[tuple[str, What]] = [(file, "run results file") for file in self.run_results]
        files: list[tuple[str, What]] = [
            (self.catalog, "catalog"),
            *run_results,
            (self.sources, "sources file"),
        ]
        return tuple(file for file in files if file[0])


def namespaces(projects: Sequence[DbtProject]) -> list[NamespaceSetting]:
    """Return the namespaces of the projects."""
    settings = []
    for index, project in enumerate(projects):
        manifest = redact(project.manifest)
        entry = {"manifest": manifest}
        settings.append(
            NamespaceSetting(f"dbt[{index}].namespace", project.namespace, "dbt", entry, manifest=manifest)
        )
    return settings


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
KINDS = (
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

"""The dbt project that `lineage-merge review` compares: of the configuration and the command line. Pure."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from lineage_merge.model.errors import ConfigError

if TYPE_CHECKING:
    from lineage_merge.sources.dbt.settings import DbtProject

MANIFEST = "target/manifest.json"


def project_of(configured: Sequence["DbtProject"], head: str | None, namespace: str | None) -> "DbtProject":
    """Return the project after the change: of the configuration, unless the command line names it.

    Its namespace is "" if neither names it. Raises `ConfigError` if it is ambiguous.
    """
    from lineage_merge.config.section import namespace as parse_namespace
    from lineage_merge.sources.dbt.settings import DbtProject

    if namespace:
        namespace = parse_namespace("--namespace", namespace)
    same = [dbt_project for dbt_project in configured if head in (None, dbt_project.manifest)] or configured
    if len(same) > 1 and not head:
        places = ", ".join(each.manifest for each in same)
        raise ConfigError("--head", f"the configuration has several projects: {places}. Fix: set --head")
    if len(same) > 1:
        found = _common_settings(same, namespace)
    else:
        found = same[0] if same else DbtProject(MANIFEST, "")
    return replace(found, manifest=head or found.manifest, namespace=namespace or found.namespace)


def _common_settings(projects: Sequence["DbtProject"], namespace: str | None) -> "DbtProject":
    """Return the namespace and target that several projects share, for a manifest that is that of none."""
    from lineage_merge.sources.dbt.settings import DbtProject

    projects = [project for project in projects if project.namespace == namespace] or projects
    namespaces = sorted({project.namespace for project in projects})
    if not namespace and len(namespaces) > 1:
        problem = f"is missing: the configuration's projects have several: {', '.join(namespaces)}"
        raise ConfigError(
            "--namespace", f"{problem}. Fix: set --namespace, or --head to a configured manifest"
        )
    targets = {project.target for project in projects}
    if len(targets) > 1:
        places = ", ".join(project.manifest for project in projects)
        problem = "the configuration's projects have different targets"
        raise ConfigError("--head", f"{problem}. Fix: set --head to one of {places}")
    return DbtProject(MANIFEST, namespaces[0], target=targets.pop())

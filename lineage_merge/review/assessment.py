"""Consequences of a change of a dbt project: what breaks downstream, and newly violated policies."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from lineage_merge.questions.backends.parquet_folder import ParquetFolder
from lineage_merge.questions.effects import Change
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.review.consequences import PolicySettings, consequences, new_violations
from lineage_merge.review.dbt_changes import compare
from lineage_merge.review.dbt_targets import with_places_of_base
from lineage_merge.review.dbt_uncompiled import notes_on_manifests
from lineage_merge.review.dbt_versions import (
    DbtFile,
    DbtVersion,
    ReviewScope,
    affected_entries,
    changed_entries,
    relevant,
    version_of,
)
from lineage_merge.review.findings import Assessed, Finding, ReviewResult, in_order
from lineage_merge.review.graph_lookup import GraphIds
from lineage_merge.review.replaced_graph import downstream, everything, replaced


def review_dbt(
    before: DbtFile,
    after: DbtFile,
    scope: ReviewScope,
    graph: LineageGraph | ParquetFolder | None = None,
    settings: PolicySettings | None = None,
) -> ReviewResult:
    """Return the findings of a change of a project, with their consequences in a graph.

    Without a graph, the manifest before the change is the graph: it knows dbt's models and exposures only.
    Policies need a whole graph, not a `ParquetFolder`.
    """
    after, of_targets = with_places_of_base(before, after)
    only = relevant(before.manifest, after.manifest)
    is_alone = graph is None
    if is_alone and settings and settings.policies:
        only = {*before.manifest.nodes, *after.manifest.nodes}
    versions = version_of(before, scope, only), version_of(after, scope, only)
    findings, notes = compare(*versions)
    changed = changed_entries(before.manifest, after.manifest)
    notes = list(dict.fromkeys([*notes_on_manifests(before, after), *notes]))
    notes += (
        f"{problem.document}: {problem.message}"
        for file in (before, after)
        for problem in file.problems
        if problem.kind == "rejected"
    )
    incomparable = tuple(notes)
    notes += of_targets
    touched = affected_entries(changed, before.manifest, after.manifest)
    own = {dataset for version in versions for key, dataset in version.datasets.items() if key in touched}
    if graph is None:
        graph = versions[0].graph
    elif isinstance(graph, ParquetFolder):
        graph = graph.below(own, {each for version in versions for each in version.datasets.values()})
    assessed = _assess(findings, *versions, changed, own, graph, scope, settings)
    if is_alone:
        notes.append(
            "no graph: only the project's own models and exposures are known. Fix: set --folder or --config"
        )
    return ReviewResult(in_order(assessed), tuple(notes), incomparable)


def _assess(
    findings: Iterable[Finding],
    before: DbtVersion,
    after: DbtVersion,
    changed: set[str],
    own: set[str],
    graph: LineageGraph,
    scope: ReviewScope,
    settings: PolicySettings | None,
) -> Iterator[Assessed]:
    environment = scope.names.environment
    ids = GraphIds(graph, environment)
    has_policies = bool(settings and settings.policies)
    elements = everything(graph, environment) if has_policies else downstream(graph, map(ids.of, own))
    # What the change adapts reads the new version; everything else reads what it read before.
    rewritten = {each for each in changed if not _has_equal_code(each, before, after)}
    adapted = replaced(elements, before, after, rewritten, ids.of, with_new_columns=False)
    known = {each.id for each in elements[0]}
    removed: set[str] = set()
    for finding in findings:
        if finding.change in (Change.DROP, Change.RENAME) and finding.dataset:
            identifier = _element_id(finding, before, ids)
            if identifier:
                removed.add(identifier)
        identifier = _element_id(finding, before, ids)
        if finding.kind in ("source moved", "source renamed") and identifier and identifier not in known:
            finding = replace(finding, message=f"{finding.message}, which the graph does not have")
        yield consequences(finding, identifier, adapted)
    # Another entry may build a relation that one no longer builds.
    removed -= {ids.of(after.datasets[key]) for key in after.built if key in after.datasets}
    if settings and settings.policies:
        original = replaced(elements, before, before, changed, ids.of)
        after_change = replaced(elements, before, after, changed, ids.of, without=removed)
        yield from new_violations(original, after_change, settings, environment)


def _has_equal_code(unique_id: str, before: DbtVersion, after: DbtVersion) -> bool:
    """Return whether an entry that differs has the SQL and relation that it had before."""
    old, new = (version.manifest.nodes.get(unique_id) for version in (before, after))
    if old is None or new is None or not old.code.sql.strip():
        return False
    relations = before.datasets.get(unique_id), after.datasets.get(unique_id)
    return old.code.sql == new.code.sql and relations[0] == relations[1] and old.folded == new.folded


def _element_id(finding: Finding, before: DbtVersion, ids: GraphIds) -> str:
    if not finding.dataset:
        return ""
    if not finding.column:
        return ids.of(finding.dataset)
    unique_id = next((key for key, each in before.datasets.items() if each == finding.dataset), "")
    column = before.column_id(unique_id, finding.column)
    return ids.of(column) if column else ""

"""Review of a change of a dbt project: its findings, with their consequences in the merged graph."""

from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import replace

from lineage_merge.graph_format.elements import Edge, Vertex, title_of_id
from lineage_merge.graph_format.schema import SETS
from lineage_merge.model.counts import format_names
from lineage_merge.model.elements import dataset_of
from lineage_merge.naming.jobs import DBT, project_of, unique_id_of
from lineage_merge.questions.backends.in_memory import InMemory
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.questions.traversal.effects import Change
from lineage_merge.review.consequences import (
    GraphLookup,
    PolicySettings,
    consequences,
    downstream,
    everything,
    new_violations,
)
from lineage_merge.review.dbt_catalogs import find_known_columns
from lineage_merge.review.dbt_changes import NOT_COMPARED, compare
from lineage_merge.review.dbt_readers import MISSING_COLUMN
from lineage_merge.review.dbt_targets import with_places_of_base
from lineage_merge.review.dbt_versions import (
    DbtFile,
    DbtVersion,
    ReviewScope,
    find_changed_entries,
    version_of,
)
from lineage_merge.review.findings import Assessed, Finding, ReviewResult, sort_findings
from lineage_merge.review.graph_change import graph_change

_MAX_SHOWN = 3


def review_dbt(
    before: DbtFile,
    after: DbtFile,
    scope: ReviewScope,
    graph: LineageGraph | None = None,
    settings: PolicySettings | None = None,
) -> ReviewResult:
    """Return the findings of a change of a project, with their consequences in a graph.

    Without a graph, the manifest before the change is the graph: it knows dbt's models and exposures only.
    """
    settings = settings or PolicySettings()
    after, of_targets = with_places_of_base(before, after)
    entries = find_changed_entries(before.manifest, after.manifest)
    only = entries.relevant
    if graph is None and settings.policies:
        only = {*before.manifest.nodes, *after.manifest.nodes}
    known = find_known_columns(before, after)
    versions = version_of(before, scope, only, known[0]), version_of(after, scope, only, known[1])
    findings, unknown = compare(*versions)
    problems = [
        f"{problem.document}: {problem.message}"
        for file in (before, after)
        for problem in file.problems
        if problem.kind == "rejected"
    ]
    incomparable = (*dict.fromkeys([*_notes_on_manifests(before, after), *unknown]), *problems)
    notes = [*incomparable, *of_targets, *before.notes, *after.notes]
    own = {
        dataset
        for version in versions
        for key, dataset in version.datasets.items()
        if key in entries.affected
    }
    if graph is None:
        graph = versions[0].graph
        notes.append(
            "no graph: only the project's own models and exposures are known. Fix: set --folder or --config"
        )
    lookup = GraphLookup(graph, scope.names.environment)
    built = {versions[0].datasets[key] for key in versions[0].built if key in entries.affected}
    unmerged = {dataset for dataset in built if lookup.dataset(dataset) is None}
    if unmerged:
        notes.append(_note_on_graph(unmerged))
    assessed = _assess(findings, *versions, entries.changed, own, unmerged, lookup, settings)
    old, new = (everything(version.graph, None) for version in versions)
    change = graph_change(graph, old, new, lookup.id_of)
    return ReviewResult(sort_findings(assessed), tuple(notes), incomparable, change)


def _notes_on_manifests(before: DbtFile, after: DbtFile) -> Iterator[str]:
    """Yield a note if one or both manifests have no compiled SQL at all."""
    missing = []
    for name, file in (("base", before), ("head", after)):
        models = [relation for relation in file.built.values() if relation.kind != "seed"]
        if models and not any(model.is_compiled for model in models):
            missing.append(name)
    if missing:
        noun = f"manifest of the {missing[0]} has" if len(missing) == 1 else "manifests of base and head have"
        yield f"the {noun} no compiled SQL (dbt parse): {NOT_COMPARED}, macros neither. Fix: dbt compile"


def _assess(
    findings: Iterable[Finding],
    before: DbtVersion,
    after: DbtVersion,
    changed: Set[str],
    own: Set[str],
    unmerged: Set[str],
    lookup: GraphLookup,
    settings: PolicySettings,
) -> Iterator[Assessed]:
    graph, id_of, environment = lookup.graph, lookup.id_of, lookup.environment
    elements = everything(graph, environment) if settings.policies else downstream(graph, map(id_of, own))
    in_graph = {vertex.id for vertex in elements[0]}
    elements = _add_unmerged(elements, before, unmerged, id_of)
    # What the change adapts reads the new version; everything else reads what it read before.
    # Of code that is not read, it is unknown whether it is adapted.
    unread = {unique_id for unique_id, lineage in after.columns.items() if lineage.is_unread}
    rewritten = {unique_id for unique_id in changed - unread if not _has_equal_code(unique_id, before, after)}
    adapted = _replace(elements, before, after, rewritten, id_of, with_new_columns=False)
    removed: set[str] = set()
    broken: set[str] = set()
    for finding in sorted(findings, key=lambda finding: finding.kind == MISSING_COLUMN):
        identifier = _element_id(finding, before, id_of)
        if identifier and finding.change in (Change.DROP, Change.RENAME):
            removed.add(identifier)
        if finding.kind in ("source moved", "source renamed") and identifier and identifier not in in_graph:
            finding = replace(finding, message=f"{finding.message}, which the graph does not have")
        if finding.kind == MISSING_COLUMN and identifier in broken:
            continue  # named by the finding of the column
        assessed = consequences(finding, identifier, adapted)
        broken.update(assessed.broken_datasets)
        yield assessed
    # Another entry may build a relation that one no longer builds.
    removed -= {id_of(after.datasets[key]) for key in after.built if key in after.datasets}
    if settings.policies:
        original = _replace(elements, before, before, changed, id_of)
        after_change = _replace(elements, before, after, changed, id_of, without=removed)
        yield from new_violations(original, after_change, settings, environment)


def _note_on_graph(unmerged: Set[str]) -> str:
    names = format_names(sorted(map(title_of_id, unmerged)), _MAX_SHOWN)
    return (
        f"the graph does not have {names}: of their readers, only those in the project are known."
        " Fix: merge the project first, with the same environment and namespace"
    )


def _add_unmerged(
    elements: tuple[list[Vertex], list[Edge]],
    before: DbtVersion,
    unmerged: Set[str],
    id_of: Callable[[str], str],
) -> tuple[list[Vertex], list[Edge]]:
    """Return the elements of the graph, and what the project knows of datasets that it does not have."""
    if not unmerged:
        return elements
    vertices, edges = everything(before.graph, None)
    added = [
        replace(edge, from_id=id_of(edge.from_id), to_id=id_of(edge.to_id))
        for edge in edges
        if not unmerged.isdisjoint(map(dataset_of, (edge.from_id, edge.to_id)))
    ]
    ends = {end for edge in added for end in (edge.from_id, edge.to_id)} | set(unmerged)
    known = {vertex.id for vertex in elements[0]}
    more = [
        Vertex(identifier, vertex.label, vertex.properties)
        for vertex in vertices
        if (identifier := id_of(vertex.id)) not in known and identifier in ends
    ]
    return [*elements[0], *more], [*elements[1], *added]


def _has_equal_code(unique_id: str, before: DbtVersion, after: DbtVersion) -> bool:
    """Return whether an entry that differs has the SQL and relation that it had before."""
    old, new = (version.manifest.nodes.get(unique_id) for version in (before, after))
    if old is None or new is None or not old.code.sql.strip():
        return False
    is_same_relation = before.dataset(old) == after.dataset(new) and old.folded == new.folded
    return old.code.sql == new.code.sql and is_same_relation


def _element_id(finding: Finding, before: DbtVersion, id_of: Callable[[str], str]) -> str:
    identifier = finding.dataset
    if identifier and finding.column:
        identifier = before.column_id(identifier, finding.column)
    return id_of(identifier) if identifier else ""


# ---- the merged graph with one version of the project


def _replace(
    elements: tuple[list[Vertex], list[Edge]],
    before: DbtVersion,
    version: DbtVersion,
    unique_ids: Set[str],
    id_of: Callable[[str], str],
    *,
    without: Set[str] = frozenset(),
    with_new_columns: bool = True,
) -> InMemory:
    """Return a graph in which `version` determines what the entries `unique_ids` read and write.

    `before` is what the graph knows of the project: of its properties, only changed ones are replaced.
    `without`: ids of removed datasets and columns. `with_new_columns` false: datasets of the graph get no
    columns, so that a job that copies all of them is still recognised.
    """
    jobs, project = set(unique_ids), before.manifest.project
    old_vertices, old_edges = everything(before.graph, None)
    known = {id_of(vertex.id): vertex for vertex in old_vertices}
    declared = {_ends(edge, id_of) for edge in old_edges if _is_declared(edge)}
    vertices = {vertex.id: vertex for vertex in elements[0] if not _is_without(vertex.id, without)}
    edges = {
        edge.id: edge
        for edge in elements[1]
        if not _is_of(edge, jobs, project) and (edge.label, edge.from_id, edge.to_id) not in declared
    }
    owners = {edge.from_id for edge in elements[1] if edge.label == "has_column"}
    new_vertices, new_edges = everything(version.graph, None)
    for vertex in new_vertices:
        identifier = id_of(vertex.id)
        if not _is_without(identifier, without):
            vertices[identifier] = _update(
                vertices.get(identifier), known.get(identifier), vertex, identifier
            )
    for edge in new_edges:
        _, source, target = _ends(edge, id_of)
        is_column = edge.label == "has_column" and (with_new_columns or source not in owners)
        if is_column or _is_of(edge, jobs, project) or _is_declared(edge):
            edges.setdefault(edge.id, replace(edge, from_id=source, to_id=target))
    return InMemory(vertices.values(), edges.values())


def _ends(edge: Edge, id_of: Callable[[str], str]) -> tuple[str, str, str]:
    return edge.label, id_of(edge.from_id), id_of(edge.to_id)


def _is_declared(edge: Edge) -> bool:
    """Return whether the manifest declares an edge apart from jobs: of exposures and tests."""
    return edge.label in ("checks", "references") or (edge.label != "has_column" and not edge.job)


def _is_of(edge: Edge, unique_ids: Set[str], project: str) -> bool:
    """Return whether a job of these entries has the edge. Another project may install the same package."""
    if edge.properties.get("job_type") != DBT or unique_id_of(edge.job) not in unique_ids:
        return False
    return not project or project_of(edge.job) == project


def _is_without(identifier: str, without: Set[str]) -> bool:
    return identifier in without or dataset_of(identifier) in without


def _update(stored: Vertex | None, was: Vertex | None, now: Vertex, identifier: str) -> Vertex:
    """Return a vertex of the graph with the properties that the change changes."""
    if stored is None:
        return Vertex(identifier, now.label, now.properties)
    properties = dict(stored.properties)
    old = was.properties if was else {}
    for key in {*old, *now.properties}:
        before, after = old.get(key), now.properties.get(key)
        if before == after or key in ("dag_name", "environment"):
            continue
        if key in SETS:
            others = set(properties.get(key, ())) - set(before or ())
            after = tuple(sorted({*others, *(after or ())}))
        if after:
            properties[key] = after
        else:
            properties.pop(key, None)
    label = now.label if was is None or was.label != now.label else stored.label
    return Vertex(identifier, label, properties)

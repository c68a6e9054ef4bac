"""Versions of dbt projects: their manifests, columns, and graphs in memory.

Of a large project, only the changed entries, what they read and what reads them are translated.
"""

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, replace
from typing import NamedTuple

from lineage_merge.column_lineage.sql.tables import fold
from lineage_merge.graph_format.elements import edge_of_row, vertex_of_row
from lineage_merge.merge import join
from lineage_merge.merge.dataset_resolver import DatasetResolver
from lineage_merge.model.elements import Element, Problem
from lineage_merge.questions.backends.in_memory import InMemory
from lineage_merge.sources.dbt.assertion_elements import assertion_elements
from lineage_merge.sources.dbt.catalog import Catalog
from lineage_merge.sources.dbt.column_elements import column_elements
from lineage_merge.sources.dbt.columns import ColumnLineage, column_lineage
from lineage_merge.sources.dbt.jobs import Jobs
from lineage_merge.sources.dbt.nodes import Manifest
from lineage_merge.sources.dbt.semantic_elements import semantic_elements
from lineage_merge.sources.dbt.source_freshness import FreshnessResults
from lineage_merge.sources.dbt.translator import dataset_references, translate


@dataclass(frozen=True, slots=True)
class ReviewScope:
    """What ids of the graph depend on: naming rules, DAG, the warehouse's namespace, and dbt's target."""

    names: DatasetResolver
    dag_name: str
    namespace: str
    target: str = ""

    def jobs(self, manifest: Manifest) -> Jobs:
        """Return the names of a manifest's jobs."""
        return Jobs(manifest.project, self.target)


@dataclass(frozen=True, slots=True)
class DbtVersion:
    """A project at one time. `datasets`: ids in the graph by unique id; `columns`: by unique id."""

    manifest: Manifest
    columns: Mapping[str, ColumnLineage]
    datasets: Mapping[str, str]
    graph: InMemory

    @property
    def built(self) -> list[str]:
        """The unique ids of the entries that build a relation."""
        return [key for key, node in self.manifest.nodes.items() if node.is_built and not node.folded]

    def column_id(self, unique_id: str, column: str) -> str:
        """Return the id of a column in the graph, "" if its dataset has none."""
        dataset = self.datasets.get(unique_id, "")
        owned = self.graph.vertices([e.to_id for e in self.graph.edges_from([dataset], ["has_column"])])
        return next((vertex.id for vertex in owned if fold(vertex.name) == fold(column)), "")


class BuiltRelation(NamedTuple):
    """A model, snapshot or seed: its kind, where it is built, and whether it has compiled code."""

    kind: str
    database: str
    schema: str
    is_compiled: bool


@dataclass(frozen=True, slots=True)
class DbtFile:
    """A manifest that was read, and its catalog.

    `built`: what the whole project builds, None if `manifest` has all entries.
    """

    manifest: Manifest
    catalog: Catalog
    problems: tuple[Problem, ...] = ()
    built: Mapping[str, BuiltRelation] | None = None


def built_of(file: DbtFile) -> Mapping[str, BuiltRelation]:
    """Return what the whole project builds, by unique id."""
    if file.built is not None:
        return file.built
    return {
        unique_id: BuiltRelation(node.kind, node.database, node.schema, bool(node.code.sql.strip()))
        for unique_id, node in file.manifest.nodes.items()
        if node.is_built and not node.folded
    }


def changed_entries(before: Manifest, after: Manifest) -> set[str]:
    """Return the unique ids of entries that only one manifest has, or that differ."""
    ids = {*before.nodes, *after.nodes}
    found = {identifier for identifier in ids if before.nodes.get(identifier) != after.nodes.get(identifier)}
    tests = [{each.unique_id: each for each in manifest.tests} for manifest in (before, after)]
    for test in {*tests[0], *tests[1]}:
        old, new = tests[0].get(test), tests[1].get(test)
        if old != new:
            found |= {check for declared in (old, new) if declared for check in declared.checks}
    return found


def affected_entries(changed: Set[str], before: Manifest, after: Manifest) -> set[str]:
    """Return the unique ids of changed entries and their descendants."""
    return closure(changed, _children(before, after))


def relevant(before: Manifest, after: Manifest) -> set[str]:
    """Return the unique ids to translate: changed entries, their descendants, and what those read."""
    parents: dict[str, set[str]] = {}
    for parent, children in _children(before, after).items():
        for child in children:
            parents.setdefault(child, set()).add(parent)
    return closure(affected_entries(changed_entries(before, after), before, after), parents)


def _children(*manifests: Manifest) -> dict[str, set[str]]:
    children: dict[str, set[str]] = {}
    for manifest in manifests:
        for unique_id, node in manifest.nodes.items():
            for parent in node.parents:
                children.setdefault(parent, set()).add(unique_id)
    return children


def closure(start: Iterable[str], following: Mapping[str, Set[str]]) -> set[str]:
    """Return everything that is reached from `start`, and `start` itself."""
    found = set(start)
    waiting = list(found)
    while waiting:
        for each in following.get(waiting.pop(), ()):
            if each not in found:
                found.add(each)
                waiting.append(each)
    return found


def version_of(file: DbtFile, scope: ReviewScope, only: Set[str]) -> DbtVersion:
    """Translate the entries `only` of a manifest."""
    manifest = replace(
        file.manifest,
        nodes={unique_id: node for unique_id, node in file.manifest.nodes.items() if unique_id in only},
        tests=tuple(each for each in file.manifest.tests if only >= set(each.checks)),
    )
    lineage = column_lineage(manifest, file.catalog)
    jobs = scope.jobs(manifest)
    references = dataset_references(manifest, scope.namespace)
    metadata_only = {unique_id: found.metadata_only for unique_id, found in lineage.items()}
    elements: list[Element] = [
        *translate(manifest, scope.namespace, "", jobs, metadata_only),
        *semantic_elements(manifest, references, jobs),
        *assertion_elements(manifest, references, [], FreshnessResults(), jobs, ""),
        *column_elements(manifest, references, lineage, scope.namespace, "", jobs),
    ]
    merged = join.merge_locally(scope.names.records(elements), scope.names.environment, scope.dag_name)
    graph = InMemory(map(vertex_of_row, merged.nodes), map(edge_of_row, merged.edges))
    canonical = {alias: ids[0] for alias, ids in merged.aliases.items() if len(ids) == 1}
    datasets: dict[str, str] = {}
    for unique_id, reference in references.items():
        identifier = scope.names.resolve_id(reference)
        if identifier:
            datasets[unique_id] = canonical.get(identifier, identifier)
    return DbtVersion(manifest, lineage, datasets, graph)

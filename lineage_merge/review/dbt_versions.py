"""Versions of dbt projects: their manifests, columns, and graphs in memory.

Of a large project, only the changed entries, what they read and what reads them are translated.
"""

from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from typing import NamedTuple

from lineage_merge.column_lineage.sql.tables import fold
from lineage_merge.graph_format.elements import edge_of_row, vertex_of_row
from lineage_merge.infra.batches import gather
from lineage_merge.merge import join
from lineage_merge.merge.dataset_resolver import DatasetResolver
from lineage_merge.model.elements import Element, Problem
from lineage_merge.model.graph_walks import reachable
from lineage_merge.questions.backends.in_memory import InMemory
from lineage_merge.sources.dbt.assertion_elements import assertion_elements
from lineage_merge.sources.dbt.catalog import Catalog, CatalogFile
from lineage_merge.sources.dbt.column_elements import column_elements
from lineage_merge.sources.dbt.columns import ColumnLineage, column_lineage
from lineage_merge.sources.dbt.jobs import Jobs
from lineage_merge.sources.dbt.nested_columns import with_field_paths
from lineage_merge.sources.dbt.nodes import Manifest, Node
from lineage_merge.sources.dbt.semantic_elements import semantic_elements
from lineage_merge.sources.dbt.source_freshness import FreshnessResults
from lineage_merge.sources.dbt.translator import dataset_references, translate

_NO_COLUMNS = ColumnLineage()


@dataclass(frozen=True, slots=True)
class ReviewScope:
    """What ids of the graph depend on: naming rules, DAG, the warehouse's namespace, and dbt's target."""

    names: DatasetResolver
    dag_name: str
    namespace: str
    target: str = ""


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

    def dataset(self, node: Node) -> str:
        """Return the id of an entry's dataset in the graph, "" if it has none."""
        return self.datasets.get(node.unique_id, "")

    def lineage(self, node: Node) -> ColumnLineage:
        """Return the columns of an entry; none if they are unknown."""
        return self.columns.get(node.unique_id, _NO_COLUMNS)

    def column_id(self, dataset: str, column: str) -> str:
        """Return the id of a dataset's column in the graph, "" if there is none."""
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
    """A manifest that was read, and the catalog that was given with it.

    `project`: what the whole project builds, None if `manifest` has all entries. `notes`: remarks on files.
    """

    manifest: Manifest
    catalog: CatalogFile | None = None
    problems: tuple[Problem, ...] = ()
    project: Mapping[str, BuiltRelation] | None = None
    notes: tuple[str, ...] = ()

    @property
    def built(self) -> Mapping[str, BuiltRelation]:
        """What the whole project builds, by unique id."""
        if self.project is not None:
            return self.project
        return {
            unique_id: BuiltRelation(node.kind, node.database, node.schema, bool(node.code.sql.strip()))
            for unique_id, node in self.manifest.nodes.items()
            if node.is_built and not node.folded
        }


@dataclass(frozen=True, slots=True)
class ChangedEntries:
    """Unique ids of entries.

    `changed`: those that only one manifest has, or that differ; `affected`: these and their descendants;
    `relevant`: to translate, these and what they read.
    """

    changed: Set[str]
    affected: Set[str]
    relevant: Set[str]


def find_changed_entries(before: Manifest, after: Manifest) -> ChangedEntries:
    """Return the entries that a change concerns."""
    changed = {
        unique_id
        for unique_id in {*before.nodes, *after.nodes}
        if before.nodes.get(unique_id) != after.nodes.get(unique_id)
    }
    old, new = ({test.unique_id: test for test in manifest.tests} for manifest in (before, after))
    for unique_id in {*old, *new}:
        tests = old.get(unique_id), new.get(unique_id)
        if tests[0] != tests[1]:
            changed |= {check for test in tests if test for check in test.checks}
    children = readers_of(before, after)
    parents = gather((child, parent) for parent, readers in children.items() for child in readers)
    affected = reachable(changed, children)
    return ChangedEntries(changed, affected, reachable(affected, parents))


def readers_of(*manifests: Manifest) -> dict[str, set[str]]:
    """Return the entries that read an entry, by unique id."""
    readers: dict[str, set[str]] = {}
    for manifest in manifests:
        for unique_id, node in manifest.nodes.items():
            for parent in node.parents:
                readers.setdefault(parent, set()).add(unique_id)
    return readers


class KnownColumns(NamedTuple):
    """What catalogs say of one version; `outdated`: entries of which its SQL takes precedence."""

    tables: Catalog
    outdated: Set[str]


_WITHOUT_CATALOG = KnownColumns({}, frozenset())


def version_of(
    file: DbtFile, scope: ReviewScope, only: Set[str], known: KnownColumns = _WITHOUT_CATALOG
) -> DbtVersion:
    """Translate the entries `only` of a manifest."""
    manifest = replace(
        file.manifest,
        nodes={unique_id: node for unique_id, node in file.manifest.nodes.items() if unique_id in only},
        tests=tuple(test for test in file.manifest.tests if only >= set(test.checks)),
    )
    manifest, tables = with_field_paths(manifest, known.tables)
    lineage = column_lineage(manifest, tables, known.outdated)
    jobs = Jobs(manifest.project, scope.target)
    references = dataset_references(manifest, scope.namespace)
    metadata_only = {unique_id: columns.metadata_only for unique_id, columns in lineage.items()}
    elements: list[Element] = [
        *translate(manifest, scope.namespace, "", jobs, metadata_only),
        *semantic_elements(manifest, references, jobs),
        *assertion_elements(manifest, references, [], FreshnessResults(), jobs, ""),
        *column_elements(manifest, references, lineage, scope.namespace, "", jobs),
    ]
    merged = join.merge_locally(scope.names.records(elements), scope.names.environment, scope.dag_name)
    graph = InMemory(map(vertex_of_row, merged.nodes), map(edge_of_row, merged.edges))
    canonical = {alias: ids[0] for alias, ids in merged.aliases.items() if len(ids) == 1}
    datasets = {
        unique_id: canonical.get(identifier, identifier)
        for unique_id, reference in references.items()
        if (identifier := scope.names.resolve_id(reference))
    }
    return DbtVersion(manifest, lineage, datasets, graph)

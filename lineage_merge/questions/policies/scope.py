"""The part of a graph that policies are checked on, read once for all of them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from lineage_merge.config.propagation import Propagation
from lineage_merge.graph_format.elements import COLUMN, Edge, Vertex
from lineage_merge.graph_format.schema import DATASET_LABELS
from lineage_merge.infra.batches import gather
from lineage_merge.model.elements import dataset_of
from lineage_merge.model.graph_walks import reachable
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.questions.layers import Layer
from lineage_merge.questions.traversal.column_walk import with_derived
from lineage_merge.questions.traversal.dataset_globs import DatasetGlobs, names_of
from lineage_merge.questions.traversal.tag_propagation import PropagatedTags, propagate_ids

FRESHNESS = "freshness"


@dataclass(frozen=True)
class PolicyScope:
    """Datasets and feeds of an environment at the time `now` (ms since 1970).

    Only the datasets of `dag` are checked, along all lineage. `policy_tags`: those of all policies.
    """

    graph: LineageGraph
    layers: Sequence[Layer]
    environment: str | None
    dag: str | None
    now: int
    policy_tags: Collection[str]
    propagation: Mapping[str, Propagation]
    _read: dict[str, Vertex] = field(default_factory=dict)

    @cached_property
    def datasets(self) -> Mapping[str, Vertex]:
        """All datasets, by id."""
        elements = self.graph.everything(self.environment, None, DATASET_LABELS)
        return {element.id: element for element in elements if isinstance(element, Vertex)}

    @cached_property
    def checked(self) -> tuple[Vertex, ...]:
        """The datasets that may violate a policy."""
        return tuple(
            dataset for dataset in self.datasets.values() if self.dag is None or self.dag in dataset.dags
        )

    @cached_property
    def names(self) -> Mapping[str, frozenset[str]]:
        """The names of each dataset that globs are compared with."""
        return {id_: frozenset(names_of(dataset)) for id_, dataset in self.datasets.items()}

    @cached_property
    def feeds(self) -> Mapping[str, tuple[str, ...]]:
        """The targets of each dataset, sorted."""
        targets_of = gather(
            (source, target) for source, target in sorted(self.graph.pairs(["feeds"], self.environment))
        )
        return {source: tuple(targets) for source, targets in targets_of.items()}

    @cached_property
    def fed_by(self) -> Mapping[str, tuple[str, ...]]:
        """The sources of each dataset, sorted."""
        sources_of = gather((target, source) for source, targets in self.feeds.items() for target in targets)
        return {target: tuple(sorted(sources)) for target, sources in sources_of.items()}

    @cached_property
    def layer_of(self) -> Mapping[str, str]:
        """The layer of each dataset that has one: the first that matches."""
        return {
            dataset.id: layer.name
            for dataset in self.datasets.values()
            if (layer := next((layer for layer in self.layers if layer.holds(dataset)), None))
        }

    @cached_property
    def tested(self) -> tuple[set[str], set[str]]:
        """The datasets with a test, of it or of a column, and those with a check of freshness."""
        kinds = {
            assertion.id: assertion.properties.get("assertion_type")
            for assertion in self.graph.everything(self.environment, None, ["assertion"])
        }
        tests: set[str] = set()
        freshness: set[str] = set()
        for assertion, target in self.graph.pairs(["checks"], self.environment):
            dataset = target if target in self.datasets else dataset_of(target)
            (freshness if kinds.get(assertion) == FRESHNESS else tests).add(dataset)
        return tests, freshness

    @cached_property
    def tags(self) -> PropagatedTags:
        """What carries the tags of all policies; `vertices` reads its columns."""
        return propagate_ids(
            self.graph, self.policy_tags, self.propagation, self.environment, datasets=self.datasets
        )

    @cached_property
    def tag_names(self) -> frozenset[str]:
        tagged = self.graph.find_tagged((*DATASET_LABELS, COLUMN), self.environment)
        return frozenset(tag for vertex in tagged for tag in vertex.properties["tags"])

    def vertices(self, ids: Iterable[str]) -> Mapping[str, Vertex]:
        """Return datasets and columns by id; those not known yet are read in one batch."""
        wanted = set(ids)
        self._read.update({id_: self.datasets[id_] for id_ in wanted & self.datasets.keys()})
        missing = sorted(wanted - self._read.keys())
        read = with_derived(self.graph, missing) if missing else ()
        self._read.update({vertex.id: vertex for vertex in read})
        return {identifier: self._read[identifier] for identifier in wanted if identifier in self._read}

    def select(self, globs: Iterable[str], exceptions: Iterable[str]) -> tuple[list[Vertex], list[str]]:
        """Return the checked datasets that match a glob and no exception, and notes on unmatched globs."""
        wanted, accepted = DatasetGlobs(globs), DatasetGlobs(exceptions)
        used: set[str] = set()
        selected = []
        for dataset in self.checked:
            if matching := wanted.matching(self.names[dataset.id]):
                but = accepted.matching(self.names[dataset.id])
                used.update(matching, but)
                if not but:
                    selected.append(dataset)
        return selected, self.report_unmatched((*wanted.globs, *accepted.globs), accepted.globs, used)

    def report_unmatched(
        self, globs: Iterable[str], exceptions: Collection[str] = (), used: Collection[str] = ()
    ) -> list[str]:
        """Return a note per glob that matches nothing, which are those not in `used`."""
        where = f" of DAG {self.dag}" if self.dag else ""
        return [
            f"except: {glob} matches no checked dataset{where}"
            if glob in exceptions
            else f"no dataset{where} matches {glob}"
            for glob in dict.fromkeys(globs)
            if glob not in used
        ]

    def downstream(self, starts: Iterable[str]) -> set[str]:
        """Return the datasets that these feed, directly or through others."""
        return reachable((target for start in starts for target in self.feeds.get(start, ())), self.feeds)

    def edges(self, pairs: Collection[tuple[str, str]]) -> dict[tuple[str, str], Edge]:
        """Return one edge per pair of datasets, in one batch."""
        sources = sorted({source for source, _ in pairs})
        edges = self.graph.edges_from(sources, ["feeds"]) if sources else []
        by_pair: dict[tuple[str, str], Edge] = {}
        for edge in sorted(edges, key=lambda edge: edge.id):
            if (edge.from_id, edge.to_id) in pairs:
                by_pair.setdefault((edge.from_id, edge.to_id), edge)
        return by_pair

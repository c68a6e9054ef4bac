"""Reads what the first view of the page counts: violated policies, carried tags, usage, near misses."""

from collections.abc import Iterable
from dataclasses import dataclass

from lineage_merge.config import Config
from lineage_merge.config.policies import TagRule
from lineage_merge.config.propagation import ANY_TAG
from lineage_merge.exporters.page import Topic
from lineage_merge.exporters.page.topics import topics
from lineage_merge.graph_format.elements import COLUMN, Subgraph, Vertex
from lineage_merge.merge.report import Dismissed, NearMiss
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.questions.layers import Layer
from lineage_merge.questions.policies import PolicyCheck, check_policies
from lineage_merge.questions.traversal.near_misses import read_near_misses_of
from lineage_merge.questions.traversal.tag_propagation import PropagatedTags, propagate_ids
from lineage_merge.questions.traversal.usage import Usage, usages

# Followed along lineage also where no policy or setting names them.
PERSONAL = frozenset({"pii", "PII", "personal", "gdpr", "GDPR"})


@dataclass(frozen=True, slots=True)
class TopicSources:
    """What topics are made of beside usage, which is read for some datasets at a time."""

    graph: LineageGraph
    near_misses: list[NearMiss | Dismissed]
    check: PolicyCheck | None
    carried: PropagatedTags

    def describe(self, vertices: Iterable[Vertex]) -> tuple[dict[str, Usage], list[Topic]]:
        """Return the usage of datasets and columns, by id, and the topics of these datasets."""
        read = [vertex for vertex in vertices if vertex.is_dataset or vertex.label == COLUMN]
        usage = usages(self.graph, read)
        ids = {vertex.id for vertex in read if vertex.is_dataset}
        return usage, topics(ids, self.check, self.carried, usage, self.near_misses)


def read_topic_sources(
    graph: LineageGraph,
    environments: Iterable[str],
    config: Config,
    environment: str | None,
    dag: str | None,
    now: int,
) -> TopicSources:
    """Read policies and tags of a scope, and the near misses of its environments."""
    misses = read_near_misses_of(graph, config, environments)
    check = config.policies and check_policies(
        graph,
        config.policies,
        layers=[Layer(name, globs) for name, globs in config.query.layers.items()],
        propagation=config.propagation,
        environment=environment,
        dag=dag,
        now=now,
    )
    named = {
        tag for policy in config.policies if isinstance(policy.rule, TagRule) for tag in policy.rule.tags
    }
    tags = (named | config.propagation.keys() | PERSONAL) - {ANY_TAG}
    carried = propagate_ids(graph, tags, config.propagation, environment, dag)
    return TopicSources(graph, misses, check or None, carried)


def read_topics(
    graph: LineageGraph,
    shown: Subgraph,
    config: Config,
    environment: str | None,
    dag: str | None,
    now: int,
) -> tuple[list[Topic], dict[str, Usage], list[NearMiss | Dismissed]]:
    """Return the topics of the datasets on the page, the usage by id, and the near misses."""
    environments = {dataset.environment for dataset in shown.datasets}
    sources = read_topic_sources(graph, environments, config, environment, dag, now)
    usage, found = sources.describe(shown.vertices.values())
    return found, usage, sources.near_misses

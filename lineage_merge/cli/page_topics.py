"""Reads what the first view of the page counts: violated policies, carried tags, usage, near misses."""

from lineage_merge.config import Config
from lineage_merge.config.policies import TagRule
from lineage_merge.config.propagation import ANY_TAG
from lineage_merge.exporters.page import Topic
from lineage_merge.exporters.page.topics import topics
from lineage_merge.graph_format.elements import COLUMN, Subgraph
from lineage_merge.merge.report import Dismissed, NearMiss
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.questions.layers import Layer
from lineage_merge.questions.policies import check_policies
from lineage_merge.questions.traversal.near_misses import read_near_misses_of
from lineage_merge.questions.traversal.tag_propagation import propagate_ids
from lineage_merge.questions.traversal.usage import Usage, usages

# Followed along lineage also where no policy or setting names them.
PERSONAL = frozenset({"pii", "PII", "personal", "gdpr", "GDPR"})


def read_topics(
    graph: LineageGraph,
    shown: Subgraph,
    config: Config,
    environment: str | None,
    dag: str | None,
    now: int,
) -> tuple[list[Topic], dict[str, Usage], list[NearMiss | Dismissed]]:
    """Return the topics of the datasets on the page, the usage by id, and the near misses."""
    read = (vertex for vertex in shown.vertices.values() if vertex.is_dataset or vertex.label == COLUMN)
    usage = usages(graph, read)
    misses = read_near_misses_of(graph, config, shown.datasets)
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
    ids = {dataset.id for dataset in shown.datasets}
    return topics(ids, check or None, carried, usage, misses), usage, misses

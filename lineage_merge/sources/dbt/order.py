"""Build order of dbt nodes, and the datasets behind a node. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from lineage_merge.infra.batches import gather
from lineage_merge.model.graph_walks import parts_first, reachable
from lineage_merge.sources.dbt.nodes import Node


def parents_first(
    nodes: Mapping[str, Node], start: Iterable[str], follow: Callable[[Node], bool] = lambda _: True
) -> list[str]:
    """Yield `start` and its dependencies, as far as `follow` goes, dependencies first.

    The order is stable; cycles are broken.
    """

    def list_followed(unique_id: str) -> list[str]:
        parents = nodes[unique_id].parents
        return sorted(parent for parent in parents if parent in nodes and follow(nodes[parent]))

    return list(parts_first(sorted(start), list_followed))


def find_behind(nodes: Mapping[str, Node], target: Node) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Return each dataset that `target` reads, with the collapsed nodes between them.

    Nodes are named in the direction of the data. Several paths between the same two datasets are combined:
    enumerating them would be exponential for ephemeral models that fan out and in repeatedly.
    """
    known = [parent for parent in target.parents if parent in nodes]
    for parent in known:
        if not nodes[parent].folded:
            yield parent, ()
    folded = [parent for parent in known if nodes[parent].folded]
    order = parents_first(nodes, folded, lambda node: node.folded)
    readers = gather(
        (parent, unique_id) for unique_id in order for parent in nodes[unique_id].parents if parent in nodes
    )
    for source in readers:
        if not nodes[source].folded:
            passed = reachable([source], readers)
            yield source, tuple(dict.fromkeys(nodes[step].name for step in order if step in passed))

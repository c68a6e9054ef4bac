"""All traversals conform to Neptune's grammar: no lambdas, scripts or variables."""

from collections.abc import Callable
from typing import Any

import pytest
from gremlin_python.process.graph_traversal import GraphTraversalSource

from lineage_merge.graph_format.elements import VERTEX_LABELS
from lineage_merge.infra.traversal_source import source, vertices_at
from lineage_merge.load.gremlin.connection import Endpoint, open_client
from lineage_merge.questions.backends import gremlin
from tests.gremlin_text import passes_the_grammar
from tests.lineage_made import at

pytestmark = pytest.mark.jvm

Ask = Callable[[GraphTraversalSource], Any]
IDS = [at("a"), "dev|wh|it's"]
FEEDS = ["feeds"]


@pytest.mark.parametrize(
    ("ask", "found"),
    [
        (gremlin.environments, 2),
        (lambda g: vertices_at(g, IDS), 1),
        (lambda g: gremlin.find_named(g, "a", VERTEX_LABELS, "dev", "daily"), 1),
        (lambda g: gremlin.search_names(g, "it's", VERTEX_LABELS, None, None), 0),
        (lambda g: gremlin.search_names(g, "", VERTEX_LABELS, "prod", None), 8),
        (lambda g: gremlin.edges_at(g, IDS, FEEDS, "down", None), 2),
        (lambda g: gremlin.edges_at(g, IDS, FEEDS, "up", "daily"), 1),
        (lambda g: gremlin.pairs_from(g, IDS, FEEDS, None), 2),
        (lambda g: gremlin.reach(g, IDS, FEEDS, "down", None, None), 8),
        (lambda g: gremlin.reach(g, IDS, FEEDS, "down", 2, None), 3),
        (lambda g: gremlin.reach(g, IDS, FEEDS, "down", None, "daily"), 5),
        (lambda g: gremlin.reach(g, IDS, FEEDS, "up", 3, "nightly"), 0),
        (lambda g: gremlin.edges_below(g, IDS, FEEDS, None), 10),
        (lambda g: gremlin.edges_below(g, IDS, FEEDS, "daily"), 6),
        (lambda g: gremlin.find_tagged(g, VERTEX_LABELS, "dev", None, ["pii", "it's"]), 0),
        (lambda g: gremlin.find_tagged(g, VERTEX_LABELS, None, "daily", None), 0),
        # To c, whose columns another job feeds, and to the exposure.
        (lambda g: gremlin.feeds_without_columns(g, [at("a"), at("e"), at("in")], "daily"), 2),
        (lambda g: gremlin.select_without_consumer(g, "dev", "nightly"), 1),
        (lambda g: gremlin.select_without_consumer(g, None, None), 3),
        (lambda g: gremlin.select_without_producer(g, "dev", "daily"), 1),
        (lambda g: gremlin.select_vertices(g, ["column"], "prod", "daily").id_(), 3),
    ],
)
def test_traversals_conform_to_neptunes_grammar(ask: Ask, found: int, pipeline_url: str) -> None:
    with open_client(Endpoint(pipeline_url), 1) as client:
        assert len(passes_the_grammar(client, ask(source()))) == found

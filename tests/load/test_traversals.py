"""Traversals for gremlinpython 3.7 and 3.8, and servers of both."""

import re
from pathlib import Path

import pytest
from gremlin_python.process.graph_traversal import GraphTraversalSource, __
from gremlin_python.process.traversal import T

import lineage_merge
from lineage_merge.infra.traversal_source import source

# What one of the two versions lacks, warns of, or sends to servers as a step that the other does not know.
_OF_ONE_VERSION = re.compile(
    r"\.(?:with_graph|with_remote|withRemote|iterate|none|discard|store|has_key_?)\("
)
# Printed for a notebook, whose gremlinpython is 3.7.
_PRINTED = "on_progress("


def test_traversals_use_only_the_common_api_of_gremlinpython_versions() -> None:
    package = Path(lineage_merge.__file__).parent
    found = {
        f"{path.relative_to(package)}: {line.strip()}"
        for path in package.rglob("*.py")
        if "gremlin_python" in (text := path.read_text())
        for line in text.splitlines()
        if _OF_ONE_VERSION.search(line) and _PRINTED not in line
    }
    assert found == set()


def test_a_source_without_a_connection_builds_traversals() -> None:
    first, second = source(), source()
    written = first.V("a").where(__.out("feeds")).values("name").bytecode
    assert [step[0] for step in written.step_instructions] == ["V", "where", "values"]
    assert second.V().bytecode.step_instructions == [["V"]]
    assert not first.traversal_strategies.traversal_strategies


def test_sources_of_two_connections_do_not_share_them() -> None:
    connections = [object(), object()]
    sources = [source(each) for each in connections]
    strategies = [each.traversal_strategies.traversal_strategies for each in sources]
    assert [[each.remote_connection for each in found] for found in strategies] == [
        [each] for each in connections
    ]


@pytest.mark.jvm
def test_a_source_asks_the_server_with_options(gremlin: GraphTraversalSource) -> None:
    gremlin.add_v("table").property(T.id, "a").to_list()
    assert gremlin.with_("evaluationTimeout", 5_000).V().id_().to_list() == ["a"]

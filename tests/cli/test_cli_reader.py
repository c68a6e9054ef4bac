"""Endpoints that commands use: reader or main."""

import json

import pytest
from gremlin_python.process.graph_traversal import GraphTraversalSource

from lineage_merge.load.gremlin import running_load
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.result import LoadResult
from tests.command_line import in_process

pytestmark = pytest.mark.jvm

UNREACHABLE = "ws://127.0.0.1:1/gremlin"
WHOSE = ("--dag", "daily", "--environment", "dev")


def test_a_report_is_read_from_the_reader(gremlin: GraphTraversalSource, gremlin_url: str) -> None:
    begun = running_load.begin(Endpoint(gremlin_url), "dev", "daily", {})
    running_load.end(begun, LoadResult(3, 0, 0, 0.0), None, None)
    reader = {"LINEAGE_MERGE_GREMLIN_READER_ENDPOINT": gremlin_url}
    outcome = in_process("report", *WHOSE, "--gremlin-endpoint", UNREACHABLE, "--json", **reader)
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)["elements_written"] == 3


def test_writes_use_the_main_endpoint(gremlin: GraphTraversalSource, gremlin_url: str) -> None:
    reader = {"LINEAGE_MERGE_GREMLIN_READER_ENDPOINT": gremlin_url}
    outcome = in_process("remove", *WHOSE, "--gremlin-endpoint", UNREACHABLE, **reader)
    assert (outcome.code, outcome.err) == (5, f"error: {UNREACHABLE}: no connection: Connection refused\n")

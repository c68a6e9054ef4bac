"""The review of a pull request of a dbt project, and its page."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from lineage_merge.exporters.page import Options, render_review
from lineage_merge.graph_format.elements import Edge, Vertex
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.questions.backends.in_memory import InMemory
from lineage_merge.questions.traversal.staleness import Expectations
from lineage_merge.review.assessment import review_dbt
from lineage_merge.review.consequences import PolicySettings, everything
from lineage_merge.review.findings import ReviewResult
from tests.review.dbt_pull_requests.versions import (
    MANIFESTS,
    SETTINGS,
    document,
    file_of,
    pull_request,
    scope,
)

POLICY = {"name": "no-pii", "tag": "pii", "must_not_reach": ["*.rpt_*"]}
PULL_REQUESTS = ("drop", "rename", "pii_path", "filter")
MODEL = "model.shop.rpt_shipments"
# Another reader of what changes, which only the graph has.
REPORT = "dev|s3://reports|carriers"
NOW = 1_767_427_200_000
DAY_MS = 24 * 3_600_000


def head() -> dict[str, Any]:
    """Return the manifest of several pull requests together, with a new model."""
    found = document("base")
    for name in PULL_REQUESTS:
        for section, entries in json.loads((MANIFESTS / f"{name}.json").read_text()).items():
            found[section] = {**found[section], **entries}
    twin = found["nodes"]["model.shop.rpt_shipping"]
    found["nodes"][MODEL] = json.loads(json.dumps(twin).replace("rpt_shipping", "rpt_shipments"))
    return found


def merged() -> InMemory:
    """Return the graph before the change: the project, and a Spark job that reads one of its models."""
    vertices: dict[str, Vertex] = {}
    edges: dict[str, Edge] = {}
    # A version has only what its change concerns.
    for name in (*PULL_REQUESTS, "macro"):
        more, others = everything(pull_request(name)[0].graph, None)
        vertices |= {vertex.id: vertex for vertex in more}
        edges |= {edge.id: edge for edge in others}
    source = "dev|duckdb://shop|shop.main.int_shipments"
    held = {"environment": "dev", "dag_name": ("nightly",)}
    job = {"environment": "dev", "dag_name": "nightly", "job_name": "report", "job_type": "spark"}
    run = {"status": "succeeded", "last_run_at": NOW - 2 * DAY_MS}
    check = {"name": "carriers_are_unique", "status": "failed", "failures": 3, "last_run_at": NOW - DAY_MS}
    added = (
        Vertex(REPORT, "file", {**held, "name": "carriers", "owners": ("ops@example.com",)}),
        Vertex(f"{REPORT}|carrier", "column", {**held, "name": "carrier"}),
        Vertex("dev|nightly|spark|report", "job", {**held, "name": "report", "job_type": "spark", **run}),
        Vertex("dev|nightly|assertion|dbt|carriers_are_unique", "assertion", {**held, **check}),
    )
    steps = (
        Edge("e1", "feeds", source, REPORT, job),
        Edge(
            "e2",
            "feeds_column",
            f"{source}|carrier",
            f"{REPORT}|carrier",
            {**job, "transformation": "IDENTITY"},
        ),
        Edge("e3", "has_column", REPORT, f"{REPORT}|carrier", {"environment": "dev", "dag_name": "nightly"}),
        Edge("e4", "writes", "dev|nightly|spark|report", REPORT, job),
        Edge("e5", "checks", "dev|nightly|assertion|dbt|carriers_are_unique", REPORT, job),
    )
    return InMemory([*vertices.values(), *added], [*edges.values(), *steps])


@cache
def result() -> ReviewResult:
    """Return the findings in the merged graph."""
    settings = PolicySettings(CONFIGURATION.parse({**SETTINGS, "policies": [POLICY]}).policies)
    return review_dbt(file_of(document("base")), file_of(head()), scope(), merged(), settings)


def save(folder: Path, found: ReviewResult | None = None) -> Path:
    """Write the page to a file."""
    options = Options(title="Lineage review", made_at="2026-01-03 08:00 UTC")
    file = folder / "review.html"
    expectations = Expectations(NOW, DAY_MS)
    file.write_text(render_review(found or result(), options, "main", expectations), encoding="utf-8")
    return file

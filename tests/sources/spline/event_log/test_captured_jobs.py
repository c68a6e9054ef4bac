"""Lineage from event logs of 15 jobs on three versions of Spark, where these are: nothing is invented."""

import lzma
import runpy
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.model.elements import Reference, dot_path
from tests.sources.spline.event_log.log_reading import columns_of, read_targets

LOGS = Path(__file__).parents[5] / "shared" / "captures" / "eventlogs"
VALUES = {"I": "IDENTITY", "T": "TRANSFORMATION", "A": "AGGREGATION", "C": "CONDITIONAL", "W": "WINDOW"}
ROWS = {"F": "FILTER", "J": "JOIN", "G": "GROUP_BY", "S": "SORT"}
# Queries of views; in 4.0 a job fails before its plan is logged.
NOT_READ = {"jobs_3.5": {"perm_v"}, "jobs_4.0": {"perm_v", "j03"}}
# The truth, and what a log says: a cast to the type that the column has is not there, fields are exact.
INSTEAD = {
    ("ins_d", "amt", "orders.csv", "amount", "TRANSFORMATION"): "ins_d amt orders.csv amount IDENTITY",
    (
        "j06a",
        "color",
        "events.json",
        "attrs",
        "TRANSFORMATION",
    ): "j06a color events.json attrs.color IDENTITY",
}

pytestmark = pytest.mark.skipif(not LOGS.is_dir(), reason="the captures are not here")

Edges = defaultdict[str, set[tuple[str, ...]]]


def name_of(source: Reference) -> str:
    return source.name.rstrip("/").rpartition("/")[2]


def read_jobs(folder: str) -> tuple[Edges, Edges]:
    """Return the flows of each target as (column, source, its column, kind), then its influences."""
    flows, influences = Edges(set), Edges(set)
    for file in sorted((LOGS / folder).glob("*.xz")):
        lines = lzma.decompress(file.read_bytes()).splitlines()
        for path, write in read_targets((str(number), line) for number, line in enumerate(lines)):
            target = path.removeprefix("default.")
            if "error" in write.event:
                continue
            lineage = columns_of(write)
            flows[target] |= {
                (dot_path(each.target_column), name_of(each.source), dot_path(each.column), kind.name)
                for each in lineage.flows
                for kind in each.transformations
            }
            influences[target] |= {
                (name_of(each.source), dot_path(each.column), *sorted(each.kinds))
                for each in lineage.influences
            }
    return flows, influences


def read_truth() -> tuple[Edges, Edges]:
    flows, influences = Edges(set), Edges(set)
    truth: dict[str, dict[str, Any]] = runpy.run_path(str(LOGS / "code" / "truth.py"))["TRUTH"]
    for target, job in truth.items():
        for line in filter(None, map(str.strip, job["cols"].split(";"))):
            names, _, kind = line.rpartition(" ")
            column, _, source = names.partition("<")
            flows[target].add((column, *source.split(":"), VALUES[kind]))
        for line in filter(None, map(str.strip, job["infl"].split(";"))):
            source, _, letters = line.rpartition(" ")
            kinds = sorted(ROWS[letter] for letter in letters.split(","))
            influences[target].add((*source.split(":"), *kinds))
    return flows, influences


def subtract(edges: Edges, others: Edges) -> set[tuple[str, ...]]:
    """Return the edges that others do not have, with their targets."""
    return {(target, *edge) for target, found in edges.items() for edge in found - others[target]}


@pytest.mark.parametrize("folder", ["jobs_3.3", "jobs_3.5", "jobs_4.0"])
def test_no_edge_of_a_captured_job_is_wrong(folder: str) -> None:
    flows, influences = read_jobs(folder)
    true_flows, true_influences = read_truth()

    assert subtract(flows, true_flows) == {tuple(edge.split()) for edge in INSTEAD.values()}
    assert subtract(influences, true_influences) == set()


@pytest.mark.parametrize("folder", NOT_READ)
def test_each_edge_of_a_captured_job_is_found(folder: str) -> None:
    flows, influences = read_jobs(folder)
    true_flows, true_influences = read_truth()
    for target in NOT_READ[folder]:
        del true_flows[target]

    assert subtract(true_flows, flows) == set(INSTEAD)
    assert subtract(true_influences, influences) == set()

"""Merges that are killed or that load at once, against a server whose writers really conflict."""

import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from pyspark.sql import SparkSession

from lineage_merge import pipeline
from lineage_merge.errors import LineageMergeError
from lineage_merge.load.connection import Endpoint, connect
from lineage_merge.load.update import update
from lineage_merge.merge.outcome import Report
from tests.command_line import clean_environment, command
from tests.load.changing_pipeline import after, before, graph, restore
from tests.load.cutting_proxy import cutting_proxy
from tests.made_merges import ALL, Made, dataset

KILL_POINTS = 7
_SPARE = 4


@pytest.fixture(scope="module")
def server(conflicting_url: str) -> Endpoint:
    return Endpoint(conflicting_url)


# Two tests of every other point, so that two processes may share the work.
@pytest.mark.parametrize("last_arrives", [True, False], ids=["carried out", "lost"])
def test_a_merge_that_is_cut_off_anywhere_and_run_again_ends_as_if_it_had_run_once(
    spark: SparkSession, server: Endpoint, last_arrives: bool
) -> None:
    first, second = before().merge(spark), after().merge(spark)
    other = Made("other").node("view_or_table", "view").job("spark", "j", {"x": ["hive|t", "view_or_table"]})
    for frame in (second.nodes, second.edges):
        frame.cache()
    restore(server, ({}, {}))
    update(other.merge(spark), server, "dev", "other")
    update(first, server, "dev", "d")
    start = graph(server)
    with cutting_proxy(server.url) as proxy:
        way = Endpoint(proxy.url, timeout_seconds=20, retry_seconds=0)  # who is dead tries nothing again
        proxy.arm(None)
        update(second, way, "dev", "d")
        right, total = graph(server), proxy.requests
        assert right[0][dataset("view_or_table")][0] == "table"
        assert not any("hive" in key or "|old" in key for key in right[0])
        others = Made("other").job("spark", "j", {"x": ["s3://l|t", "view_or_table"]})
        expected = set(after().edges) | set(others.edges)
        assert set(right[1]) == expected
        cut = 0
        # How many there are differs a little: requests that meet each other are sent again.
        first_point = (total - 2 * (KILL_POINTS + _SPARE)) | 1
        for point in range(first_point + last_arrives, total + 1, 2):
            restore(server, start)
            proxy.arm(point, last_arrives=last_arrives)
            try:
                update(second, way, "dev", "d")
            except LineageMergeError:
                assert proxy.cut
                cut += 1
                update(second, server, "dev", "d")
            else:
                assert not proxy.cut
            found = graph(server)
            assert found[0] == right[0], f"cut off at request {point} of {total}"
            assert found[1] == right[1], f"cut off at request {point} of {total}"
            if not proxy.cut:
                break
        assert cut >= KILL_POINTS


def _folder(spark: SparkSession, made: Made, folder: Path) -> None:
    merge = made.merge(spark)
    read = Report({}, {}, {}, (), ())
    built = pipeline.Built(merge.nodes, merge.edges, read, merge.aliases, merge.targets, ALL)
    pipeline.write_folder(built, str(folder), "jsonl")


def _config(folder: Path, dag: str, endpoint: Endpoint) -> Path:
    settings: Mapping[str, Any] = {
        "dag_name": dag,
        "environment": "dev",
        "dbt": [{"manifest": "none.json", "namespace": "redshift://wh:5439"}],
        "gremlin": {"endpoint": endpoint.url},
        "spark": {"master": "local[1]"},
    }
    file = folder / f"{dag}.yml"
    file.write_text(yaml.safe_dump(dict(settings)))
    return file


def _start(folder: Path, config: Path) -> "subprocess.Popen[str]":
    words = command("load", folder, "--config", config, "--quiet")
    pipe = subprocess.PIPE
    return subprocess.Popen(words, env=clean_environment(), stdout=pipe, stderr=pipe, text=True)


def test_two_processes_that_load_dags_with_shared_datasets_at_once_lose_nothing(
    spark: SparkSession, server: Endpoint, tmp_path: Path
) -> None:
    restore(server, ({}, {}))
    pipelines = {}
    for dag in ("one", "two"):
        made = Made(dag)
        for number in range(300):
            made.node(f"t{number}", tags=[dag])
        made.job("dbt", f"model.{dag}.m", {f"t{i}": ["t0"] for i in range(1, 300)}, 1, dag)
        pipelines[dag] = made
        _folder(spark, made, tmp_path / dag)
    started = [_start(tmp_path / dag, _config(tmp_path, dag, server)) for dag in pipelines]
    for process in started:
        out, error = process.communicate(timeout=300)
        assert process.returncode == 0, out + error
    vertices, edges = graph(server)
    for number in range(300):
        held = vertices[dataset(f"t{number}")][1]
        assert (held["dag_name"], held["tags"]) == (["one", "two"], ["one", "two"])
    assert set(edges) == set(pipelines["one"].edges) | set(pipelines["two"].edges)


def test_a_process_that_is_killed_while_it_writes_and_run_again_ends_in_the_right_graph(
    spark: SparkSession, server: Endpoint, tmp_path: Path
) -> None:
    restore(server, ({}, {}))
    made = Made("killed")
    made.job("dbt", "model.p.m", {f"t{i}": [f"t{i - 1}"] for i in range(1, 3_000)}, 1, "p")
    _folder(spark, made, tmp_path / "killed")
    config = _config(tmp_path, "killed", server)
    process = _start(tmp_path / "killed", config)
    deadline = time.monotonic() + 240
    with connect(server) as g:
        while g.V().count().next() < 500:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    vertices, edges = graph(server)
    assert len(edges) < len(made.edges)
    again = _start(tmp_path / "killed", config)
    out, error = again.communicate(timeout=300)
    assert again.returncode == 0, out + error
    vertices, edges = graph(server)
    assert set(edges) == set(made.edges)
    assert set(vertices) == set(made.nodes) | {"dev|killed|merge_run"}
    assert "loading" not in vertices["dev|killed|merge_run"][1]

"""Merges that are killed or that load at once, against a server whose writers really conflict."""

import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from pyspark.sql import SparkSession

from lineage_merge import pipeline
from lineage_merge.embedded import EmbeddedServer
from lineage_merge.errors import LineageMergeError
from lineage_merge.load import requests
from lineage_merge.load.connection import Endpoint, connect
from lineage_merge.load.requests import EdgeUpsert, VertexUpsert
from lineage_merge.load.sending import send
from lineage_merge.load.update import update
from lineage_merge.merge.report import Report
from tests.command_line import clean_environment, command
from tests.graph_reading import whole
from tests.load.cutting_proxy import cutting_proxy
from tests.made_merges import ALL, Made, dataset

KILL_POINTS = 20
_SPARE = 4

Graph = tuple[dict[str, Any], dict[str, Any]]


@pytest.fixture(scope="module")
def server() -> Iterator[Endpoint]:
    with EmbeddedServer(None, transactional=True) as running:
        yield Endpoint(running.url)


def graph(endpoint: Endpoint) -> Graph:
    """The whole graph, without what differs in every run."""
    with connect(endpoint) as g:
        vertices, edges = whole(g, merge_runs=True)
    for _, values in vertices.values():
        for name in ("last_merged_at", "elements_written", "elements_retired"):
            values.pop(name, None)
    return vertices, edges


def restore(endpoint: Endpoint, held: Graph) -> None:
    """Make the graph what it was."""
    with connect(endpoint) as g:
        g.V().drop().iterate()
    vertices = (
        VertexUpsert(
            key,
            label,
            tuple(requests.typed({k: v[0] for k, v in values.items() if k not in requests.SETS}).items()),
            tuple((k, one) for k, v in values.items() if k in requests.SETS for one in v),
        )
        for key, (label, values) in held[0].items()
    )
    send(endpoint, requests.batches(vertices))
    edges = (
        EdgeUpsert(key, label, start, end, tuple(requests.typed(values).items()))
        for key, (start, label, end, values) in held[1].items()
    )
    send(endpoint, requests.batches(edges))


def before() -> Made:
    """A DAG as it was."""
    made = Made("d").job("dbt", "model.p.old", {"old": ["a"]}, 1, "p").column("old", "c")
    made.node("view_or_table", "view").job("dbt", "model.p.v", {"view_or_table": ["a"]}, 1, "p")
    made.job("dbt", "model.p.m", {"m": ["hive|t", "view_or_table", "a"]}, 1, "p", operations="Project")
    made.feeds_column(("dbt", "model.p.m"), ("hive|t", "c"), ("m", "c"))
    return made.job("dbt", "model.p.n", {f"n{i}": ["a"] for i in range(60)}, 1, "p")


def after() -> Made:
    """The same: a model dropped, one a table, a table that is a path, sources changed, much that is new."""
    made = Made("d").node("view_or_table", "table").job("dbt", "model.p.v", {"view_or_table": ["a"]}, 2, "p")
    made.job("dbt", "model.p.m", {"m": ["s3://l|t", "view_or_table"]}, 2, "p", operations="Filter")
    made.node("s3://l|t", location="s3://l/t").alias("hive|t", "s3://l|t")
    made.feeds_column(("dbt", "model.p.m"), ("s3://l|t", "c"), ("m", "c"), transformation="IDENTITY")
    made.job("dbt", "model.p.n", {f"n{i}": ["a"] for i in range(60)}, 2, "p")
    return made.job("dbt", "model.p.new", {f"new{i}": ["a", "m"] for i in range(150)}, 2, "p")


def test_a_merge_that_is_cut_off_anywhere_and_run_again_ends_as_if_it_had_run_once(
    spark: SparkSession, server: Endpoint
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
        way = Endpoint(proxy.url, timeout_seconds=20)
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
        for point in range(total - KILL_POINTS - _SPARE, total + 1):
            restore(server, start)
            proxy.arm(point, last_arrives=point % 2 == 0)
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

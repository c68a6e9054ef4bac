"""Merges that are cut off or that load at once, against a server whose writers really conflict.

Those of whole jobs that are killed are in `tests/chaos/`.
"""

import json
import random
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from lineage_merge.infra.engine.rows import Engine
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.server.update import update
from lineage_merge.load.server.write_changes import delete_stale
from lineage_merge.merge.report import REPORT, Report
from lineage_merge.model.errors import LineageMergeError
from tests import drawing
from tests.chaos.fault_proxy import FaultProxy, Watch, websocket
from tests.command_line import clean_environment, command
from tests.load.changing_pipeline import after, before, graph, restore
from tests.made_merges import ALL, Made, dataset

pytestmark = pytest.mark.jvm

# Over the requests that write; `python -m tests.chaos` cuts anywhere.
KILL_POINTS = 5
# The number of requests varies a little: conflicting ones are retried.
_SPARE = 3


@pytest.fixture(scope="module")
def server(conflicting_url: str) -> Endpoint:
    return Endpoint(conflicting_url)


@pytest.fixture
def proxy(server: Endpoint) -> Iterator[FaultProxy]:
    with closing(FaultProxy(urlsplit(server.url).port or 0, websocket)) as proxy:
        yield proxy


def _through(proxy: FaultProxy, server: Endpoint, **settings: Any) -> Endpoint:
    """The server behind the proxy."""
    return Endpoint(server.url.replace(f":{proxy.server_port}/", f":{proxy.port}/"), **settings)


def _points() -> list[int]:
    """The points to try: all where all cases are drawn, else one that arrives and one that is lost."""
    if drawing.share() >= 1:
        return list(range(KILL_POINTS))
    draw = random.Random(drawing.seed())
    return [draw.choice(range(arrives, KILL_POINTS, 2)) for arrives in (1, 0)]


def test_an_interrupted_and_repeated_merge_ends_as_if_it_had_run_once(
    engine: Engine, server: Endpoint, proxy: FaultProxy
) -> None:
    first, second = before().merge(engine), after().merge(engine)
    other = Made("other").node("view_or_table", "view").job("spark", "j", {"x": ["hive|t", "view_or_table"]})
    restore(server, ({}, {}))
    update(other.merge(engine), server, "dev", "other")
    update(first, server, "dev", "d")
    start = graph(server)
    proxied = _through(proxy, server, timeout_seconds=20, retry_seconds=0)  # a killed process does not retry
    proxy.begin([])
    update(second, proxied, "dev", "d")
    right, total = graph(server), proxy.requests
    assert right[0][dataset("view_or_table")][0] == "table"
    assert not any("hive" in key or "|old" in key for key in right[0])
    others = Made("other").job("spark", "j", {"x": ["s3://l|t", "view_or_table"]})
    expected = set(after().edges) | set(others.edges)
    assert set(right[1]) == expected
    first_write = total // 3
    step = (total - _SPARE - first_write) / (KILL_POINTS - 1)
    for number in _points():
        point = round(first_write + number * step)
        restore(server, start)
        # The last request is executed or lost, alternately: the sender cannot know.
        proxy.open()
        proxy.begin([Watch(point, proxy.shut, arrives=bool(number % 2))])
        with pytest.raises(LineageMergeError):
            update(second, proxied, "dev", "d")
        assert proxy.requests >= point
        update(second, server, "dev", "d")
        found = graph(server)
        assert found[0] == right[0], f"cut off at request {point} of {total}"
        assert found[1] == right[1], f"cut off at request {point} of {total}"


# Counted from the last request that deletes: tags are removed, vertices are dropped, and tags again.
@pytest.mark.parametrize("last", [0, 1])
def test_a_merge_between_any_two_delete_requests_leaves_no_stale_element(
    engine: Engine, server: Endpoint, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch, last: int
) -> None:
    """Both delete the same elements; the other one completely, between two requests of this one."""

    def made(dag: str, at: int) -> Made:
        tables = ["stable", *(["dropped", "also_dropped"] if at == 1 else [])]
        return Made(dag).job("dbt", f"model.{dag}.m", {f"of_{dag}": tables}, at, dag).column("stable", "c")

    restore(server, ({}, {}))
    merges = {dag: made(dag, 2).merge(engine) for dag in ("one", "two")}
    for dag in merges:
        update(made(dag, 1).merge(engine), server, "dev", dag)
    start = graph(server)
    proxied = _through(proxy, server)
    requests: list[int] = []
    watches: list[Watch] = []

    def watched(*arguments: Any) -> None:
        proxy.begin(watches)
        delete_stale(*arguments)
        requests.append(proxy.requests)

    with monkeypatch.context() as patch:
        patch.setattr("lineage_merge.load.server.write_changes.delete_stale", watched)
        update(merges["one"], proxied, "dev", "one", allow_retire=True)
    update(merges["two"], server, "dev", "two", allow_retire=True)
    right = graph(server)
    restore(server, start)
    other = partial(update, merges["two"], server, "dev", "two", allow_retire=True)
    watches.append(Watch(requests[0] - last, other, arrives=False))
    # The other load also deletes, not through the proxy.
    with monkeypatch.context() as patch:
        patch.setattr("lineage_merge.load.server.write_changes.delete_stale", _once(watched))
        update(merges["one"], proxied, "dev", "one", allow_retire=True)
    assert "dropped" not in str(right)
    assert graph(server) == right


def _once(first: Callable[..., None]) -> Callable[..., None]:
    """Call the replacement once, and then the original."""
    calls: list[None] = []

    def called(*arguments: Any) -> None:
        calls.append(None)
        (first if len(calls) == 1 else delete_stale)(*arguments)

    return called


def _folder(made: Made, folder: Path) -> None:
    """Files as `build` writes them."""
    for name, rows in (("nodes", made.nodes), ("edges", made.edges)):
        (folder / name).mkdir(parents=True)
        lines = (json.dumps({k: v for k, v in row.items() if v is not None}) for row in rows.values())
        (folder / name / "part.jsonl").write_text("\n".join(lines))
    read = Report({}, {}, {}, (), ()).as_json()
    (folder / REPORT).write_text(json.dumps({**read, "coverage": ALL.as_json()}))


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


def test_two_processes_that_load_dags_with_shared_datasets_concurrently_lose_nothing(
    server: Endpoint, tmp_path: Path
) -> None:
    restore(server, ({}, {}))
    pipelines = {}
    for dag in ("one", "two"):
        made = Made(dag)
        for number in range(300):
            made.node(f"t{number}", tags=[dag])
        made.job("dbt", f"model.{dag}.m", {f"t{i}": ["t0"] for i in range(1, 300)}, 1, dag)
        pipelines[dag] = made
        _folder(made, tmp_path / dag)
    started = [_start(tmp_path / dag, _config(tmp_path, dag, server)) for dag in pipelines]
    for process in started:
        out, error = process.communicate(timeout=300)
        assert process.returncode == 0, out + error
    vertices, edges = graph(server)
    for number in range(300):
        values = vertices[dataset(f"t{number}")][1]
        assert (values["dag_name"], values["tags"]) == (["one", "two"], ["one", "two"])
    assert set(edges) == set(pipelines["one"].edges) | set(pipelines["two"].edges)

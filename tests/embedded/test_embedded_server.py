import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from gremlin_python.driver.client import Client
from gremlin_python.driver.protocol import GremlinServerError
from gremlin_python.process.graph_traversal import GraphTraversalSource, __
from gremlin_python.process.traversal import Cardinality, T
from gremlin_python.statics import long

from lineage_merge.infra.embedded import EmbeddedServer, file_lock
from lineage_merge.infra.embedded.graph_store import (
    connected,
    fault,
    without_login,
)
from lineage_merge.infra.embedded.jars import gremlin_jars
from lineage_merge.infra.graph_files import default_graph_file, demo_graph_file
from lineage_merge.model.errors import EmbeddedError

SALES = "dev|s3://tickit-raw|sales"
EVENTS = "dev|redshift://wh:5439|dev.public.events"


@pytest.fixture(scope="module", autouse=True)
def _jars_are_cached() -> None:
    gremlin_jars(lambda _: None)


def fill(g: GraphTraversalSource) -> None:
    (
        g.add_v("file")
        .property(T.id, SALES)
        .property(Cardinality.single, "name", 'sales é \u2028 "quoted"')
        .property(Cardinality.set_, "dag_name", "tickit")
        .property(Cardinality.set_, "dag_name", "other")
        .property(Cardinality.single, "rows", long(5_000_000_000))
        .property(Cardinality.single, "position", 7)
        .property(Cardinality.single, "share", 0.5)
        .property(Cardinality.single, "ok", True)
        .to_list()
    )
    g.add_v("table").property(T.id, EVENTS).property(Cardinality.set_, "dag_name", "tickit").to_list()
    g.V(SALES).add_e("feeds").property(T.id, "ab12").to(__.V(EVENTS)).property("sequence", 1).to_list()


def content(g: GraphTraversalSource) -> dict[str, Any]:
    return {
        "vertices": {
            row[T.id]: {
                key: sorted(value) if isinstance(value, list) else value for key, value in row.items()
            }
            for row in g.V().value_map(True).to_list()
        },
        "edges": g.E().element_map().to_list(),
    }


@pytest.mark.parametrize("transactional", [False, True])
def test_the_graph_survives_a_restart_with_its_types_and_sets(tmp_path: Path, transactional: bool) -> None:
    graph_file = tmp_path / "a folder" / "graph.json"
    with EmbeddedServer(graph_file, transactional=transactional) as server, connected(server.url) as g:
        fill(g)
        before = content(g)
    with EmbeddedServer(graph_file, transactional=transactional) as server, connected(server.url) as g:
        after = content(g)
        # A 32-bit and a 64-bit number are equal in Python, so what the graph writes is read.
        server.save()
        held = json.loads(next(line for line in graph_file.read_text().split("\n") if "sales" in line))
        types = [held["properties"][key][0]["value"]["@type"] for key in ("rows", "position")]
    assert after == before
    assert after["vertices"][SALES]["dag_name"] == ["other", "tickit"]
    assert types == ["g:Int64", "g:Int32"]


def test_what_was_saved_is_there_after_everything_was_killed(tmp_path: Path) -> None:
    graph_file = tmp_path / "graph.json"
    program = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from lineage_merge.infra.embedded import EmbeddedServer\n"
        "from lineage_merge.infra.embedded.graph_store import connected\n"
        "with EmbeddedServer(Path(sys.argv[1])) as server:\n"
        "    with connected(server.url) as g:\n"
        "        g.add_v('saved').next()\n"
        "        server.save()\n"
        "        g.add_v('later').next()\n"
        "    print(server.url, flush=True)\n"
        "    time.sleep(60)\n"
    )
    command = [sys.executable, "-c", program, str(graph_file)]
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as owner:
        assert owner.stdout is not None
        port = int(owner.stdout.readline().rsplit(":", 1)[1].split("/")[0])
        owner.kill()
    assert ends_within(port, 5), "Java outlived the process that started it"
    deadline = time.monotonic() + 10
    while list(temporary.glob("lineage-merge-*")) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert list(temporary.glob("lineage-merge-*")) == []
    with EmbeddedServer(graph_file) as server, connected(server.url) as g:
        assert g.V().label().to_list() == ["saved"]


def ends_within(port: int, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            return True
        time.sleep(0.1)
    return False


def test_with_cached_jars_a_start_needs_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_MERGE_MAVEN_REPOSITORY", "http://127.0.0.1:1/")
    said: list[str] = []
    with EmbeddedServer(None, on_progress=said.append) as server, connected(server.url) as g:
        assert g.V().count().next() == 0
    assert said == ["starting the embedded Gremlin Server"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"id":"a","label":"x"}\n{"id":"b","lab', "line 2 is not a vertex in GraphSON"),
        ('[{"id":"a"}]', "line 1 is not a vertex in GraphSON"),
        (
            '{"id":"a","label":"x","outE":{"feeds":[{"id":"e","inV":"missing"}]}}\n',
            "edges with a missing vertex",
        ),
        ('{"id":{"@type":"g:Int64","@value":"q"},"label":"x"}\n', "not a valid `java.lang.Long`"),
        ('{"id":"a","label":"x"}\n{"id":"a","label":"x"}\n', "Vertex with id already exists: a"),
    ],
)
def test_a_broken_graph_file_gives_one_line_and_stays_as_it_is(
    tmp_path: Path, text: str, problem: str
) -> None:
    graph_file = tmp_path / "graph.json"
    graph_file.write_text(text)
    with pytest.raises(EmbeddedError, match="cannot be read") as refused, EmbeddedServer(graph_file):
        pytest.fail("it started")
    assert str(graph_file) in refused.value.message
    assert problem in refused.value.message
    assert "\n" not in refused.value.message
    assert graph_file.read_text() == text


def test_a_graph_file_cut_between_two_vertices_is_noticed(tmp_path: Path) -> None:
    graph_file = tmp_path / "graph.json"
    with EmbeddedServer(graph_file) as server, connected(server.url) as g:
        fill(g)
    lines = graph_file.read_text().split("\n")
    assert fault(graph_file) == ""
    graph_file.write_text(lines[0] + "\n")
    assert fault(graph_file) == "edges with a missing vertex"


def test_a_save_during_writes_is_whole(tmp_path: Path) -> None:
    graph_file = tmp_path / "graph.json"
    stop = threading.Event()
    written = 0

    def write(url: str) -> None:
        nonlocal written
        with connected(url) as g:
            while not stop.is_set():
                g.add_v("x").as_("a").add_v("y").add_e("feeds").from_("a").to_list()
                written += 1
                time.sleep(0.002)

    with EmbeddedServer(graph_file) as server:
        writer = threading.Thread(target=write, args=(server.url,))
        writer.start()
        try:
            deadline = time.monotonic() + 10
            while not written and time.monotonic() < deadline:
                time.sleep(0.01)
            assert written > 0
            for _ in range(5):
                server.save()
                assert fault(graph_file) == ""
        finally:
            stop.set()
            writer.join()


def test_a_save_that_fails_leaves_the_last_copy(tmp_path: Path) -> None:
    graph_file = tmp_path / "graph.json"
    server = EmbeddedServer(graph_file)
    server.start()
    with connected(server.url) as g:
        g.add_v("x").next()
        server.save()
    os.kill(java_of(server), signal.SIGKILL)
    deadline = time.monotonic() + 15
    while server.alive() and time.monotonic() < deadline:
        time.sleep(0.05)
    with pytest.raises(EmbeddedError, match=r"the embedded Gremlin Server ended: .*its log: ") as raised:
        server.stop()
    shutil.rmtree(log_of(raised.value).parent)
    assert fault(graph_file) == ""
    assert '"x"' in graph_file.read_text()


def java_of(server: EmbeddedServer) -> int:
    """The process that listens at the server's port."""
    port = int(server.url.rsplit(":", 1)[1].split("/")[0])
    for line in subprocess.check_output(["ps", "-ww", "-eo", "pid=,args="], text=True).splitlines():
        pid, arguments = line.split(maxsplit=1)
        if "gremlin_server.groovy" in arguments and "watch.py" not in arguments:
            settings = Path(arguments.rsplit(" ", 1)[1])
            if settings.exists() and f'"port": {port},' in settings.read_text():
                return int(pid)
    raise AssertionError("no Java runs")


def test_a_second_server_for_a_graph_file_is_rejected_with_the_url_of_the_first(tmp_path: Path) -> None:
    graph_file = tmp_path / "graph.json"
    with EmbeddedServer(graph_file) as first:
        with pytest.raises(EmbeddedError, match=f"already served by another process, at {first.address}"):
            EmbeddedServer(graph_file).start()
        with connected(first.url) as g:
            assert g.V().count().next() == 0


def test_attaching_uses_the_running_server_and_leaves_it_running(tmp_path: Path) -> None:
    graph_file = tmp_path / "graph.json"
    with EmbeddedServer.attach_or_start(graph_file) as first:
        assert not first.attached
        with EmbeddedServer.attach_or_start(graph_file) as second:
            assert second.attached
            assert second.url == first.url
            with connected(second.url) as g:
                g.add_v("x").next()
            second.save()
            assert '"x"' in graph_file.read_text()
        assert first.alive()
        with connected(first.url) as g:
            assert g.V().count().next() == 1


def test_the_owner_waits_for_those_who_still_use_its_server(tmp_path: Path) -> None:
    graph_file = tmp_path / "graph.json"
    owner = EmbeddedServer(graph_file)
    owner.start()
    user = EmbeddedServer.attach_or_start(graph_file)
    user.start()
    ending = threading.Thread(target=owner.stop)
    ending.start()
    time.sleep(0.5)
    with connected(user.url) as g:
        g.add_v("late").next()
    user.stop()
    ending.join(20)
    assert not ending.is_alive()
    assert '"late"' in graph_file.read_text()


def test_a_taken_port_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(EmbeddedError, match=f"port {port} on 127.0.0.1 is taken"):
            EmbeddedServer(None, port=port).start()


def test_the_error_of_a_java_that_cannot_start_is_reported_and_its_log_stays() -> None:
    with pytest.raises(EmbeddedError, match="Too small maximum heap") as raised:
        EmbeddedServer(None, heap="1k").start()
    log = log_of(raised.value)
    assert "Too small maximum heap" in log.read_text()
    shutil.rmtree(log.parent)


def log_of(error: EmbeddedError) -> Path:
    return Path(error.message.rsplit("its log: ", 1)[1].rstrip(")"))


def test_an_empty_graph_survives_a_restart_too(tmp_path: Path) -> None:
    graph_file = tmp_path / "graph.json"
    for _ in range(2):
        with EmbeddedServer(graph_file) as server, connected(server.url) as g:
            assert g.V().count().next() == 0
    assert graph_file.exists()


def test_a_property_without_a_cardinality_adds_to_a_set(gremlin: GraphTraversalSource) -> None:
    gremlin.add_v("file").property(T.id, SALES).property("dag_name", "a").to_list()
    gremlin.V(SALES).property("dag_name", "b").property("dag_name", "a").to_list()
    assert sorted(gremlin.V(SALES).values("dag_name").to_list()) == ["a", "b"]


def test_string_ids_find_their_vertex(gremlin: GraphTraversalSource) -> None:
    gremlin.add_v("file").property(T.id, SALES).to_list()
    assert gremlin.V(SALES).id_().to_list() == [SALES]


def test_gremlin_lang_parses_what_neptune_parses_and_nothing_more(
    gremlin: GraphTraversalSource, gremlin_url: str
) -> None:
    gremlin.add_v("file").property(T.id, SALES).to_list()
    client = Client(gremlin_url, "g")
    language = {"language": "gremlin-lang"}
    try:
        query = "g.V().hasLabel('file').id()"
        assert client.submit(query, request_options=language).all().result() == [SALES]
        with pytest.raises(GremlinServerError):
            client.submit("g.V().map{it.get().id()}", request_options=language).all().result()
    finally:
        client.close()


def test_writers_of_one_vertex_conflict_in_a_transactional_graph() -> None:
    """Many at once add to one counter's vertex; a conflict is an error, never a lost write."""
    with EmbeddedServer(None, transactional=True) as server:
        with connected(server.url) as g:
            g.add_v("x").property(T.id, "one").to_list()
        outcomes: list[str] = []

        deadline = time.monotonic() + 60

        def write(worker: int) -> None:
            with connected(server.url) as g:
                # When two meet is chance: they go on until it has happened.
                for number in count():
                    if number >= 25 and ("conflict" in outcomes or time.monotonic() > deadline):
                        return
                    try:
                        g.V("one").property(Cardinality.set_, "dag_name", f"{worker}-{number}").to_list()
                        outcomes.append("written")
                    except GremlinServerError:
                        outcomes.append("conflict")

        writers = [threading.Thread(target=write, args=(worker,)) for worker in range(4)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        with connected(server.url) as g:
            assert g.V("one").values("dag_name").count().next() == outcomes.count("written")
    assert "conflict" in outcomes


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_serve_says_how_to_connect_and_saves_when_it_is_ended(tmp_path: Path, ending: signal.Signals) -> None:
    graph_file = tmp_path / "graph.json"
    program = (
        "import functools, sys\n"
        "from pathlib import Path\n"
        "from lineage_merge.infra.embedded.serving import serve\n"
        "serve(Path(sys.argv[1]), None, functools.partial(print, flush=True))\n"
    )
    command = [sys.executable, "-W", "error", "-c", program, str(graph_file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as serving:
        assert serving.stdout is not None
        said: list[str] = []
        while "stop with Ctrl-C" not in "".join(said[-1:]):
            said.append(serving.stdout.readline())
            assert said[-1], serving.communicate()[1]
        address = next(line for line in said if line.startswith("Gremlin Server: ")).split(": ", 1)[1].strip()
        url = file_lock.served_at(graph_file)
        assert url
        assert without_login(url) == address
        login = f"user: {urlsplit(url).username}, password of this start: {urlsplit(url).password}\n"
        assert f'DriverRemoteConnection("{url}", "g")' in "".join(said)
        assert login in said
        again = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
        assert again.stdout.startswith(f"already running: {address}\n{login}connect from Python:\n")
        with connected(url) as g:
            g.add_v("served").next()
        serving.send_signal(ending)
        _, errors = serving.communicate(timeout=30)
    assert serving.returncode == 0
    assert errors == ""
    assert '"served"' in graph_file.read_text()


def test_the_default_graph_file_can_be_moved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LINEAGE_MERGE_HOME", str(tmp_path))
    assert default_graph_file() == tmp_path / "graph.json"
    monkeypatch.setenv("LINEAGE_MERGE_GRAPH_FILE", str(tmp_path / "a" / ".." / "own.json"))
    assert default_graph_file() == tmp_path / "own.json"
    assert demo_graph_file() == tmp_path / "demo.json"
    monkeypatch.delenv("LINEAGE_MERGE_GRAPH_FILE")
    monkeypatch.delenv("LINEAGE_MERGE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    assert default_graph_file() == tmp_path / ".local/share/lineage-merge/graph.json"

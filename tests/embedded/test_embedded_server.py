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

import pyarrow as pa
import pytest
from gremlin_python.driver.client import Client
from gremlin_python.driver.protocol import GremlinServerError
from gremlin_python.process.graph_traversal import GraphTraversalSource, __
from gremlin_python.process.traversal import Cardinality, T
from gremlin_python.statics import long
from pyarrow import parquet

from lineage_merge.infra.embedded import EmbeddedServer, file_lock
from lineage_merge.infra.embedded.connection import connected, without_login
from lineage_merge.infra.embedded.graph_store import snapshot_folder
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
                key: sorted(value, key=repr) if isinstance(value, list) else value
                for key, value in row.items()
            }
            for row in g.V().value_map(True).to_list()
        },
        "edges": g.E().element_map().to_list(),
    }


def test_a_restart_keeps_whether_a_number_has_32_or_64_bits(tmp_path: Path) -> None:
    graph_file = tmp_path / "a folder" / "graph"
    with EmbeddedServer(graph_file) as server, connected(server.url) as g:
        fill(g)
        before = content(g)
    with EmbeddedServer(graph_file) as server, connected(server.url) as g:
        after = content(g)
        # A 32-bit and a 64-bit number are equal in Python, so another snapshot is read.
        g.add_v("x").to_list()
        server.save()
        (others,) = (row["other_properties"] for row in stored(graph_file) if row["id"] == SALES)
        values = dict(zip(*[iter(json.loads(others)["@value"])] * 2, strict=True))
        types = {key: [each["@type"] for each in values[key]["@value"]] for key in ("rows", "position")}
    assert after == before
    assert after["vertices"][SALES]["dag_name"] == ["other", "tickit"]
    assert types == {"rows": ["g:Int64"], "position": ["g:Int32"]}


def test_a_start_and_usual_requests_do_not_initialize_the_runtime_of_groovy(
    saved_graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "initialized"
    graph_file = Path(shutil.copytree(saved_graph, tmp_path / "graph", symlinks=True))
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", f"-Xlog:class+init=info:file={log}")
    with EmbeddedServer(graph_file) as server, connected(server.url) as g:
        g.V(SALES).property(Cardinality.single, "position", 8).to_list()
        server.save()
        assert stored(graph_file)
    initialized = log.read_text()
    assert "'TransferRequest'" in initialized
    assert "'groovy/lang/GroovySystem'" not in initialized


def stored(graph_file: Path, kind: str = "nodes") -> list[dict[str, Any]]:
    """The rows of the newest snapshot."""
    folder = snapshot_folder(graph_file)
    assert folder
    return list(parquet.read_table(folder / kind).to_pylist())


def labels(graph_file: Path) -> list[str]:
    return [row["label"] for row in stored(graph_file)]


@pytest.mark.parametrize("transactional", [False, True])
def test_nothing_that_gremlin_can_write_is_lost_by_a_restart(tmp_path: Path, transactional: bool) -> None:
    graph_file = tmp_path / "graph"
    text = 'nul \0, newline \n, tab \t, quote ", backslash \\n, 𝄞, \ufeff'
    with EmbeddedServer(graph_file, transactional=transactional) as server, connected(server.url) as g:
        g.add_v("table::view").property(T.id, text).property(Cardinality.single, "name", "").to_list()
        vertex = g.V(text)
        for key, value in (("tags", text), ("tags", ""), ("name", "second"), ("other_properties", "own")):
            vertex = vertex.property(Cardinality.set_, key, value)
        for mixed in (7, "7", True, 0.5):
            vertex = vertex.property(Cardinality.set_, "mixed", mixed)
        vertex.property(Cardinality.list_, "twice", "a").property(Cardinality.list_, "twice", "a").to_list()
        g.add_v("x").property(T.id, 1).property("id", "a property").property("label", "too").to_list()
        g.add_v("x").property(T.id, "1").property("tags", 5).property("tags", "5").to_list()
        g.V(1).add_e("feeds").to(__.V("1")).property("sequence", "text").property("from", 2).to_list()
        g.V("1").add_e("feeds").property(T.id, "e").to(__.V(1)).property("sequence", long(3)).to_list()
        before = content(g), g.V().properties().count().next()
    with EmbeddedServer(graph_file, transactional=transactional) as server, connected(server.url) as g:
        assert (content(g), g.V().properties().count().next()) == before


def test_an_unchanged_graph_is_not_written_again(tmp_path: Path) -> None:
    graph_file = tmp_path / "graph"
    with EmbeddedServer(graph_file) as server, connected(server.url) as g:
        fill(g)
        server.save()
        first = snapshot_folder(graph_file)
        g.V().has("name", "x").values("name").to_list()
        server.save()
        assert snapshot_folder(graph_file) == first
    with EmbeddedServer(graph_file) as server:
        server.save()
        assert snapshot_folder(graph_file) == first
        client = Client(server.url, "g")
        client.submit(f"g.V('{EVENTS}').drop()").all().result()
        client.close()
    assert [row["id"] for row in stored(graph_file)] == [SALES]


def test_a_crash_in_a_save_leaves_the_graph_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph_file = tmp_path / "graph"
    with EmbeddedServer(graph_file) as server, connected(server.url) as g:
        g.add_v("before").to_list()
        server.save()
        g.add_v("after").to_list()

        def killed(*_: object) -> None:
            raise KeyboardInterrupt

        for step in ("symlink_to", "replace"):
            with monkeypatch.context() as patch:
                patch.setattr(Path, step, killed)
                patch.setattr(shutil, "rmtree", lambda *_, **__: None)  # as if the process were killed
                with pytest.raises(KeyboardInterrupt):
                    server.save()
            assert labels(graph_file) == ["before"]
        server.save()
        assert sorted(labels(graph_file)) == ["after", "before"]
    names = sorted(each.name.partition("-")[0] for each in graph_file.iterdir())
    assert names == ["current", "snapshot", "snapshot"]  # and that of the save before


def test_without_pyarrow_the_fix_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(EmbeddedError, match=r"install lineage-merge\[parquet\]"):
        EmbeddedServer(tmp_path / "graph").start()


def test_a_graph_file_of_an_earlier_version_is_named_with_the_fix(tmp_path: Path) -> None:
    graph_file = tmp_path / "graph.json"
    graph_file.write_text('{"id":"a","label":"x"}\n')
    with pytest.raises(EmbeddedError, match=r"graph\.json is a graph file of an earlier version.*Fix: "):
        EmbeddedServer(graph_file).start()
    assert graph_file.read_text() == '{"id":"a","label":"x"}\n'


def test_what_was_saved_is_there_after_everything_was_killed(tmp_path: Path) -> None:
    graph_file = tmp_path / "graph"
    program = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from lineage_merge.infra.embedded import EmbeddedServer\n"
        "from lineage_merge.infra.embedded.connection import connected\n"
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


def test_an_empty_graph_survives_a_restart_and_with_cached_jars_a_start_needs_no_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_MERGE_MAVEN_REPOSITORY", "http://127.0.0.1:1/")
    graph_file = tmp_path / "graph"
    for read in ([], [f"reading the graph from {graph_file}"]):
        said: list[str] = []
        with EmbeddedServer(graph_file, on_progress=said.append) as server, connected(server.url) as g:
            assert said == ["starting the embedded Gremlin Server", *read]
            assert g.V().count().next() == 0


@pytest.fixture(scope="module")
def saved_graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph file as a server left it; copied, not served."""
    graph_file = tmp_path_factory.mktemp("saved") / "graph"
    with EmbeddedServer(graph_file) as server, connected(server.url) as g:
        fill(g)
    return graph_file


@pytest.mark.parametrize("damage", ["cut", "missing", "dangling", "doubled"])
def test_a_broken_graph_gives_one_line_and_stays_as_it_is(
    saved_graph: Path, tmp_path: Path, damage: str
) -> None:
    graph_file = Path(shutil.copytree(saved_graph, tmp_path / "graph", symlinks=True))
    folder = snapshot_folder(graph_file)
    assert folder
    nodes = folder / "nodes" / "part-00000.parquet"
    table = parquet.read_table(nodes)
    if damage == "cut":
        nodes.write_bytes(nodes.read_bytes()[:-20])
    elif damage == "missing":
        nodes.unlink()
    elif damage == "dangling":
        parquet.write_table(table.slice(1), nodes)
    else:
        parquet.write_table(pa.concat_tables([table, table]), nodes)
    before = {file: file.read_bytes() for file in graph_file.rglob("*.parquet")}
    with pytest.raises(EmbeddedError, match="cannot be read") as refused, EmbeddedServer(graph_file):
        pytest.fail("it started")
    problems = {"missing": "is missing", "dangling": "the graph has no vertex", "doubled": "already exists"}
    assert str(graph_file) in refused.value.message
    assert problems.get(damage, "") in refused.value.message
    assert "\n" not in refused.value.message
    assert {file: file.read_bytes() for file in graph_file.rglob("*.parquet")} == before


def test_a_save_during_writes_is_whole(tmp_path: Path) -> None:
    graph_file = tmp_path / "graph"
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
                ids = {row["id"] for row in stored(graph_file)}
                assert all({row["from"], row["to"]} <= ids for row in stored(graph_file, "edges"))
        finally:
            stop.set()
            writer.join()


def test_a_save_that_fails_leaves_the_last_copy(tmp_path: Path) -> None:
    graph_file = tmp_path / "graph"
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
    assert labels(graph_file) == ["x"]


def java_of(server: EmbeddedServer) -> int:
    """The process that listens at the server's port."""
    port = int(server.url.rsplit(":", 1)[1].split("/")[0])
    for line in subprocess.check_output(["ps", "-ww", "-eo", "pid=,args="], text=True).splitlines():
        pid, arguments = line.split(maxsplit=1)
        if " gremlin_server " in arguments and "watchdog.py" not in arguments:
            settings = Path(arguments.rsplit(" ", 1)[1])
            if settings.exists() and f'"port": {port},' in settings.read_text():
                return int(pid)
    raise AssertionError("no Java runs")


def test_a_second_server_is_rejected_or_attaches_to_the_first_and_leaves_it_running(tmp_path: Path) -> None:
    graph_file = tmp_path / "graph"
    with EmbeddedServer.attach_or_start(graph_file) as first:
        assert not first.attached
        with pytest.raises(EmbeddedError, match=f"already served by another process, at {first.address}"):
            EmbeddedServer(graph_file).start()
        with EmbeddedServer.attach_or_start(graph_file) as second:
            assert second.attached
            assert second.url == first.url
            with connected(second.url) as g:
                g.add_v("x").next()
            second.save()
            assert labels(graph_file) == ["x"]
        assert first.alive()
        with connected(first.url) as g:
            assert g.V().count().next() == 1


def test_the_owner_waits_for_those_who_still_use_its_server(tmp_path: Path) -> None:
    graph_file = tmp_path / "graph"
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
    assert labels(graph_file) == ["late"]


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
    graph_file = tmp_path / "graph"
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
    assert labels(graph_file) == ["served"]


def test_the_default_graph_file_can_be_moved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LINEAGE_MERGE_HOME", str(tmp_path))
    assert default_graph_file() == tmp_path / "graph"
    monkeypatch.setenv("LINEAGE_MERGE_GRAPH_FILE", str(tmp_path / "a" / ".." / "own"))
    assert default_graph_file() == tmp_path / "own"
    assert demo_graph_file() == tmp_path / "demo"
    monkeypatch.delenv("LINEAGE_MERGE_GRAPH_FILE")
    monkeypatch.delenv("LINEAGE_MERGE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    assert default_graph_file() == tmp_path / ".local/share/lineage-merge/graph"

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

from lineage_merge.infra.embedded import EmbeddedServer
from lineage_merge.infra.embedded.connection import connect, remove_login
from lineage_merge.infra.embedded.graph_store import GraphFolder, snapshot_folder
from lineage_merge.infra.embedded.jars import gremlin_jars
from lineage_merge.infra.graph_files import default_graph_file, demo_graph_file
from lineage_merge.model.errors import EmbeddedError
from tests.graph_reading import whole
from tests.snapshots import whole_folder, write_graph

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


@pytest.mark.jvm
def test_a_server_has_a_copy_of_the_graph_with_all_values_and_types(tmp_path: Path) -> None:
    text = 'nul \0, newline \n, tab \t, quote ", backslash \\n, 𝄞, \ufeff, \u2028'
    row: dict[str, Any] = {"id": text, "label": "table", "name": "", "dag_name": ["a", "b"]}
    row |= {"tags": [text, ""], "position": 7}
    edges: list[dict[str, Any]] = [
        {"id": "e1", "label": "feeds", "from": text, "to": "b", "sequence": 2**40, "via": text},
        {"id": "e2", "label": "feeds", "from": "b", "to": "b"},
    ]
    graph = write_graph(tmp_path / "graph", [row, {"id": "b", "label": "file"}], edges)
    before = snapshot_folder(graph)
    with EmbeddedServer(graph) as server, connect(server.url) as g:
        assert whole(g) == whole_folder(graph)
        assert g.V(text).properties("tags", "dag_name").count().next() == 4
        g.V().drop().to_list()
    assert snapshot_folder(graph) == before
    assert len(whole_folder(graph)[0]) == 2


@pytest.mark.jvm
def test_a_graph_that_was_never_loaded_is_empty(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path / "graph") as server, connect(server.url) as g:
        assert g.V().count().next() == 0
    assert not (tmp_path / "graph").exists()


@pytest.mark.jvm
@pytest.mark.parametrize("transactional", [False, True])
def test_a_server_may_store_its_graph_in_a_file(tmp_path: Path, transactional: bool) -> None:
    file = tmp_path / "graph.json"

    def server() -> EmbeddedServer:
        return EmbeddedServer(None, transactional=transactional, stored_in=file)

    with server() as first, connect(first.url) as g:
        fill(g)
        before = content(g)
    with server() as second, connect(second.url) as g:
        assert content(g) == before


@pytest.mark.jvm
def test_a_start_and_usual_requests_do_not_initialize_the_runtime_of_groovy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "initialized"
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", f"-Xlog:class+init=info:file={log}")
    with EmbeddedServer(None) as server, connect(server.url) as g:
        fill(g)
        g.V(SALES).property(Cardinality.single, "position", 8).to_list()
    initialized = log.read_text()
    assert "'TraversalsOnly'" in initialized
    assert "'groovy/lang/GroovySystem'" not in initialized


def test_without_pyarrow_the_fix_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with (
        pytest.raises(EmbeddedError, match=r"install lineage-merge\[parquet\]"),
        GraphFolder(tmp_path / "graph").lock(),
    ):
        pytest.fail("it has the lock")


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(EmbeddedError, match=r"the graph .*file/graph: Not a directory|File exists"),
        GraphFolder(tmp_path / "file" / "graph").lock(),
    ):
        pytest.fail("it has the lock")


@pytest.mark.jvm
def test_a_graph_file_of_an_earlier_version_is_named_with_the_fix(tmp_path: Path) -> None:
    graph_file = tmp_path / "graph.json"
    graph_file.write_text('{"id":"a","label":"x"}\n')
    with pytest.raises(EmbeddedError, match=r"graph\.json is a graph file of an earlier version.*Fix: "):
        EmbeddedServer(graph_file).start()
    assert graph_file.read_text() == '{"id":"a","label":"x"}\n'


def test_a_server_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    program = (
        "import time\n"
        "from lineage_merge.infra.embedded import EmbeddedServer\n"
        "with EmbeddedServer(None) as server:\n"
        "    print(server.url, flush=True)\n"
        "    time.sleep(60)\n"
    )
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary)}
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as owner:
        assert owner.stdout is not None
        port = int(owner.stdout.readline().rsplit(":", 1)[1].split("/")[0])
        owner.kill()
    assert ends_within(port, 5), "Java outlived the process that started it"
    deadline = time.monotonic() + 10
    while list(temporary.glob("lineage-merge-*")) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert list(temporary.glob("lineage-merge-*")) == []


def ends_within(port: int, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            return True
        time.sleep(0.1)
    return False


@pytest.mark.jvm
def test_with_cached_jars_a_start_needs_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_MERGE_MAVEN_REPOSITORY", "http://127.0.0.1:1/")
    said: list[str] = []
    with EmbeddedServer(None, on_progress=said.append):
        assert said == ["starting the embedded Gremlin Server"]


@pytest.mark.jvm
def test_a_taken_port_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(EmbeddedError, match=f"port {port} on 127.0.0.1 is taken"):
            EmbeddedServer(None, port=port).start()


@pytest.mark.jvm
def test_the_error_of_a_java_that_cannot_start_is_reported_and_its_log_stays() -> None:
    with pytest.raises(EmbeddedError, match="Too small maximum heap") as raised:
        EmbeddedServer(None, heap="1k").start()
    log = log_of(raised.value)
    assert "Too small maximum heap" in log.read_text()
    shutil.rmtree(log.parent)


def log_of(error: EmbeddedError) -> Path:
    return Path(error.message.rsplit("its log: ", 1)[1].rstrip(")"))


@pytest.mark.jvm
def test_a_property_without_a_cardinality_adds_to_a_set(gremlin: GraphTraversalSource) -> None:
    gremlin.add_v("file").property(T.id, SALES).property("dag_name", "a").to_list()
    gremlin.V(SALES).property("dag_name", "b").property("dag_name", "a").to_list()
    assert sorted(gremlin.V(SALES).values("dag_name").to_list()) == ["a", "b"]


@pytest.mark.jvm
def test_string_ids_find_their_vertex(gremlin: GraphTraversalSource) -> None:
    gremlin.add_v("file").property(T.id, SALES).to_list()
    assert gremlin.V(SALES).id_().to_list() == [SALES]


@pytest.mark.jvm
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


@pytest.mark.jvm
def test_writers_of_one_vertex_conflict_in_a_transactional_graph() -> None:
    """Many at once add to one counter's vertex; a conflict is an error, never a lost write."""
    with EmbeddedServer(None, transactional=True) as server:
        with connect(server.url) as g:
            g.add_v("x").property(T.id, "one").to_list()
        outcomes: list[str] = []

        deadline = time.monotonic() + 60

        def write(worker: int) -> None:
            with connect(server.url) as g:
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
        with connect(server.url) as g:
            assert g.V("one").values("dag_name").count().next() == outcomes.count("written")
    assert "conflict" in outcomes


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_serve_says_how_to_connect_and_does_not_change_the_graph(
    tmp_path: Path, ending: signal.Signals
) -> None:
    graph = write_graph(tmp_path / "graph", [{"id": "a", "label": "table"}])
    program = (
        "import functools, sys\n"
        "from pathlib import Path\n"
        "from lineage_merge.infra.embedded.serving import serve\n"
        "serve(Path(sys.argv[1]), None, functools.partial(print, flush=True))\n"
    )
    command = [sys.executable, "-W", "error", "-c", program, str(graph)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as serving:
        assert serving.stdout is not None
        said: list[str] = []
        while "stop with Ctrl-C" not in "".join(said[-1:]):
            said.append(serving.stdout.readline())
            assert said[-1], serving.communicate()[1]
        address = next(line for line in said if line.startswith("Gremlin Server: ")).split(": ", 1)[1].strip()
        url = said[-2].split('"')[1]
        assert remove_login(url) == address
        assert f"user: {urlsplit(url).username}, password of this start: {urlsplit(url).password}\n" in said
        assert any("its changes are not saved" in line for line in said)
        with connect(url) as g:
            assert g.V().id_().to_list() == ["a"]
            g.add_v("served").next()
        serving.send_signal(ending)
        _, errors = serving.communicate(timeout=30)
    assert serving.returncode == 0
    assert errors == ""
    assert list(whole_folder(graph)[0]) == ["a"]


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

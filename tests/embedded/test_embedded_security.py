"""What an attacker on this machine, or a web page in a browser on it, gets from the server of `serve`."""

import asyncio
import base64
import json
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest
from gremlin_python.driver.client import Client
from gremlin_python.driver.driver_remote_connection import DriverRemoteConnection
from gremlin_python.driver.protocol import GremlinServerError
from gremlin_python.driver.request import RequestMessage
from gremlin_python.process.graph_traversal import GraphTraversalSource, __

from lineage_merge.infra.embedded import EmbeddedServer
from lineage_merge.infra.embedded.connection import connect
from lineage_merge.infra.embedded.graph_store import GraphFolder
from lineage_merge.infra.embedded.graph_tables import empty_tables
from lineage_merge.infra.traversal_source import source
from tests.snapshots import write_graph


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    with EmbeddedServer(tmp_path_factory.mktemp("graph") / "folder" / "graph") as running:
        yield running


def address(server: EmbeddedServer, scheme: str = "ws") -> str:
    parts = urlsplit(server.url)
    return f"{scheme}://{parts.hostname}:{parts.port}/gremlin"


def submitted(server: EmbeddedServer, message: Any, **login: str) -> list[Any]:
    client = Client(server.url if not login else address(server), "g", **login)
    try:
        return list(client.submit(message).all().result())
    finally:
        client.close()


def opened(server: EmbeddedServer, headers: dict[str, str], login: bool = True) -> int:
    """The HTTP status of a handshake; 101 is an open connection."""

    async def handshake() -> int:
        async with aiohttp.ClientSession() as session:
            try:
                url = server.url if login else address(server)
                async with session.ws_connect(url, headers=headers):
                    return 101
            except aiohttp.WSServerHandshakeError as error:
                return error.status

    return asyncio.run(handshake())


@pytest.mark.jvm
@pytest.mark.parametrize("processor", ["", "session"])
@pytest.mark.parametrize("language", [None, "gremlin-groovy", "groovy", "Groovy", "javascript", "nashorn"])
def test_no_request_runs_a_script(
    server: EmbeddedServer, tmp_path: Path, language: str | None, processor: str
) -> None:
    touched = tmp_path / "touched"
    arguments = {"gremlin": f"['touch', '{touched}'].execute().waitFor()", "aliases": {"g": "g"}}
    if language:
        arguments["language"] = language
    if processor == "session":
        arguments["session"] = "1"
    with pytest.raises(GremlinServerError):
        submitted(server, RequestMessage(processor, "eval", arguments))
    assert not touched.exists()


@pytest.mark.jvm
@pytest.mark.parametrize("name", ["g.V().count()", "g.inject(1)"])
def test_a_session_is_refused_because_it_has_an_engine_of_its_own(server: EmbeddedServer, name: str) -> None:
    arguments = {"gremlin": name, "aliases": {"g": "g"}, "session": "1", "language": "gremlin-lang"}
    with pytest.raises(GremlinServerError, match="no scripts, no sessions"):
        submitted(server, RequestMessage("session", "eval", arguments))


@pytest.mark.jvm
def test_a_lambda_in_a_traversal_is_refused(server: EmbeddedServer) -> None:
    def ask(g: GraphTraversalSource, code: str) -> list[Any]:
        found: list[Any] = g.inject(1).map(lambda: (code, "gremlin-groovy")).to_list()
        return found

    def nested(g: GraphTraversalSource, code: str) -> list[Any]:
        found: list[Any] = g.inject(1).union(__.map(lambda: (code, "gremlin-groovy"))).to_list()
        return found

    with connect(server.url) as g:
        for request in (ask, nested):
            with pytest.raises(GremlinServerError, match="without lambdas"):
                request(g, "x -> 'id'.execute().text")


@pytest.mark.jvm
def test_no_request_reads_or_writes_files(server: EmbeddedServer, tmp_path: Path) -> None:
    file = tmp_path / "graph.json"
    with connect(server.url) as g:
        for request in (g.io(str(file)).write(), g.io(str(file)).read(), g.with_("x").io(str(file)).write()):
            with pytest.raises(GremlinServerError, match="no step io"):
                request.iterate()
    with pytest.raises(GremlinServerError):
        submitted(server, f"g.io('{file}').write().iterate()")

    assert not file.exists()


@pytest.mark.jvm
def test_text_without_a_language_is_read_by_the_grammar(server: EmbeddedServer) -> None:
    assert submitted(server, "g.inject(1, 2).count()") == [2]
    with pytest.raises(GremlinServerError):
        submitted(server, "1 + 1")


@pytest.mark.jvm
@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "null",
        "http://127.0.0.1:1",
        "http://localhost",
        "file://",
        "http://127.0.0.1.evil",
    ],
)
def test_a_page_of_another_origin_is_refused_even_with_the_password(
    server: EmbeddedServer, origin: str
) -> None:
    assert opened(server, {"Origin": origin}) == 403
    assert opened(server, {"Origin": origin}, login=False) == 403


@pytest.mark.jvm
def test_a_driver_that_sends_the_own_address_as_origin_is_let_in(server: EmbeddedServer) -> None:
    own = address(server, "http").removesuffix("/gremlin")
    assert opened(server, {"Origin": own}) == 101
    assert opened(server, {}) == 101


@pytest.mark.jvm
def test_a_wrong_password_opens_no_connection(server: EmbeddedServer) -> None:
    parts = urlsplit(server.url)
    for login in ("lineage:wrong", f"other:{parts.password}", "lineage:", ":", "lineage", "\0"):
        header = "Basic " + base64.b64encode(login.encode()).decode()
        assert opened(server, {"Authorization": header}, login=False) == 401, login
    for header in ("Basic", "Basic !", f"Bearer {parts.password}", "AWS4-HMAC-SHA256 Credential=x"):
        assert opened(server, {"Authorization": header}, login=False) == 401, header


@pytest.mark.jvm
def test_without_the_password_no_request_is_answered(server: EmbeddedServer) -> None:
    parts = urlsplit(server.url)
    for login in (("lineage", "wrong"), ("other", parts.password or ""), ("lineage", "\0")):
        with pytest.raises(GremlinServerError, match="401"):
            submitted(server, "g.V()", username=login[0], password=login[1])

    async def ask_again_and_again() -> list[int]:
        request: dict[str, Any] = {
            "requestId": {"@type": "g:UUID", "@value": "41d2e28a-20a4-4ab0-b379-d810dede3786"}
        }
        request |= {"op": "eval", "processor": "", "args": {"gremlin": "g.inject(1)", "aliases": {"g": "g"}}}
        mime = b"application/vnd.gremlin-v3.0+json"
        statuses = []
        async with aiohttp.ClientSession() as session, session.ws_connect(address(server)) as socket:
            await socket.send_bytes(bytes([len(mime)]) + mime + json.dumps(request).encode())
            statuses.append(json.loads((await socket.receive(5)).data)["status"]["code"])
        return statuses

    assert asyncio.run(ask_again_and_again()) == [407]


@pytest.mark.jvm
def test_a_console_or_a_notebook_sends_the_password_by_sasl(server: EmbeddedServer) -> None:
    parts = urlsplit(server.url)
    login = {"username": parts.username or "", "password": parts.password or ""}
    assert submitted(server, "g.inject(7)", **login) == [7]
    connection = DriverRemoteConnection(address(server), "g", **login)
    try:
        assert source(connection).inject(8).to_list() == [8]
    finally:
        connection.close()


@pytest.mark.jvm
@pytest.mark.parametrize("path", ["/", "/?gremlin=g.V()", "/gremlin?gremlin=g.V()", "/gremlin", "/status"])
@pytest.mark.parametrize("body", [None, b'{"gremlin": "g.V()"}'])
def test_plain_http_is_not_served(server: EmbeddedServer, path: str, body: bytes | None) -> None:
    url = address(server, "http").removesuffix("/gremlin") + path
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(url, data=body, timeout=10)
    refused.value.close()
    assert refused.value.code == (426 if path.startswith("/gremlin") else 404)


@pytest.mark.jvm
def test_each_start_has_another_password_that_only_its_user_can_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    graph = write_graph(tmp_path / "graph", [{"id": "a", "label": "table"}])
    passwords = []
    for _ in range(2):
        with EmbeddedServer(graph) as server:
            password = urlsplit(server.url).password
            assert password
            passwords.append(password)
            commands = subprocess.check_output(["ps", "-ww", "-eo", "args="], text=True)
            assert password not in commands
            assert password not in server.address
            (folder,) = (tmp_path / "temporary").iterdir()
            assert folder.stat().st_mode & 0o777 == 0o700
            modes = {file.name: file.stat().st_mode & 0o777 for file in folder.iterdir()}
            assert modes["server.yaml"] == modes["graph.json"] == 0o600
    assert len(set(passwords)) == 2
    assert all(len(password) >= 32 for password in passwords)


def test_only_the_user_can_read_a_graph(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("LINEAGE_MERGE_HOME", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    graph = GraphFolder(tmp_path / "lineage-merge" / "graph")
    graph.path.parent.mkdir(mode=0o755)  # as an earlier version left it
    with graph.lock():
        graph.write(empty_tables(), empty_tables())
    found = list(graph.path.parent.rglob("*"))
    modes = {file.name: file.stat().st_mode & 0o777 for file in found}
    assert modes == {file.name: 0o700 if file.is_dir() else 0o600 for file in found}
    assert {"graph", "graph.lock", "vertices.arrow"} <= set(modes)
    assert graph.path.parent.stat().st_mode & 0o777 == 0o700


def test_a_folder_that_holds_other_files_keeps_its_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    with GraphFolder(tmp_path / "graph").lock():
        pass
    assert tmp_path.stat().st_mode & 0o777 == 0o755

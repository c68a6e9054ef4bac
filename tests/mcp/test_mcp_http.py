"""Access over HTTP: only with the token, only under a name of this machine, only on loopback."""

import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx2
import pytest

from lineage_merge.mcp.http_access import read_token, require_loopback
from lineage_merge.model.errors import ConfigError
from tests.command_line import clean_environment, in_process
from tests.lineage_made import MadeLineage
from tests.mcp.clients import TOKEN, HttpServer, answer, http, words

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
HEADERS = {"Accept": "application/json, text/event-stream", "Authorization": f"Bearer {TOKEN}"}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return MadeLineage().flow("a > b").folder(tmp_path_factory.mktemp("graph"))


@pytest.fixture(scope="module")
def server(folder: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    with http(tmp_path_factory.mktemp("http"), "--folder", folder) as running:
        yield running


def status(server: HttpServer, method: str = "POST", path: str = "", **headers: str | None) -> int:
    """The status of a request with the token, unless headers replace it (None: without)."""
    changed = {name.replace("_", "-"): value for name, value in headers.items()}
    sent = {name: value for name, value in (HEADERS | changed).items() if value is not None}
    url = server.url if not path else server.url.removesuffix("/mcp") + path
    return httpx2.request(
        method, url, headers=sent, json=INITIALIZE if method == "POST" else None
    ).status_code


@pytest.mark.parametrize(
    "authorization",
    [None, "", "Bearer", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", f"Basic {TOKEN}", TOKEN],
)
def test_without_the_token_every_request_is_refused(server: HttpServer, authorization: str | None) -> None:
    for method in ("POST", "GET", "DELETE", "OPTIONS"):
        for path in ("", "/", "/other", "/.well-known/oauth-protected-resource"):
            assert status(server, method, path, Authorization=authorization) == 401
    assert answer(server.client(), "downstream", name="a")["total"] == 1


def test_a_refusal_names_the_scheme_and_nothing_else(server: HttpServer) -> None:
    found = httpx2.post(server.url, json=PING)
    assert found.headers["www-authenticate"].startswith("Bearer ")
    assert "server" not in found.headers
    assert "access-control-allow-origin" not in found.headers
    assert found.text == "a bearer token is required\n"


def test_two_tokens_are_refused(server: HttpServer) -> None:
    both = [("Authorization", f"Bearer {TOKEN}"), ("Authorization", f"Bearer {TOKEN}")]
    assert httpx2.post(server.url, headers=both, json=PING).status_code == 401


def test_only_names_of_this_machine_with_its_port_are_accepted(server: HttpServer) -> None:
    port = server.url.rpartition(":")[2].partition("/")[0]
    assert status(server) == 200
    for host in (f"127.0.0.1:{port}", f"localhost:{port}"):
        assert status(server, Host=host, Origin=f"http://{host}") == 200
    for host in (
        "evil.example",
        f"evil.example:{port}",
        "localhost",
        "localhost:1",
        f"localhost.evil:{port}",
    ):
        assert status(server, Host=host) == 421
    for origin in ("http://evil.example", f"http://evil.example:{port}", "null", f"https://localhost:{port}"):
        assert status(server, Origin=origin) == 403


def test_connections_without_a_request_block_no_client(server: HttpServer) -> None:
    address = httpx2.URL(server.url)
    with ExitStack() as idle:
        for _ in range(100):
            opened = socket.create_connection((address.host, address.port))
            idle.enter_context(opened).sendall(b"POST /mcp HTTP/1.1\r\n")

        assert answer(server.client(), "downstream", name="a")["total"] == 1


def test_large_requests_are_refused(server: HttpServer) -> None:
    large = {**PING, "params": {"x": "y" * (2 << 20)}}
    assert httpx2.post(server.url, headers=HEADERS, json=large).status_code == 413


def test_the_token_is_in_no_output(server: HttpServer) -> None:
    status(server, Authorization=f"Bearer {TOKEN}x")
    status(server, Host="evil.example")
    answer(server.client(), "downstream", name="a")
    printed = server.log.read_text()
    assert TOKEN not in printed
    assert printed.startswith("serving at http://127.0.0.1:")


def test_a_random_token_is_printed_once(folder: str) -> None:
    process = subprocess.Popen(
        words("--folder", folder, "--http", "0"),
        env=clean_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    url = process.stderr.readline().strip().removeprefix("serving at ")
    token = process.stderr.readline().strip().removeprefix("token: ")
    try:
        assert len(token) >= 43
        assert httpx2.post(url, json=PING).status_code == 401
        headers = HEADERS | {"Authorization": f"Bearer {token}"}
        assert httpx2.post(url, headers=headers, json=INITIALIZE).status_code == 200
    finally:
        process.terminate()
    out, err = process.communicate(timeout=20)
    assert out == ""
    assert token not in err


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.5", "example.com", "", "127.0.0.2"])
def test_other_addresses_are_refused(host: str) -> None:
    with pytest.raises(ConfigError, match="not a loopback address"):
        require_loopback(host)


def test_loopback_addresses_are_accepted() -> None:
    assert {each: require_loopback(each) for each in ("127.0.0.1", "localhost", "::1", "[::1]")} == {
        "127.0.0.1": "127.0.0.1",
        "localhost": "127.0.0.1",
        "::1": "::1",
        "[::1]": "::1",
    }


def test_tokens_of_files_and_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    file.chmod(0o640)
    with pytest.raises(ConfigError, match="other users may read it"):
        read_token(None, file)
    file.chmod(0o600)
    assert read_token(None, file) == (TOKEN, False)
    monkeypatch.setenv("A_TOKEN", f" {TOKEN} ")
    assert read_token("A_TOKEN", None) == (TOKEN, False)
    for wrong in ("", "short", "a token with spaces", "tökens-are-ascii-only"):
        monkeypatch.setenv("A_TOKEN", wrong)
        with pytest.raises(ConfigError, match="--token-env"):
            read_token("A_TOKEN", None)
    with pytest.raises(ConfigError, match="omit one of them"):
        read_token("A_TOKEN", file)
    with pytest.raises(ConfigError, match="cannot read"):
        read_token(None, tmp_path / "missing")
    first, second = read_token(None, None), read_token(None, None)
    assert first[1]
    assert first != second


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--http", "0", "--host", "0.0.0.0"), 2, "not a loopback address"),
        (("--token-env", "X"), 2, "need --http PORT"),
        (("--http", "0", "--token-env", "UNSET_VARIABLE"), 2, "the token is empty"),
        (("--demo", "--folder", "x"), 2, "select different graphs"),
        (("--config", "missing.yml"), 2, "missing.yml"),
    ],
)
def test_invalid_options_end_the_command(arguments: tuple[str, ...], code: int, message: str) -> None:
    outcome = in_process("mcp", *arguments)
    assert (outcome.code, outcome.out) == (code, "")
    assert message in outcome.err


def test_a_port_in_use_is_an_error(server: HttpServer) -> None:
    port = server.url.rpartition(":")[2].partition("/")[0]
    done = subprocess.run(
        words("--http", port),
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert f"cannot listen on port {port}" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""

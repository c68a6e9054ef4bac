"""Open graphs: time limits, cancellation, order, files that change, and servers that are unreachable."""

import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from lineage_merge.mcp.graphs import OpenGraphs, Past
from lineage_merge.mcp.tool_errors import Busy, as_error
from lineage_merge.model.errors import (
    ConfigError,
    EmbeddedError,
    GraphError,
    GraphUnreachable,
    IntermediateError,
    LineageMergeError,
    SourceError,
)
from lineage_merge.query import Lineage
from lineage_merge.query.selection import GraphSelection
from lineage_merge.query.session import Session
from tests.command_line import clean_environment
from tests.history.made_history import MadeHistory
from tests.lineage_made import MadeLineage, at
from tests.made_merges import Made
from tests.mcp.clients import answer, ask, failed, inside, stdio, structured, words
from tests.snapshots import write_graph

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


def opened(folder: str, seconds: float = 20, prepare: Callable[[], None] = lambda: None) -> OpenGraphs:
    return OpenGraphs(GraphSelection(folder=folder), seconds, prepare)


def targets(asked: Session) -> set[str]:
    return {each.to_id for each in Lineage(asked).downstream("a").graph.edges}


@pytest.fixture
def folder(tmp_path: Path) -> str:
    made = MadeLineage().flow("a > b").folder(tmp_path / "graph")
    _age(made)
    return made


def _age(folder: str) -> None:
    """Make files old: younger ones may still be written, so they are read again each time."""
    for each in Path(folder).rglob("*.json"):
        os.utime(each, (time.time() - 3600, time.time() - 3600))


def test_questions_to_a_graph_are_answered_one_after_another(folder: str) -> None:
    running: list[int] = []
    most: list[int] = []

    def question(asked: Session) -> set[str]:
        running.append(1)
        most.append(len(running))
        time.sleep(0.02)
        found = targets(asked)
        running.pop()
        return found

    async def run() -> list[set[str]]:
        graphs, found = opened(folder), []

        async def one() -> None:
            found.append(await graphs.ask(question))

        async with anyio.create_task_group() as group:
            for _ in range(8):
                group.start_soon(one)
        graphs.close()
        return found

    assert anyio.run(run) == [{at("b")}] * 8
    assert max(most) == 1


def test_a_question_without_an_answer_is_given_up_and_the_next_is_answered(folder: str) -> None:
    release = threading.Event()
    found: list[Any] = []

    async def run() -> None:
        graphs = opened(folder, 0.5)
        await graphs.ask(targets)

        async def slow() -> None:
            with pytest.raises(Busy, match=r"no answer within 0\.5 s"):
                await graphs.ask(lambda _: release.wait(30))

        async def waiting() -> None:
            await anyio.sleep(0.3)
            found.append(await graphs.ask(targets))  # behind the slow one

        async with anyio.create_task_group() as group:
            group.start_soon(slow)
            group.start_soon(waiting)
        found.append(await graphs.ask(targets))
        graphs.close()

    try:
        anyio.run(run)
    finally:
        release.set()
    assert found == [{at("b")}] * 2


def test_abandoned_questions_are_bounded(folder: str) -> None:
    release = threading.Event()

    async def run() -> None:
        graphs = opened(folder, 0.3)
        for _ in range(4):
            await graphs.ask(targets)
            with pytest.raises(Busy, match="no answer"):
                await graphs.ask(lambda _: release.wait(30))
        with pytest.raises(Busy, match="still running"):
            await graphs.ask(targets)
        release.set()
        await anyio.sleep(0.3)
        assert await graphs.ask(targets) == {at("b")}
        graphs.close()

    try:
        anyio.run(run)
    finally:
        release.set()


def test_a_cancelled_question_does_not_block_the_next(folder: str) -> None:
    release = threading.Event()

    async def run() -> set[str]:
        graphs = opened(folder)
        await graphs.ask(targets)
        with anyio.move_on_after(0.2):
            await graphs.ask(lambda _: release.wait(30))
        found = await graphs.ask(targets)
        graphs.close()
        return found

    try:
        assert anyio.run(run) == {at("b")}
    finally:
        release.set()


def test_a_graph_that_opens_slowly_is_open_for_the_next_question(folder: str) -> None:
    opening: list[float] = []

    def prepare() -> None:
        opening.append(time.monotonic())
        time.sleep(1.0)

    async def run() -> set[str]:
        graphs = opened(folder, 0.3, prepare)
        with pytest.raises(Busy, match="still being opened"):
            await graphs.ask(targets)
        await anyio.sleep(1.0)
        found = await graphs.ask(targets)
        graphs.close()
        return found

    assert anyio.run(run) == {at("b")}
    assert len(opening) == 1


def test_a_folder_is_read_once_and_again_when_it_changes(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lineage_merge.questions.backends import folder as folder_backend

    read: list[str] = []
    original = folder_backend.read_folder

    def counted(location: str) -> Any:
        read.append(location)
        return original(location)

    monkeypatch.setattr(folder_backend, "read_folder", counted)

    async def run() -> list[set[str]]:
        graphs = opened(folder)
        found = [await graphs.ask(targets), await graphs.ask(targets)]
        more = MadeLineage().flow("a > b").flow("a > c")
        for kind, rows in (("nodes", more.nodes), ("edges", more.edges)):
            text = "".join(json.dumps(row) + "\n" for row in rows.values())
            (Path(folder) / kind / "part-00000.json").write_text(text)
        found.append(await graphs.ask(targets))
        graphs.close()
        return found

    assert anyio.run(run) == [{at("b")}, {at("b")}, {at("b"), at("c")}]
    assert len(read) == 2


def test_a_folder_that_is_missing_or_damaged_is_an_error_until_it_is_repaired(tmp_path: Path) -> None:
    place = tmp_path / "graph"

    async def run() -> None:
        graphs = opened(str(place))
        with pytest.raises(LineageMergeError):
            await graphs.ask(targets)
        MadeLineage().flow("a > b").folder(place)
        assert await graphs.ask(targets) == {at("b")}
        (place / "edges" / "part-00000.json").write_text("{")
        with pytest.raises(LineageMergeError):
            await graphs.ask(targets)
        graphs.close()

    anyio.run(run)


def test_graphs_of_the_past_are_few(tmp_path: Path) -> None:
    history = MadeHistory(str(tmp_path / "history"))
    for day in (1, 3, 5, 7):
        history.full(f"2026-01-0{day}T04:00", Made().job("spark", "load", {f"b{day}": ["a"]}))
    selection = GraphSelection(graph_file=tmp_path / "none", history=history.location)

    async def run() -> list[set[str]]:
        graphs = OpenGraphs(selection, 20)
        found = [await graphs.ask(targets, Past(f"2026-01-0{day}", None)) for day in (2, 4, 6, 8, 2)]
        assert len(graphs._threads) == 2
        graphs.close()
        return found

    assert anyio.run(run) == [{f"dev|wh|b{day}"} for day in (1, 3, 5, 7, 1)]


def test_an_unreachable_graph_is_an_error_and_the_next_call_tries_again(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"ws://127.0.0.1:{port}/gremlin"
    results = ask(
        inside(endpoint=url),
        ("search", {"text": "a"}),
        ("search", {}),
        ("upstream", {"name": "a"}),
    )
    for result in results:
        assert result.is_error
        found = json.loads(result.content[0].text)  # type: ignore[union-attr]
        assert found["error"] == "unreachable"
        assert found["message"].startswith("the graph is unreachable. Fix: try again later")
        assert str(port) not in str(found)


def test_a_history_is_asked_without_its_graph(tmp_path: Path) -> None:
    history = MadeHistory(str(tmp_path / "history"))
    history.full("2026-01-01T04:00", Made().job("spark", "load", {"b": ["a"]}))
    server = inside(endpoint="ws://127.0.0.1:1/gremlin", history=history.location)
    merges, events, present = ask(
        server, ("history", {}), ("history", {"name": "b", "environment": "dev"}), ("upstream", {"name": "b"})
    )
    assert [each["dag"] for each in structured(merges)["rows"]] == ["daily"]
    assert structured(events)["of"] == "dev|wh|b"
    assert present.is_error


def test_a_graph_that_never_answers_ends_at_the_time_limit() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(50)
        url = f"ws://127.0.0.1:{silent.getsockname()[1]}/gremlin"
        started = time.monotonic()
        results = ask(inside(seconds=1, endpoint=url), ("search", {}), ("upstream", {"name": "a"}))
        assert time.monotonic() - started < 30
    for result in results:
        assert json.loads(result.content[0].text)["error"] in ("busy", "unreachable")  # type: ignore[union-attr]


@pytest.mark.jvm
def test_a_connection_is_used_again_and_its_loss_is_an_error() -> None:
    from lineage_merge.infra.embedded import EmbeddedServer

    async def run() -> None:
        with EmbeddedServer(None) as server:
            MadeLineage().flow("a > b").load(server.url)
            graphs = OpenGraphs(GraphSelection(endpoint=server.url), 30)
            assert await graphs.ask(targets) == {at("b")}
            thread = next(iter(graphs._threads.values()))
            assert await graphs.ask(targets) == {at("b")}
            assert next(iter(graphs._threads.values())) is thread
        # An error of the call before its time limit, though a load would wait for minutes.
        with pytest.raises(GraphError):
            await graphs.ask(targets)
        with pytest.raises(GraphUnreachable):
            await graphs.ask(targets)
        graphs.close()

    anyio.run(run)


@pytest.mark.parametrize(
    "error",
    [
        ConfigError("gremlin.endpoint", "invalid: wss://lovelace:secret@cluster.internal"),
        GraphUnreachable("wss://cluster.internal:8182: connection refused"),
        EmbeddedError("cannot read the graph /home/lovelace/graph"),
        IntermediateError("/home/lovelace/lineage/nodes: damaged"),
        SourceError("/home/lovelace/history: permission denied"),
        RuntimeError("/home/lovelace/app.py, line 3: secret"),
        ModuleNotFoundError("No module named 'pyarrow' in /home/lovelace"),
    ],
)
def test_errors_have_no_paths_addresses_and_secrets(error: Exception) -> None:
    found = json.dumps(as_error(error))
    for each in ("/home", "lovelace", "secret", "cluster", "Traceback", "line 3"):
        assert each not in found


def test_an_empty_history_does_not_name_its_place(tmp_path: Path) -> None:
    place = tmp_path / "a place"
    server = inside(graph_file=write_graph(tmp_path / "graph"), history=str(place))
    for name, given in (
        ("history", {}),
        ("upstream", {"name": "a", "as_of": "3d"}),
        ("diff", {"start": "3d"}),
    ):
        found = failed(server, name, **given)
        assert str(tmp_path) not in found["message"]
        assert "no history" in found["message"] or "no merge" in found["message"]


def test_the_embedded_graph_needs_no_command_before(tmp_path: Path) -> None:
    found = answer(stdio(LINEAGE_MERGE_HOME=str(tmp_path / "data")), "search", text="a")
    assert found["total"] == 0
    assert found["note"].startswith("no matching dataset; the graph is empty")


def test_standard_output_carries_the_protocol_only(folder: str) -> None:
    lines = [HELLO, {"jsonrpc": "2.0", "method": "notifications/initialized"}, "not JSON"]
    text = "".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in lines)
    done = subprocess.run(
        words("--folder", folder),
        input=text,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in done.stdout.splitlines())
    assert json.loads(done.stdout.splitlines()[0])["result"]["serverInfo"]["name"] == "lineage-merge"
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_ends_a_server_that_waits_for_its_client(folder: str, number: int, code: int) -> None:
    process = subprocess.Popen(
        words("--folder", folder),
        env=clean_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdin.write(json.dumps(HELLO) + "\n")
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["id"] == 1
    process.send_signal(number)
    assert process.wait(10) == code
    assert process.stderr.read() == ""
    for each in (process.stdin, process.stdout, process.stderr):
        each.close()


def test_calls_of_one_session_run_side_by_side(folder: str) -> None:
    async def run() -> list[int]:
        totals: list[int] = []
        async with inside(folder=folder)() as client:

            async def one() -> None:
                totals.append(structured(await client.call_tool("downstream", {"name": "a"}))["total"])

            async with anyio.create_task_group() as group:
                for _ in range(10):
                    group.start_soon(one)
        return totals

    assert anyio.run(run) == [1] * 10

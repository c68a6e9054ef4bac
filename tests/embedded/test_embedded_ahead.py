import threading
from pathlib import Path

import pytest
from gremlin_python.process.traversal import T

from lineage_merge.infra.embedded import EmbeddedServer
from lineage_merge.infra.embedded.connection import connected
from lineage_merge.infra.embedded.serving import started_ahead
from lineage_merge.model.errors import EmbeddedError
from lineage_merge.orchestration import pipeline
from lineage_merge.orchestration.configuration import CONFIGURATION

SETTINGS = {"dag_name": "daily", "environment": "dev", "gremlin": {"endpoint": "embedded"}}


class Server:
    """A server whose start takes as long as a test wants, and may fail."""

    def __init__(self, error: EmbeddedError | None = None) -> None:
        self.may_start, self.stopped = threading.Event(), threading.Event()
        self.error = error

    def start(self) -> None:
        assert self.may_start.wait(60)
        if self.error:
            raise self.error

    def stop(self) -> None:
        self.stopped.set()


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    return monkeypatch


def replace(use: pytest.MonkeyPatch, server: Server) -> None:
    use.setattr(EmbeddedServer, "attach_or_start", lambda *_, **__: server)


def test_a_background_start_is_stopped_at_the_end(use: pytest.MonkeyPatch) -> None:
    server = Server()
    replace(use, server)
    with started_ahead("embedded", lambda _: None) as started:
        started.check()
        server.may_start.set()
        started.wait()
        assert not server.stopped.is_set()
    assert server.stopped.is_set()


def test_what_a_start_fails_with_is_raised_where_it_is_awaited(use: pytest.MonkeyPatch) -> None:
    server = Server(EmbeddedError("Gremlin Server could not be fetched: Connection refused"))
    replace(use, server)
    server.may_start.set()
    with (
        pytest.raises(EmbeddedError, match=r"^Gremlin Server could not be fetched: Connection refused$"),
        started_ahead("embedded", lambda _: None) as started,
    ):
        started.wait()
    assert not server.stopped.is_set()


def test_a_command_that_ends_before_the_start_does_not_wait_for_it(use: pytest.MonkeyPatch) -> None:
    server = Server()
    replace(use, server)
    with pytest.raises(KeyboardInterrupt), started_ahead("embedded", lambda _: None):
        raise KeyboardInterrupt
    assert not server.stopped.is_set()
    server.may_start.set()
    assert server.stopped.wait(60)  # what started too late does not stay


def test_another_graph_starts_nothing(use: pytest.MonkeyPatch) -> None:
    use.setattr(EmbeddedServer, "start", lambda _self: pytest.fail("started"))
    with started_ahead("ws://localhost:8182/gremlin", lambda _: None) as started:
        started.wait()


def test_a_run_finds_the_server_and_its_graph_is_saved(use: pytest.MonkeyPatch) -> None:
    settings = CONFIGURATION.parse(SETTINGS, needs_source=False)
    with started_ahead("embedded", lambda _: None) as started:
        started.wait()
        with pipeline.endpoint(settings) as target, connected(target.url) as g:
            g.add_v("file").property(T.id, "a").to_list()
    with pipeline.endpoint(settings) as target, connected(target.url) as g:
        assert g.V().id_().to_list() == ["a"]

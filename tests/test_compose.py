"""docker-compose.yml without Docker: its files really start, its comments name what exists."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar

import pytest
import yaml
from gremlin_python.driver.client import Client
from gremlin_python.driver.protocol import GremlinServerError
from gremlin_python.process.traversal import T

from lineage_merge.infra import storage
from lineage_merge.infra.embedded.jars import GREMLIN_SERVER, gremlin_jars
from lineage_merge.infra.embedded.java import find_java
from lineage_merge.infra.embedded.process import free_port
from lineage_merge.load.gremlin.connection import Endpoint, connect
from lineage_merge.orchestration.configuration import CONFIGURATION
from tests.http_server import serving
from tests.s3_fixtures import S3

REPOSITORY = Path(__file__).parents[1]
COMPOSE_FILE = REPOSITORY / "docker-compose.yml"
CONFIG_FILE = REPOSITORY / "docker" / "lineage_merge.yml"
SERVICES: dict[str, Any] = yaml.safe_load(COMPOSE_FILE.read_text())["services"]
SERVER_HOME = PurePosixPath("/opt/gremlin-server")
START_SECONDS = 60


class Gremlin:
    """The Gremlin Server of the file, started from what its volumes mount."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port("127.0.0.1")
        self.url = f"ws://127.0.0.1:{self.port}/gremlin"
        self._home = folder
        for source, target, _ in mounts("gremlin"):
            inside = folder / PurePosixPath(target).relative_to(SERVER_HOME)
            if (REPOSITORY / source).is_file():
                inside.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(REPOSITORY / source, inside)
            elif source.startswith("."):
                shutil.copytree(REPOSITORY / source, inside)
            else:
                inside.mkdir(parents=True)
        *_, settings = SERVICES["gremlin"]["command"]
        text = (folder / settings).read_text()
        here = text.replace("\nport: 8182\n", f"\nport: {self.port}\n").replace(" 0.0.0.0\n", " 127.0.0.1\n")
        (folder / settings).write_text(here)

    @contextmanager
    def running(self) -> Iterator["Gremlin"]:
        """Start it, and end it as `docker compose stop` does."""
        java = find_java()
        classes = f"{gremlin_jars(lambda _: None)}/*:conf"
        program, *options = SERVICES["gremlin"]["entrypoint"]
        assert (program, options[-2:]) == ("java", ["-cp", "lib/*:conf"])
        command = [str(java), "-XX:TieredStopAtLevel=1", *options[:-1], classes]
        command += SERVICES["gremlin"]["command"]
        with (self._home / "server.log").open("a") as log:
            process = subprocess.Popen(command, cwd=self._home, stdout=log, stderr=subprocess.STDOUT)
        try:
            self._await(process)
            yield self
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)

    def _await(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not self.healthy():
            log = (self._home / "server.log").read_text()
            assert process.poll() is None, f"the server ended: {log[-2000:]}"
            assert time.monotonic() < deadline, f"no answer: {log[-2000:]}"
            time.sleep(0.2)

    def healthy(self) -> bool:
        """Whether the health check passes, asked of this server's port."""
        _, *command = SERVICES["gremlin"]["healthcheck"]["test"]
        command[-1] = command[-1].replace("/8182", f"/{self.port}")
        return subprocess.run(command, check=False, timeout=20, capture_output=True).returncode == 0


def mounts(service: str) -> list[tuple[str, str, str]]:
    """(source, target, mode) of a service's volumes."""
    parts = [volume.split(":") for volume in SERVICES[service].get("volumes", [])]
    return [(source, target, mode[0] if mode else "rw") for source, target, *mode in parts]


@pytest.fixture(scope="module")
def gremlin_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gremlin]:
    """The server after a stop, which had one vertex before."""
    server = Gremlin(tmp_path_factory.mktemp("gremlin-server"))
    with server.running(), connect(Endpoint(server.url)) as g:
        g.add_v("file").property(T.id, "dev|stored").property("tag", "one").to_list()
        g.V("dev|stored").property("tag", "two").to_list()
    with server.running():
        yield server


@pytest.mark.jvm
def test_a_value_added_without_a_cardinality_stands_beside_the_first(gremlin_server: Gremlin) -> None:
    with connect(Endpoint(gremlin_server.url)) as g:
        g.add_v("file").property(T.id, "dev|a").property("tag", "one").to_list()
        # A request of its own: within `addV` both values stay whatever the default is.
        g.V("dev|a").property("tag", "two").to_list()
        assert sorted(g.V("dev|a").values("tag").to_list()) == ["one", "two"]


@pytest.mark.jvm
def test_ids_are_strings_and_stay_what_they_are(gremlin_server: Gremlin) -> None:
    with connect(Endpoint(gremlin_server.url)) as g:
        g.add_v("file").property(T.id, "dev|s3://raw|1").as_("v").add_e("feeds").property(T.id, "7").to_list()
        assert g.V("dev|s3://raw|1").id_().to_list() == ["dev|s3://raw|1"]
        assert g.E("7").id_().to_list() == ["7"]


@pytest.mark.jvm
def test_the_graph_is_there_again_after_a_stop(gremlin_server: Gremlin) -> None:
    with connect(Endpoint(gremlin_server.url)) as g:
        assert sorted(g.V("dev|stored").values("tag").to_list()) == ["one", "two"]


def test_the_server_is_the_one_that_is_embedded_and_tested() -> None:
    assert SERVICES["gremlin"]["image"] == f"tinkerpop/gremlin-server:{GREMLIN_SERVER}"


def test_the_configuration_is_mounted_such_that_the_server_cannot_change_it() -> None:
    bound = [mount for mount in mounts("gremlin") if mount[0].startswith(".")]
    assert bound
    assert all(mode == "ro" for _, _, mode in bound)
    # The image's entry point edits the file that it is given, and ends where it cannot.
    assert SERVICES["gremlin"]["entrypoint"][0] == "java"


@pytest.mark.jvm
@pytest.mark.parametrize("language", [None, "gremlin-groovy"])
def test_the_server_runs_no_script(gremlin_server: Gremlin, tmp_path: Path, language: str | None) -> None:
    touched = tmp_path / "touched"
    script = f"['touch', '{touched}'].execute().waitFor()"
    options = {"language": language} if language else {}
    client = Client(gremlin_server.url, "g")
    try:
        with pytest.raises(GremlinServerError):
            client.submit(script, request_options=options).all().result()
        assert client.submit("g.inject(1)").all().result() == [1]
    finally:
        client.close()
    assert not touched.exists()


@pytest.mark.jvm
def test_the_server_answers_no_plain_http_and_no_page_of_another_origin(gremlin_server: Gremlin) -> None:
    address = gremlin_server.url.replace("ws://", "http://")
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    page = {**upgrade, "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==", "Origin": "https://evil.example"}
    for path, headers, status in (("", {}, 426), ("?gremlin=g.V()", {}, 426), ("", page, 403)):
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(urllib.request.Request(address + path, headers=headers), timeout=10)
        refused.value.close()
        assert refused.value.code == status


@pytest.mark.parametrize("service", SERVICES)
def test_every_mounted_path_exists(service: str) -> None:
    named = yaml.safe_load(COMPOSE_FILE.read_text())["volumes"]
    for source, _, _ in mounts(service):
        assert (REPOSITORY / source).exists() if source.startswith(".") else source in named, source


def test_ports_are_open_to_this_machine_only() -> None:
    published = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert len(published) == 4
    assert all(port.startswith("127.0.0.1:") for port in published)


def test_services_that_others_wait_for_have_health_checks() -> None:
    for name, service in SERVICES.items():
        assert "healthcheck" in service or not service.get("ports"), f"{name} serves without a health check"
        for other, wait in service.get("depends_on", {}).items():
            healthy = wait["condition"] == "service_healthy"
            assert healthy == ("healthcheck" in SERVICES[other]), f"{name} waits for {other}"


def test_spline_logs_in_with_the_password_that_the_database_is_given() -> None:
    password = SERVICES["arangodb"]["environment"]["ARANGO_ROOT_PASSWORD"]
    database = f"arangodb://root:{password}@arangodb:8529/spline"
    assert SERVICES["spline"]["environment"]["SPLINE_DATABASE_CONNECTION_URL"] == database
    assert database in SERVICES["spline-init"]["command"]


class Status(BaseHTTPRequestHandler):
    """Answers as Spline does to HEAD."""

    answer: ClassVar[int] = 200

    def do_HEAD(self) -> None:
        self.send_response(self.answer if self.path == "/producer/status" else 404)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name in the base class
        """Nothing on the screen of a test."""


@pytest.mark.parametrize(("answer", "healthy"), [(200, True), (503, False)])
def test_spline_is_ready_when_its_database_is(
    answer: int, healthy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Status, "answer", answer)
    _, *command = SERVICES["spline"]["healthcheck"]["test"]
    with serving(Status) as server:
        command[-1] = command[-1].replace("/8080", f"/{server.server_port}")
        done = subprocess.run(command, check=False, timeout=20)
    assert (done.returncode == 0) == healthy


def test_the_bucket_is_made_and_holds_the_sample_manifest(s3: S3) -> None:
    service = SERVICES["s3-init"]
    places = {target: str(REPOSITORY / source) for source, target, _ in mounts("s3-init")}
    _, *arguments = [places.get(part, part) for part in [*service["entrypoint"], *service["command"]]]
    for _ in ("first start", "second start"):
        environment = {**os.environ, **service["environment"], "AWS_ENDPOINT_URL_S3": s3.url}
        subprocess.run([sys.executable, *arguments], check=True, timeout=60, env=environment)
    manifest = CONFIGURATION.load(CONFIG_FILE, environ={}).sources["dbt"][0].manifest
    assert storage.read_text(manifest) == (REPOSITORY / "sample_data/dbt/manifest.json").read_text()


def published_ports() -> dict[str, str]:
    """The port on this machine, by service."""
    ports = {name: service.get("ports") for name, service in SERVICES.items()}
    return {name: port[0].split(":")[1] for name, port in ports.items() if port}


def documented() -> tuple[list[dict[str, Any]], dict[str, str]]:
    """What the comments say: pieces of configuration, and environment variables."""
    comments = re.findall(r"^\s*#(.*)$", COMPOSE_FILE.read_text(), re.MULTILINE)
    pieces = [yaml.safe_load(line) for line in comments if re.match(r"\s{3}\w+: [{\[]", line)]
    words = [word for line in comments for word in line.split() if re.match(r"[A-Z_0-9]+=\S", word)]
    return pieces, dict(shlex.split(word)[0].split("=", 1) for word in words)


def test_the_pieces_of_configuration_in_the_comments_are_those_of_the_ready_file() -> None:
    settings = yaml.safe_load(CONFIG_FILE.read_text())
    pieces, _ = documented()
    assert [section for piece in pieces for section in piece] == ["gremlin", "spline", "dbt"]
    for piece in pieces:
        for section, value in piece.items():
            assert settings[section] == value


def test_the_variables_in_the_comments_set_the_same_as_the_ready_file() -> None:
    wanted = CONFIGURATION.load(CONFIG_FILE, environ={})
    _, variables = documented()
    own = {name for name in variables if name.startswith("LINEAGE_MERGE_")}
    assert own
    assert own <= {key.variable for key in CONFIGURATION.settable}
    others = {"LINEAGE_MERGE_DAG_NAME": wanted.dag_name, "LINEAGE_MERGE_ENVIRONMENT": wanted.environment}
    by_variables = CONFIGURATION.load(None, environ={**variables, **others})
    assert by_variables.gremlin == wanted.gremlin
    assert by_variables.sources["spline"] == wanted.sources["spline"]


def test_the_ready_file_goes_to_the_published_ports() -> None:
    settings = CONFIGURATION.load(CONFIG_FILE, environ={})
    ports = published_ports()
    assert settings.sources["spline"]
    assert settings.sources["spline"].arango
    assert settings.sources["spline"].arango.hosts == f"http://localhost:{ports['arangodb']}"
    assert settings.gremlin.endpoint == f"ws://localhost:{ports['gremlin']}/gremlin"
    _, variables = documented()
    assert variables["AWS_ENDPOINT_URL_S3"] == f"http://localhost:{ports['s3']}"
    exported = re.findall(r"([A-Z_0-9]+)=(\S+)", CONFIG_FILE.read_text())
    aws = {name: value for name, value in exported if name.startswith("AWS_")}
    assert aws == {name: value for name, value in variables.items() if name.startswith("AWS_")}


def test_the_password_of_the_ready_file_is_the_default_one() -> None:
    default = re.search(
        r"ARANGO_PASSWORD:-(\w+)", SERVICES["arangodb"]["environment"]["ARANGO_ROOT_PASSWORD"]
    )
    assert default
    assert f"export ARANGO_PASSWORD={default[1]} " in CONFIG_FILE.read_text()


def compose_plugin() -> bool:
    try:
        return (
            subprocess.run(["docker", "compose", "version"], capture_output=True, check=False).returncode == 0
        )
    except OSError:
        return False


@pytest.mark.skipif(not compose_plugin(), reason="Docker Compose is not installed")
def test_docker_compose_takes_the_file() -> None:
    command = ["docker", "compose", "--file", str(COMPOSE_FILE), "config", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

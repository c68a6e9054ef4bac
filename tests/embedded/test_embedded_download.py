import hashlib
import http.server
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.infra.embedded import maven_jars as jars_module
from lineage_merge.infra.embedded.download import DownloadFailed, Jar, download
from lineage_merge.infra.embedded.maven_jars import (
    GREMLIN,
    GREMLIN_SERVER,
    cached_jars,
    gremlin_jars,
)
from lineage_merge.model.errors import EmbeddedError

NO_JAVA = Path("no-java-is-needed")
# SIGINT is ignored by what a shell runs in the background, and by its children.
PROGRAM = """\
import signal
import sys
from pathlib import Path
from lineage_merge.infra.embedded.download import Jar, download
signal.signal(signal.SIGINT, signal.default_int_handler)
download([Jar("a/a.jar", 5, "0" * 64)], sys.argv[1], Path(sys.argv[2]), "jars", print)
"""


def content(number: int) -> bytes:
    return b"%d" % number * (1000 + number)


class Repository(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, *arguments: Any, seen: "Seen", directory: Path) -> None:
        self.seen = seen
        super().__init__(*arguments, directory=str(directory))

    def setup(self) -> None:
        super().setup()
        self.seen.connections += 1

    def do_GET(self) -> None:
        self.seen.paths.append(self.path)
        self.seen.logins.add(self.headers.get("Authorization"))
        self.seen.answer(self)

    def log_message(self, *_: object) -> None:
        """Print nothing: the tests' output stays readable."""


class Seen:
    """What was asked of a repository, and how it answers."""

    def __init__(self) -> None:
        self.connections = 0
        self.paths: list[str] = []
        self.logins: set[str | None] = set()
        self.answer: Callable[[Repository], None] = http.server.SimpleHTTPRequestHandler.do_GET


@pytest.fixture
def seen() -> Seen:
    return Seen()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Twenty jars in Maven's layout, without POMs."""
    root = tmp_path / "repository"
    for number in range(20):
        jar = root / f"org/example/part{number}/1/part{number}-1.jar"
        jar.parent.mkdir(parents=True)
        jar.write_bytes(content(number))
    return root


@pytest.fixture
def url(repository: Path, seen: Seen) -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(Repository, seen=seen, directory=repository)
    )
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty cache, and pins of the twenty jars in place of those of the server."""
    monkeypatch.setenv("LINEAGE_MERGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("LINEAGE_MERGE_IVY_SETTINGS", raising=False)
    pins, places = tmp_path / "pins", tmp_path / "places"
    numbers = range(20)
    digests = [hashlib.sha256(content(number)).hexdigest() for number in numbers]
    pins.write_text("".join(f"{digests[number]}  part{number}-1.jar\n" for number in numbers))
    places.write_text("".join(f"{len(content(n))} org/example/part{n}/1/part{n}-1.jar\n" for n in numbers))
    monkeypatch.setattr(jars_module, "GREMLIN", GREMLIN._replace(pins=pins, places=places))
    return tmp_path / "cache"


def test_pinned_jars_come_over_few_connections_without_java(
    monkeypatch: pytest.MonkeyPatch, cache: Path, url: str, seen: Seen
) -> None:
    monkeypatch.setenv("LINEAGE_MERGE_MAVEN_REPOSITORY", url)
    said: list[str] = []
    jars = gremlin_jars(NO_JAVA, said.append)
    assert {jar.name: jar.read_bytes() for jar in jars.glob("*.jar")} == {
        f"part{number}-1.jar": content(number) for number in range(20)
    }
    assert len(seen.paths) == 20
    assert seen.connections <= 8
    total = sum(len(content(number)) for number in range(20)) / 1_000_000
    assert said[-2:] == [
        f"fetching Gremlin Server {GREMLIN_SERVER}: {total:.1f} of {total:.1f} MB",
        "fetched 20 jars",
    ]
    assert sorted(path.name for path in cache.iterdir()) == ["fetch.lock", jars.name]
    assert gremlin_jars(NO_JAVA, said.append) == jars
    assert len(seen.paths) == 20


def test_a_repository_in_a_folder_needs_no_server(monkeypatch: pytest.MonkeyPatch, repository: Path) -> None:
    monkeypatch.setenv("LINEAGE_MERGE_MAVEN_REPOSITORY", repository.as_uri())
    assert len(list(gremlin_jars(NO_JAVA, lambda _: None).glob("*.jar"))) == 20


def test_a_login_in_the_url_is_sent_to_the_repository(
    monkeypatch: pytest.MonkeyPatch, url: str, seen: Seen
) -> None:
    monkeypatch.setenv("LINEAGE_MERGE_MAVEN_REPOSITORY", url.replace("//", "//reader:s3cret@"))
    gremlin_jars(NO_JAVA, lambda _: None)
    assert seen.logins == {"Basic cmVhZGVyOnMzY3JldA=="}


def test_a_downloaded_jar_that_differs_from_its_pin_is_refused_and_nothing_stays(
    monkeypatch: pytest.MonkeyPatch, cache: Path, repository: Path, url: str
) -> None:
    monkeypatch.setenv("LINEAGE_MERGE_MAVEN_REPOSITORY", url)
    jar = next(repository.rglob("part7-1.jar"))
    jar.write_bytes(b"another")
    another, pinned = (hashlib.sha256(each).hexdigest() for each in (b"another", content(7)))
    with pytest.raises(EmbeddedError) as refused:
        gremlin_jars(NO_JAVA, lambda _: None)
    assert refused.value.message == (
        f"Gremlin Server {GREMLIN_SERVER} from this repository is refused: "
        f"part7-1.jar has the SHA-256 {another}, pinned is {pinned}"
    )
    assert cached_jars(cache) is None
    assert [path.name for path in cache.iterdir()] == ["fetch.lock"]


def test_a_download_that_fails_is_left_to_ivy_and_the_next_one_continues(
    monkeypatch: pytest.MonkeyPatch, cache: Path, repository: Path, url: str, seen: Seen
) -> None:
    monkeypatch.setenv("LINEAGE_MERGE_MAVEN_REPOSITORY", url.replace("//", "//reader:s3cret@"))
    ivy: list[list[str]] = []

    def run(command: list[str], _say: object) -> tuple[int, str]:
        ivy.append(command)
        return 1, "module not found: org.example#part0;1"

    monkeypatch.setattr(jars_module, "_run_ivy", run)
    last = min(repository.rglob("*.jar"), key=lambda jar: jar.stat().st_size)
    held = last.read_bytes()
    last.unlink()
    said: list[str] = []
    with pytest.raises(EmbeddedError, match=r"fetched: the repository has no org\.example:part0:1"):
        gremlin_jars(NO_JAVA, said.append)
    assert len(ivy) == 1
    assert f"the download failed (HTTP 404 for {last.relative_to(repository)}): trying Ivy" in said
    assert "s3cret" not in "".join(said)
    there = {jar.name for jar in cache.glob("*.part/*.jar")}
    assert there
    last.write_bytes(held)
    seen.paths.clear()
    gremlin_jars(NO_JAVA, lambda _: None)
    assert {path.rpartition("/")[2] for path in seen.paths} == {
        f"part{number}-1.jar" for number in range(20)
    } - there


def test_an_answer_that_ends_too_early_is_a_failure_of_the_repository_and_not_another_jar(
    tmp_path: Path, url: str, seen: Seen
) -> None:
    def cut(request: Repository) -> None:
        request.send_response(200)
        request.send_header("Content-Length", "100")
        request.end_headers()
        request.wfile.write(b"a part")
        request.close_connection = True

    seen.answer = cut
    with pytest.raises(DownloadFailed, match=r"for a/a\.jar$"):
        download([Jar("a/a.jar", 100, "0" * 64)], url, tmp_path, "jars", lambda _: None)
    assert not list(tmp_path.glob("*.jar"))


def test_a_server_error_that_passes_is_no_failure(tmp_path: Path, url: str, seen: Seen) -> None:
    def second_time(request: Repository) -> None:
        if len(seen.paths) > 1:
            http.server.SimpleHTTPRequestHandler.do_GET(request)
        else:
            request.send_error(503)

    seen.answer = second_time
    jar = Jar("org/example/part1/1/part1-1.jar", len(content(1)), hashlib.sha256(content(1)).hexdigest())
    download([jar], url, tmp_path, "jars", lambda _: None)
    assert (tmp_path / "part1-1.jar").read_bytes() == content(1)


def test_jars_of_a_fetch_with_more_of_them_are_used_without_a_network(
    monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    """The cache of an earlier version, on a machine that reaches no repository."""
    monkeypatch.setenv("LINEAGE_MERGE_MAVEN_REPOSITORY", "http://127.0.0.1:1/")
    old = cache / GREMLIN.earlier
    old.mkdir(parents=True)
    for number in range(20):
        (old / f"part{number}-1.jar").write_bytes(content(number))
    (old / "not-needed-any-more.jar").write_bytes(b"a jar")
    assert cached_jars(cache) is None
    jars = gremlin_jars(NO_JAVA, lambda _: None)
    assert (old / "not-needed-any-more.jar").exists()  # that version may still run
    assert sorted(jar.name for jar in jars.glob("*.jar")) == sorted(f"part{n}-1.jar" for n in range(20))
    assert cached_jars(cache) == jars


def test_own_ivy_settings_take_precedence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, url: str, seen: Seen
) -> None:
    (tmp_path / "own.xml").write_text("<ivysettings/>")
    monkeypatch.setenv("LINEAGE_MERGE_MAVEN_REPOSITORY", url)
    monkeypatch.setenv("LINEAGE_MERGE_IVY_SETTINGS", str(tmp_path / "own.xml"))
    monkeypatch.setattr(jars_module, "_run_ivy", lambda *_: (1, "no such resolver"))
    with pytest.raises(EmbeddedError, match="no such resolver"):
        gremlin_jars(NO_JAVA, lambda _: None)
    assert seen.paths == []


def test_an_interrupt_ends_a_download_that_waits_for_the_repository(
    tmp_path: Path, url: str, seen: Seen
) -> None:
    asked, ended = threading.Event(), threading.Event()

    def wait(_request: Repository) -> None:
        asked.set()
        ended.wait(60)

    seen.answer = wait
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, url, str(tmp_path)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    try:
        assert asked.wait(60)
        process.send_signal(signal.SIGINT)
        # Without the interrupt it would wait for an answer three times, 20 s each.
        said = process.communicate(timeout=15)[1]
    finally:
        ended.set()
        process.kill()
        process.wait()
    assert process.returncode != 0
    assert b"KeyboardInterrupt" in said


def test_the_server_has_a_place_for_each_pinned_jar() -> None:
    assert GREMLIN.pins
    assert GREMLIN.places
    pinned = [line.split()[1] for line in GREMLIN.pins.read_text().splitlines()]
    places = [line.split() for line in GREMLIN.places.read_text().splitlines()]
    assert [path.rpartition("/")[2] for _, path in places] == pinned
    assert GREMLIN.megabytes == round(sum(int(size) for size, _ in places) / 1_000_000)

import datetime
import hashlib
import http.server
import re
import signal
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from lineage_merge.infra.embedded import jars as jars_module
from lineage_merge.infra.embedded.jars import (
    GREMLIN,
    GREMLIN_SERVER,
    Bundle,
    bundle_jars,
    is_complete,
    spark_kafka_options,
)
from lineage_merge.model.errors import EmbeddedError
from tests.http_server import serving

# SIGINT is ignored by what a shell runs in the background, and by its children.
PROGRAM = """\
import signal
import sys
from pathlib import Path
from lineage_merge.infra.embedded.jars import Bundle, bundle_jars
signal.signal(signal.SIGINT, signal.default_int_handler)
print(bundle_jars(Bundle("Parts", Path(sys.argv[1])), print))
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
    with serving(partial(Repository, seen=seen, directory=repository)) as server:
        yield f"http://127.0.0.1:{server.server_port}"


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("LINEAGE_MERGE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    """The lock file of the twenty jars."""
    lock = tmp_path / "parts.lock"
    rows = ((hashlib.sha256(content(n)).hexdigest(), len(content(n)), n) for n in range(20))
    lock.write_text("".join(f"{sha}  {size}  org/example/part{n}/1/part{n}-1.jar\n" for sha, size, n in rows))
    return Bundle("Parts", lock)


def fetch(bundle: Bundle) -> Path:
    return bundle_jars(bundle, lambda _: None)


def test_jars_are_fetched_once_and_nothing_else_stays_in_the_cache(
    monkeypatch: pytest.MonkeyPatch, cache: Path, bundle: Bundle, url: str, seen: Seen
) -> None:
    monkeypatch.setenv("LINEAGE_MERGE_MAVEN_REPOSITORY", url)
    lines: list[str] = []
    folder = bundle_jars(bundle, lines.append)
    assert {jar.name: jar.read_bytes() for jar in folder.glob("*.jar")} == {
        f"part{number}-1.jar": content(number) for number in range(20)
    }
    assert len(seen.paths) == 20
    assert lines[0] == f"fetching Parts (0 MB, once) into {cache}"
    assert lines[-1] == "fetched 20 jars"
    assert sorted(path.name for path in cache.iterdir()) == ["fetch.lock", "parts"]
    assert bundle_jars(bundle, lines.append) == folder
    assert len(seen.paths) == 20
    assert lines[-1] == "fetched 20 jars"


def test_a_repository_in_a_folder_needs_no_server(
    monkeypatch: pytest.MonkeyPatch, bundle: Bundle, repository: Path
) -> None:
    monkeypatch.setenv("LINEAGE_MERGE_MAVEN_REPOSITORY", repository.as_uri())
    assert is_complete(bundle, fetch(bundle))


def test_a_login_in_the_url_is_sent_to_the_repository_and_to_no_other_host(
    monkeypatch: pytest.MonkeyPatch, bundle: Bundle, url: str, seen: Seen
) -> None:
    answer = seen.answer

    def redirect(request: Repository) -> None:
        if request.headers.get("Host", "").startswith("localhost"):
            answer(request)
            return
        request.send_response(302)
        request.send_header("Location", f"{url.replace('127.0.0.1', 'localhost')}{request.path}")
        request.send_header("Content-Length", "0")
        request.end_headers()

    monkeypatch.setenv("LINEAGE_MERGE_MAVEN_REPOSITORY", url.replace("//", "//reader:s3cret@"))
    fetch(bundle)
    assert seen.logins == {"Basic cmVhZGVyOnMzY3JldA=="}

    seen.answer = redirect
    for jar in (bundle.lock.parent / "cache" / "parts").glob("*.jar"):
        jar.unlink()
    fetch(bundle)
    assert seen.logins == {"Basic cmVhZGVyOnMzY3JldA==", None}


def test_a_redirect_within_the_repository_keeps_its_login(
    monkeypatch: pytest.MonkeyPatch, bundle: Bundle, url: str, seen: Seen
) -> None:
    answer = seen.answer

    def redirect(request: Repository) -> None:
        if request.path.startswith("/moved"):
            request.path = request.path.removeprefix("/moved")
            answer(request)
            return
        request.send_response(302)
        request.send_header("Location", f"/moved{request.path}")
        request.send_header("Content-Length", "0")
        request.end_headers()

    seen.answer = redirect
    monkeypatch.setenv("LINEAGE_MERGE_MAVEN_REPOSITORY", url.replace("//", "//reader:s3cret@"))
    assert is_complete(bundle, fetch(bundle))
    assert seen.logins == {"Basic cmVhZGVyOnMzY3JldA=="}


def test_the_login_of_a_proxy_stays_with_the_proxy(
    monkeypatch: pytest.MonkeyPatch, bundle: Bundle, url: str, seen: Seen
) -> None:
    answer = seen.answer
    proxy_logins: set[tuple[bool, str | None]] = set()

    def redirect(request: Repository) -> None:
        is_proxied = request.path.startswith("http://maven.invalid")
        proxy_logins.add((is_proxied, request.headers.get("Proxy-Authorization")))
        if not is_proxied:
            answer(request)
            return
        path = request.path.removeprefix("http://maven.invalid")
        request.send_response(302)
        request.send_header("Location", f"{url.replace('127.0.0.1', 'localhost')}{path}")
        request.send_header("Content-Length", "0")
        request.end_headers()

    seen.answer = redirect
    monkeypatch.setenv("http_proxy", url.replace("//", "//user:pass@"))
    monkeypatch.setenv("no_proxy", "localhost")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.setenv("LINEAGE_MERGE_MAVEN_REPOSITORY", "http://maven.invalid")
    assert is_complete(bundle, fetch(bundle))
    assert proxy_logins == {(True, "Basic dXNlcjpwYXNz"), (False, None)}


@pytest.mark.parametrize("address", ["http://me:secretA/secretB@host/", "http://[::1/maven2"])
def test_an_invalid_url_is_not_repeated(
    monkeypatch: pytest.MonkeyPatch, bundle: Bundle, address: str
) -> None:
    monkeypatch.setenv("LINEAGE_MERGE_MAVEN_REPOSITORY", address)
    with pytest.raises(EmbeddedError, match="LINEAGE_MERGE_MAVEN_REPOSITORY is not a valid URL"):
        fetch(bundle)


def test_the_proxy_of_the_environment_is_used(
    monkeypatch: pytest.MonkeyPatch, bundle: Bundle, url: str, seen: Seen
) -> None:
    monkeypatch.setenv("http_proxy", url)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.setenv("LINEAGE_MERGE_MAVEN_REPOSITORY", "http://maven.invalid/maven2")
    seen.answer = lambda request: request.send_error(404)
    with pytest.raises(EmbeddedError, match=r"^http://maven\.invalid/maven2/org/.* could not be fetched"):
        fetch(bundle)
    assert all(path.startswith("http://maven.invalid/maven2/org/example/") for path in seen.paths)


def test_a_jar_that_differs_from_its_lock_is_refused_until_it_is_right(
    monkeypatch: pytest.MonkeyPatch, bundle: Bundle, repository: Path, url: str
) -> None:
    monkeypatch.setenv("LINEAGE_MERGE_MAVEN_REPOSITORY", url)
    jar = next(repository.rglob("part7-1.jar"))
    jar.write_bytes(b"another")
    another, locked = (hashlib.sha256(text).hexdigest() for text in (b"another", content(7)))
    with pytest.raises(EmbeddedError) as refused:
        fetch(bundle)
    assert refused.value.message == (
        f"Parts from this repository is refused: part7-1.jar has the SHA-256 {another}, locked is {locked}"
    )
    jar.write_bytes(content(7))
    assert is_complete(bundle, fetch(bundle))


@pytest.mark.parametrize("change", ["differs", "is truncated", "is added", "is missing"])
def test_a_cached_folder_that_was_changed_is_fetched_again(
    monkeypatch: pytest.MonkeyPatch, bundle: Bundle, repository: Path, change: str
) -> None:
    monkeypatch.setenv("LINEAGE_MERGE_MAVEN_REPOSITORY", repository.as_uri())
    folder = fetch(bundle)
    jar = folder / ("added.jar" if change == "is added" else "part7-1.jar")
    if change == "is missing":
        jar.unlink()
    else:
        jar.write_bytes(content(8)[: len(content(7))] if change == "differs" else b"a jar")
    assert not is_complete(bundle, folder)
    assert is_complete(bundle, fetch(bundle))


def test_a_fetch_after_a_failure_continues(
    monkeypatch: pytest.MonkeyPatch, bundle: Bundle, repository: Path, url: str, seen: Seen
) -> None:
    monkeypatch.setenv("LINEAGE_MERGE_MAVEN_REPOSITORY", url.replace("//", "//reader:s3cret@"))
    last = next(repository.rglob("part0-1.jar"))  # the smallest, which is fetched last
    last.unlink()
    with pytest.raises(EmbeddedError, match=r"part0-1\.jar could not be fetched: HTTP 404") as failed:
        fetch(bundle)
    assert "s3cret" not in failed.value.message
    assert seen.paths.count("/org/example/part0/1/part0-1.jar") == 1
    last.write_bytes(content(0))
    seen.paths.clear()
    assert is_complete(bundle, fetch(bundle))
    assert len(seen.paths) < 20


def test_an_incomplete_answer_is_a_failure_of_the_repository_and_not_another_jar(
    monkeypatch: pytest.MonkeyPatch, bundle: Bundle, url: str, seen: Seen
) -> None:
    def cut(request: Repository) -> None:
        request.send_response(200)
        request.send_header("Content-Length", "100")
        request.end_headers()
        request.wfile.write(b"a part")
        request.close_connection = True

    seen.answer = cut
    monkeypatch.setattr(jars_module, "_PAUSES_SECONDS", (0.01,))
    monkeypatch.setenv("LINEAGE_MERGE_MAVEN_REPOSITORY", url)
    with pytest.raises(EmbeddedError, match="could not be fetched: IncompleteRead"):
        fetch(bundle)


def test_a_server_error_that_passes_is_no_failure(
    monkeypatch: pytest.MonkeyPatch, bundle: Bundle, url: str, seen: Seen
) -> None:
    answer = seen.answer

    def second_time(request: Repository) -> None:
        if seen.paths.count(request.path) > 1:
            answer(request)
        else:
            request.send_error(503)

    seen.answer = second_time
    monkeypatch.setattr(jars_module, "_PAUSES_SECONDS", (0.01,))
    monkeypatch.setenv("LINEAGE_MERGE_MAVEN_REPOSITORY", url)
    assert is_complete(bundle, fetch(bundle))


def test_a_repository_that_does_not_answer_gives_one_line_with_the_cause_and_no_password(
    monkeypatch: pytest.MonkeyPatch, bundle: Bundle, cache: Path
) -> None:
    monkeypatch.setattr(jars_module, "_PAUSES_SECONDS", (0.01,))
    monkeypatch.setenv("LINEAGE_MERGE_MAVEN_REPOSITORY", "http://reader:s3cret@127.0.0.1:1/maven2")
    with pytest.raises(EmbeddedError, match=r"could not be fetched: .*Connection refused") as failed:
        fetch(bundle)
    assert "\n" not in failed.value.message
    assert "s3cret" not in failed.value.message
    assert not (cache / "parts").exists()


def test_a_repository_that_is_no_url_is_refused(monkeypatch: pytest.MonkeyPatch, bundle: Bundle) -> None:
    monkeypatch.setenv("LINEAGE_MERGE_MAVEN_REPOSITORY", "maven.example/maven2")
    with pytest.raises(EmbeddedError, match="LINEAGE_MERGE_MAVEN_REPOSITORY is not a URL"):
        fetch(bundle)


def test_two_processes_at_once_fetch_once(
    monkeypatch: pytest.MonkeyPatch, bundle: Bundle, url: str, seen: Seen
) -> None:
    monkeypatch.setenv("LINEAGE_MERGE_MAVEN_REPOSITORY", url)
    command = [sys.executable, "-c", PROGRAM, str(bundle.lock)]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    printed = [process.communicate(timeout=60)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert len({text.splitlines()[-1] for text in printed}) == 1
    assert len(seen.paths) == 20


def test_an_interrupt_ends_a_download_that_waits_for_the_repository(
    monkeypatch: pytest.MonkeyPatch, bundle: Bundle, url: str, seen: Seen
) -> None:
    asked, ended = threading.Event(), threading.Event()

    def wait(_request: Repository) -> None:
        asked.set()
        ended.wait(60)

    seen.answer = wait
    monkeypatch.setenv("LINEAGE_MERGE_MAVEN_REPOSITORY", url)
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(bundle.lock)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    try:
        assert asked.wait(60)
        process.send_signal(signal.SIGINT)
        # Without the interrupt it would wait for an answer three times, 20 s each.
        printed = process.communicate(timeout=15)[1]
    finally:
        ended.set()
        process.kill()
        process.wait()
    assert process.returncode != 0
    assert b"KeyboardInterrupt" in printed


@pytest.fixture
def private_repository(repository: Path, seen: Seen, tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """The repository behind HTTPS whose authority only the returned file knows."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    authority, secret = tmp_path / "authority.pem", tmp_path / "key.pem"
    authority.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    secret.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority, secret)
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(Repository, seen=seen, directory=repository)
    )
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"https://localhost:{server.server_port}/", authority
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"])
def test_an_authority_of_the_environment_is_trusted(
    monkeypatch: pytest.MonkeyPatch, bundle: Bundle, private_repository: tuple[str, Path], variable: str
) -> None:
    url, authority = private_repository
    monkeypatch.setenv("LINEAGE_MERGE_MAVEN_REPOSITORY", url)
    monkeypatch.setenv(variable, str(authority))
    assert is_complete(bundle, fetch(bundle))


def test_an_untrusted_authority_is_rejected(
    monkeypatch: pytest.MonkeyPatch, bundle: Bundle, private_repository: tuple[str, Path]
) -> None:
    url, _ = private_repository
    monkeypatch.setenv("LINEAGE_MERGE_MAVEN_REPOSITORY", url)
    with pytest.raises(EmbeddedError, match="certificate verify failed"):
        fetch(bundle)


def test_a_spark_without_a_lock_file_downloads_its_kafka_source_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(jars_module, "version", lambda _: "4.99.1")
    monkeypatch.setenv("LINEAGE_MERGE_MAVEN_REPOSITORY", "https://maven.example/maven2")
    assert spark_kafka_options(lambda _: None) == {
        "spark.jars.packages": "org.apache.spark:spark-sql-kafka-0-10_2.13:4.99.1",
        "spark.jars.repositories": "https://maven.example/maven2",
    }


LOCKS = [*Path(jars_module.__file__).parent.glob("*.lock"), *Path(__file__).parents[1].glob("locks/*.lock")]


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_each_lock_file_has_a_path_with_size_and_digest_per_jar(lock: Path) -> None:
    jars = Bundle("Jars", lock).jars()
    assert all(re.fullmatch(r"[0-9a-f]{64}", jar.digest) and jar.size > 0 for jar in jars)
    assert all(re.fullmatch(r"[\w./-]+/[\w.-]+\.jar", jar.path) for jar in jars)
    assert len({jar.name for jar in jars}) == len(jars)


def test_the_lock_of_the_server_is_that_of_its_version() -> None:
    assert f"gremlin-server-{GREMLIN_SERVER}.jar" in {jar.name for jar in GREMLIN.jars()}

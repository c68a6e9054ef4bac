import datetime
import hashlib
import http.server
import json
import re
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from lineage_merge.infra.embedded import maven_jars as jars_module
from lineage_merge.infra.embedded.java import find_java
from lineage_merge.infra.embedded.maven_jars import (
    GREMLIN,
    GREMLIN_SERVER,
    SLF4J_SIMPLE,
    cached_jars,
    gremlin_jars,
    ivy_failure,
    proxy_options,
)
from lineage_merge.model.errors import EmbeddedError

POM = """<project><modelVersion>4.0.0</modelVersion>
<groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version></project>"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A Maven repository that has just the two modules asked for."""
    root = tmp_path / "repository"
    for group, artifact, version in (
        ("org.apache.tinkerpop", "gremlin-server", GREMLIN_SERVER),
        ("org.slf4j", "slf4j-simple", SLF4J_SIMPLE),
    ):
        module = root / group.replace(".", "/") / artifact / version
        module.mkdir(parents=True)
        (module / f"{artifact}-{version}.pom").write_text(
            POM.format(group=group, artifact=artifact, version=version)
        )
        (module / f"{artifact}-{version}.jar").write_bytes(b"a jar")
    return root


@pytest.fixture(autouse=True)
def pins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The pins of these two modules, in place of those of the real server."""
    digest = hashlib.sha256(b"a jar").hexdigest()
    names = (f"gremlin-server-{GREMLIN_SERVER}.jar", f"slf4j-simple-{SLF4J_SIMPLE}.jar")
    file = tmp_path / "pins.sha256"
    file.write_text("".join(f"{digest}  {name}\n" for name in names))
    monkeypatch.setattr(jars_module, "GREMLIN", GREMLIN._replace(pins=file, places=None))
    return file


def test_a_jar_of_a_repository_that_differs_from_its_pin_is_refused(
    monkeypatch: pytest.MonkeyPatch, cache: Path, repository: Path
) -> None:
    monkeypatch.setenv("LINEAGE_MERGE_MAVEN_REPOSITORY", repository.as_uri())
    name = f"slf4j-simple-{SLF4J_SIMPLE}.jar"
    jar = next(repository.rglob(name))
    jar.write_bytes(b"another")
    another, pinned = (hashlib.sha256(content).hexdigest() for content in (b"another", b"a jar"))
    with pytest.raises(EmbeddedError) as refused:
        gremlin_jars(find_java(), lambda _: None)
    assert refused.value.message == (
        f"Gremlin Server {GREMLIN_SERVER} from this repository is refused: "
        f"{name} has the SHA-256 {another}, pinned is {pinned}"
    )
    assert cached_jars(cache) is None
    # Nothing of it stays, so that the right jar is taken from another repository.
    jar.write_bytes(b"a jar")
    assert (gremlin_jars(find_java(), lambda _: None) / name).read_bytes() == b"a jar"


@pytest.mark.parametrize("change", ["differs, of the same size", "is added"])
def test_a_cached_jar_that_was_changed_is_not_used(
    monkeypatch: pytest.MonkeyPatch, cache: Path, repository: Path, change: str
) -> None:
    monkeypatch.setenv("LINEAGE_MERGE_MAVEN_REPOSITORY", repository.as_uri())
    jars = gremlin_jars(find_java(), lambda _: None)
    name = "added.jar" if change == "is added" else f"slf4j-simple-{SLF4J_SIMPLE}.jar"
    (jars / name).write_bytes(b"A jar")
    assert cached_jars(cache) is None
    again = gremlin_jars(find_java(), lambda _: None)
    assert {jar.read_bytes() for jar in again.glob("*.jar")} == {b"a jar"}
    assert not (again / "added.jar").exists()


def test_a_jar_that_the_repository_does_not_have_any_more_is_named(
    monkeypatch: pytest.MonkeyPatch, cache: Path, repository: Path, pins: Path
) -> None:
    monkeypatch.setenv("LINEAGE_MERGE_MAVEN_REPOSITORY", repository.as_uri())
    pins.write_text(f"{pins.read_text()}{'0' * 64}  other-1.jar\n")
    with pytest.raises(EmbeddedError, match=r"is refused: other-1\.jar is missing"):
        gremlin_jars(find_java(), lambda _: None)


def test_the_jars_of_the_server_have_pins() -> None:
    assert GREMLIN.pins
    lines = GREMLIN.pins.read_text().splitlines()
    assert all(re.fullmatch(r"[0-9a-f]{64}  [\w.-]+\.jar", line) for line in lines)
    names = [line.split()[1] for line in lines]
    assert len(set(names)) == len(names)
    assert f"gremlin-server-{GREMLIN_SERVER}.jar" in names
    assert f"slf4j-simple-{SLF4J_SIMPLE}.jar" in names


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("LINEAGE_MERGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("LINEAGE_MERGE_IVY_SETTINGS", raising=False)
    monkeypatch.delenv("LINEAGE_MERGE_MAVEN_REPOSITORY", raising=False)
    return tmp_path / "cache"


def test_a_fetch_says_what_it_does_jar_by_jar_and_leaves_only_the_jars(
    monkeypatch: pytest.MonkeyPatch, cache: Path, repository: Path
) -> None:
    monkeypatch.setenv("LINEAGE_MERGE_MAVEN_REPOSITORY", repository.as_uri())
    said: list[str] = []
    jars = gremlin_jars(find_java(), said.append)
    assert sorted(jar.name for jar in jars.glob("*.jar")) == [
        f"gremlin-server-{GREMLIN_SERVER}.jar",
        f"slf4j-simple-{SLF4J_SIMPLE}.jar",
    ]
    assert said[0].startswith(f"fetching Gremlin Server {GREMLIN_SERVER}")
    assert {line for line in said if line.startswith("jar ")} == {
        f"jar 1 of 2: gremlin-server {GREMLIN_SERVER}",
        f"jar 2 of 2: slf4j-simple {SLF4J_SIMPLE}",
    }
    assert sorted(path.name for path in cache.iterdir()) == ["fetch.lock", jars.name]


def test_a_second_call_fetches_nothing(
    monkeypatch: pytest.MonkeyPatch, cache: Path, repository: Path
) -> None:
    monkeypatch.setenv("LINEAGE_MERGE_MAVEN_REPOSITORY", repository.as_uri())
    gremlin_jars(find_java(), lambda _: None)
    said: list[str] = []
    gremlin_jars(Path("no-java-is-needed"), said.append)
    assert said == []


def test_a_bundle_with_a_missing_jar_is_fetched_again(
    monkeypatch: pytest.MonkeyPatch, cache: Path, repository: Path
) -> None:
    monkeypatch.setenv("LINEAGE_MERGE_MAVEN_REPOSITORY", repository.as_uri())
    jars = gremlin_jars(find_java(), lambda _: None)
    (jars / f"slf4j-simple-{SLF4J_SIMPLE}.jar").write_bytes(b"a j")
    assert cached_jars(cache) is None
    assert (
        gremlin_jars(find_java(), lambda _: None) / f"slf4j-simple-{SLF4J_SIMPLE}.jar"
    ).read_bytes() == b"a jar"


@pytest.mark.jvm
def test_two_processes_at_once_both_get_whole_jars(
    monkeypatch: pytest.MonkeyPatch, cache: Path, repository: Path, pins: Path
) -> None:
    monkeypatch.setenv("LINEAGE_MERGE_MAVEN_REPOSITORY", repository.as_uri())
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from lineage_merge.infra.embedded import maven_jars\n"
        "from lineage_merge.infra.embedded.maven_jars import cached_jars, cache_home, gremlin_jars\n"
        "maven_jars.GREMLIN = maven_jars.GREMLIN._replace(pins=Path(sys.argv[1]), places=None)\n"
        "from lineage_merge.infra.embedded.java import find_java\n"
        "gremlin_jars(find_java(), print)\n"
        "assert cached_jars(cache_home())\n"
    )
    both = [
        subprocess.Popen([sys.executable, "-c", program, str(pins)], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    said = [process.communicate(timeout=60)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert sum(text.count("jar 1 of 2") for text in said) == 1


def test_a_repository_that_does_not_answer_gives_one_line_with_the_cause_and_no_password(
    monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    monkeypatch.setenv("LINEAGE_MERGE_MAVEN_REPOSITORY", "http://reader:s3cret@127.0.0.1:1/maven2")
    with pytest.raises(EmbeddedError, match=r"could not be fetched: .*Connection refused") as failed:
        gremlin_jars(find_java(), lambda _: None)
    assert "\n" not in failed.value.message
    assert "s3cret" not in failed.value.message
    assert cached_jars(cache) is None


def test_a_host_that_is_not_known_is_named(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    monkeypatch.setenv("LINEAGE_MERGE_MAVEN_REPOSITORY", "https://maven.invalid/maven2")
    with pytest.raises(EmbeddedError, match=r"maven\.invalid"):
        gremlin_jars(find_java(), lambda _: None)


def test_the_users_own_ivy_settings_say_where_from(
    monkeypatch: pytest.MonkeyPatch, cache: Path, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    settings = tmp_path / "own.xml"
    settings.write_text(
        '<ivysettings><settings defaultResolver="own"/><resolvers>'
        f'<ibiblio name="own" m2compatible="true" root="{(tmp_path / "empty").as_uri()}"/>'
        "</resolvers></ivysettings>"
    )
    monkeypatch.setenv("LINEAGE_MERGE_IVY_SETTINGS", str(settings))
    monkeypatch.setenv("LINEAGE_MERGE_MAVEN_REPOSITORY", "http://127.0.0.1:1/")
    with pytest.raises(EmbeddedError, match=f"has no org.apache.tinkerpop:gremlin-server:{GREMLIN_SERVER}"):
        gremlin_jars(find_java(), lambda _: None)


def test_missing_ivy_settings_are_reported(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    monkeypatch.setenv("LINEAGE_MERGE_IVY_SETTINGS", "nowhere.xml")
    with pytest.raises(EmbeddedError, match=r"LINEAGE_MERGE_IVY_SETTINGS names no file: nowhere\.xml"):
        gremlin_jars(find_java(), lambda _: None)


def test_without_pyspark_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    monkeypatch.delenv("SPARK_HOME", raising=False)
    with pytest.raises(
        EmbeddedError, match=r"PySpark is not installed.*pip install 'lineage-merge\[local\]'"
    ):
        gremlin_jars(Path("java"), lambda _: None)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Nothing: the tests' output stays readable."""


@pytest.fixture
def private_repository(repository: Path, tmp_path: Path) -> Iterator[tuple[str, Path]]:
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
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=repository))
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"https://localhost:{server.server_port}/", authority
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_an_authority_that_only_python_trusts_is_good_enough_for_java(
    monkeypatch: pytest.MonkeyPatch, cache: Path, private_repository: tuple[str, Path]
) -> None:
    url, authority = private_repository
    monkeypatch.setenv("LINEAGE_MERGE_MAVEN_REPOSITORY", url)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority))
    assert (gremlin_jars(find_java(), lambda _: None) / f"gremlin-server-{GREMLIN_SERVER}.jar").exists()


def test_an_untrusted_authority_is_rejected(
    monkeypatch: pytest.MonkeyPatch, cache: Path, private_repository: tuple[str, Path]
) -> None:
    url, _ = private_repository
    monkeypatch.setenv("LINEAGE_MERGE_MAVEN_REPOSITORY", url)
    with pytest.raises(EmbeddedError, match="certification path"):
        gremlin_jars(find_java(), lambda _: None)


def test_the_environments_proxies_become_java_properties() -> None:
    proxies = {
        "https": "http://me:secret@proxy.example:3128",
        "http": "proxy.example:8080",
        "no": "localhost, .example",
    }
    assert proxy_options(proxies) == [
        "-Dhttp.proxyHost=proxy.example",
        "-Dhttp.proxyPort=8080",
        "-Dhttps.proxyHost=proxy.example",
        "-Dhttps.proxyPort=3128",
        "-Dhttp.nonProxyHosts=localhost|*.example",
    ]


def test_no_proxies_are_no_properties() -> None:
    assert proxy_options({"no": "localhost"}) == []


def test_an_ivy_that_died_without_a_known_word_is_quoted_by_its_last_line() -> None:
    assert ivy_failure("Error occurred during initialization of VM\nCould not reserve space\n\n") == (
        "Could not reserve space"
    )


def test_a_manifest_that_is_not_one_is_no_cache(tmp_path: Path) -> None:
    jars = tmp_path / GREMLIN.folder
    jars.mkdir()
    for text in ("", "[]", json.dumps({"missing.jar": 1})):
        (jars / "complete.json").write_text(text)
        assert cached_jars(tmp_path) is None, text

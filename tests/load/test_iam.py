"""Signed connections, to a verifying proxy before a real server."""

import os
import pickle
import shlex
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from gremlin_python.process.graph_traversal import GraphTraversalSource
from moto.sts.models import sts_backends

from lineage_merge.infra.engine.rows import Engine
from lineage_merge.load.gremlin import signing
from lineage_merge.load.gremlin.connection import Endpoint, check
from lineage_merge.load.gremlin.executor import open_executor
from lineage_merge.load.gremlin.signing import SERVICE, Iam
from lineage_merge.load.gremlin.writer import load
from lineage_merge.model.errors import GraphDenied, GraphUnreachable
from tests.graph_reading import whole
from tests.load.neptune_proxy import Fault, NeptuneProxy, neptune_proxy
from tests.load.sigv4 import Keys, Refused, Request, verify
from tests.made_merges import Made
from tests.s3_fixtures import S3

REGION = "eu-west-1"
US = Iam(REGION)


class Gate:
    """Accepts requests signed by one of the `keys` at `now`; records them."""

    def __init__(self) -> None:
        self.keys = {"testing": Keys("testing")}
        self.keys_of: Callable[[str], Keys | None] = lambda key: self.keys.get(key)
        self.late = timedelta()
        self.signatures: list[str] = []
        self.signers: list[str] = []
        self.reasons: list[str] = []
        self.tokens: list[str] = []

    def __call__(self, request: Request) -> tuple[int, str] | None:
        try:
            now = datetime.now(UTC) + self.late
            self.tokens += [v for k, v in request.headers.items() if k.lower() == "x-amz-security-token"]
            self.signatures.append(verify(request, self.keys_of, REGION, SERVICE, now))
            self.signers.append(request.header("authorization").partition("Credential=")[2].partition("/")[0])
        except Refused as refused:
            self.reasons.append(str(refused))
            # As AWS does: of a wrong signature the answer repeats what was signed.
            return 403, f"{refused} {dict(request.headers)}"
        return None


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def proxy(gate: Gate, gremlin_url: str, gremlin: GraphTraversalSource) -> Iterator[NeptuneProxy]:
    signing._REFRESHABLE.clear()
    signing._assume_role.cache_clear()
    with neptune_proxy(gremlin_url, gate) as running:
        yield running


@pytest.fixture
def rotating(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return a function that replaces the credentials in the environment variables."""

    def rotate(key: str) -> None:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", key)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", f"{key}-secret")
        monkeypatch.setenv("AWS_SESSION_TOKEN", f"{key}-token")

    return rotate


def lineage() -> Made:
    made = Made("daily").job("dbt", "model.shop.m", {f"t{i}": ["t0"] for i in range(1, 120)}, 1, "shop")
    return made.feeds_column(("dbt", "model.shop.m"), ("t1", "price"), ("t2", "total"))


@pytest.mark.jvm
def test_all_connections_of_a_load_are_signed(
    engine: Engine, proxy: NeptuneProxy, gate: Gate, gremlin: GraphTraversalSource
) -> None:
    merge = lineage().merge(engine)
    load(merge.nodes, merge.edges, Endpoint(proxy.url, iam=US))
    assert (proxy.refused, gate.reasons) == (0, [])
    assert proxy.handshakes == len(gate.signatures) > 4
    vertices, edges = whole(gremlin)
    assert (set(vertices), set(edges)) == (set(lineage().nodes), set(lineage().edges))


@pytest.mark.jvm
def test_a_lost_connection_is_reopened_with_a_new_signature(proxy: NeptuneProxy, gate: Gate) -> None:
    with open_executor(Endpoint(proxy.url, iam=US)) as execute:
        assert execute(lambda g: g.inject(1)) == [1]
        proxy.choose_fault = _once("close before")
        time.sleep(1.1)  # what is signed is the second
        assert execute(lambda g: g.inject(2)) == [2]
    assert len(gate.signatures) == len(set(gate.signatures)) == 2


def test_a_default_port_is_not_part_of_the_signature() -> None:
    for url in ("wss://db.example:443/gremlin", "wss://db.example/gremlin", "ws://db.example:80/gremlin"):
        headers = {**signing.sign_headers(url, US), "Host": "db.example"}
        request = Request("GET", "/gremlin", "", headers)
        assert verify(request, {"testing": Keys("testing")}.get, REGION, SERVICE, datetime.now(UTC))


def refusal(endpoint: Endpoint) -> str:
    with pytest.raises(GraphDenied) as raised:
        check(endpoint)
    assert "\n" not in raised.value.message
    return raised.value.message


@pytest.mark.jvm
def test_an_unsigned_connection_is_rejected_with_a_remedy(proxy: NeptuneProxy, gate: Gate) -> None:
    assert "gremlin.iam_auth" in refusal(Endpoint(proxy.url))
    assert gate.reasons == ["Missing Authentication Token"]


@pytest.mark.jvm
def test_a_signature_of_another_secret_is_refused(proxy: NeptuneProxy, gate: Gate) -> None:
    gate.keys["testing"] = Keys("another")
    assert "HTTP 403" in refusal(Endpoint(proxy.url, iam=US))
    assert ["does not match" in reason for reason in gate.reasons] == [True]


@pytest.mark.jvm
def test_a_signature_for_another_region_is_refused(proxy: NeptuneProxy, gate: Gate) -> None:
    refusal(Endpoint(proxy.url, iam=Iam("us-east-1")))
    assert gate.reasons == [f"Credential should be scoped to {REGION}/neptune-db"]


@pytest.mark.jvm
@pytest.mark.parametrize("late", [timedelta(minutes=6), timedelta(minutes=-6)])
def test_a_signature_that_has_expired_is_refused(proxy: NeptuneProxy, gate: Gate, late: timedelta) -> None:
    gate.late = late
    assert "clock" in refusal(Endpoint(proxy.url, iam=US))
    assert gate.reasons[0].startswith("Signature expired")


@pytest.mark.jvm
def test_a_rejected_connection_is_not_retried(proxy: NeptuneProxy, gate: Gate) -> None:
    gate.keys.clear()
    with pytest.raises(GraphDenied), open_executor(Endpoint(proxy.url, iam=US)) as execute:
        execute(lambda g: g.inject(1))
    assert proxy.handshakes == 1


@pytest.mark.jvm
def test_missing_credentials_are_reported(proxy: NeptuneProxy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    assert "no AWS credentials" in refusal(Endpoint(proxy.url, iam=US))
    assert proxy.handshakes == 0


@pytest.mark.jvm
def test_the_next_connection_uses_replaced_environment_credentials(
    proxy: NeptuneProxy, gate: Gate, rotating: Callable[[str], None]
) -> None:
    gate.keys = {"first": Keys("first-secret", "first-token")}
    rotating("first")
    with open_executor(Endpoint(proxy.url, iam=US)) as execute:
        assert execute(lambda g: g.inject(1)) == [1]
        gate.keys = {"second": Keys("second-secret", "second-token")}
        rotating("second")
        proxy.choose_fault = _once("close after")
        assert execute(lambda g: g.inject(2)) == [2]
    assert gate.signers == ["first", "second"]


def _once(fault: Fault) -> Callable[[bytes], Fault | None]:
    left: list[Fault] = [fault]
    return lambda _: left.pop() if left else None


@pytest.mark.jvm
def test_credentials_of_a_process_are_refreshed_when_they_expire(
    proxy: NeptuneProxy, gate: Gate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The first are good for a minute, less than what is asked of credentials that are to be used.
    script = tmp_path / "credentials.py"
    script.write_text(
        "import datetime, json, pathlib\n"
        f"counter = pathlib.Path({str(tmp_path / 'count')!r})\n"
        "number = int(counter.read_text()) + 1 if counter.exists() else 1\n"
        "counter.write_text(str(number))\n"
        "minutes = 1 if number == 1 else 60\n"
        "until = datetime.datetime.now(datetime.UTC) + datetime.timedelta(minutes=minutes)\n"
        "print(json.dumps({'Version': 1, 'AccessKeyId': f'key{number}', 'SecretAccessKey': 'hidden',"
        " 'SessionToken': f'token{number}', 'Expiration': until.isoformat()}))\n"
    )
    profile = tmp_path / "config"
    process = f"{shlex.quote(sys.executable)} {shlex.quote(str(script))}"
    profile.write_text(f"[default]\ncredential_process = {process}\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(profile))
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    gate.keys = {f"key{number}": Keys("hidden", f"token{number}") for number in range(1, 5)}
    for _ in range(3):
        check(Endpoint(proxy.url, iam=US))
    # Refreshed once, then cached: the process or service is not called for each connection.
    assert gate.signers[-2:] == ["key2", "key2"]
    assert (tmp_path / "count").read_text() == "2"


@pytest.mark.jvm
def test_a_failing_credential_process_is_reported_without_its_output(
    proxy: NeptuneProxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    profile = tmp_path / "config"
    code = "import sys; print('s3cret'); sys.exit('s3cret')"
    profile.write_text(f"[default]\ncredential_process = {shlex.join([sys.executable, '-c', code])}\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(profile))
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    message = refusal(Endpoint(proxy.url, iam=US))
    assert "no AWS credentials: the provider custom-process failed" in message
    assert "s3cret" not in message


@pytest.mark.jvm
def test_a_role_is_assumed_once_for_several_connections(
    proxy: NeptuneProxy, gate: Gate, s3_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", s3_url)
    backend = sts_backends["123456789012"]["aws"]
    before = len(backend.assumed_roles)
    role = "arn:aws:iam::123456789012:role/lineage-writer"

    def of_role(key: str) -> Keys | None:
        found = [each for each in backend.assumed_roles if each.access_key_id == key]
        return Keys(found[0].secret_access_key, found[0].session_token) if found else None

    gate.keys_of = of_role
    for _ in range(2):
        check(Endpoint(proxy.url, iam=Iam(REGION, role)))
    assumed = backend.assumed_roles[before:]
    assert [(each.arn, each.session_name) for each in assumed] == [
        ("arn:aws:sts::123456789012:assumed-role/lineage-writer/lineage-merge", "lineage-merge")
    ]
    assert gate.signers == [assumed[0].access_key_id] * 2


@pytest.mark.jvm
def test_a_role_that_cannot_be_assumed_is_reported(
    proxy: NeptuneProxy, s3: S3, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", s3.url)
    s3.refuse_strangers()
    message = refusal(Endpoint(proxy.url, iam=Iam(REGION, "arn:aws:iam::123456789012:role/other")))
    assert "cannot assume arn:aws:iam::123456789012:role/other: InvalidClientTokenId" in message


@pytest.mark.jvm
def test_neither_errors_nor_pickled_endpoints_contain_secrets(
    proxy: NeptuneProxy, gate: Gate, rotating: Callable[[str], None], capfd: pytest.CaptureFixture[str]
) -> None:
    gate.keys = {"first": Keys("wrong", "first-token")}
    rotating("first")
    endpoint = Endpoint(proxy.url, iam=US)
    output = refusal(endpoint) + repr(endpoint) + pickle.dumps(endpoint).decode("latin-1")
    output += "".join(capfd.readouterr())
    assert gate.tokens == ["first-token"]
    assert [
        word for word in ("first-secret", "first-token", "Signature=", "AWS4-HMAC") if word in output
    ] == []


@pytest.fixture
def own_certificate(tmp_path: Path) -> Path:
    """Return an untrusted certificate for localhost and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = tmp_path / "own.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(made.public_bytes(serialization.Encoding.PEM) + private)
    return file


@pytest.mark.jvm
def test_an_untrusted_certificate_is_rejected_unless_configured(
    gate: Gate, gremlin_url: str, own_certificate: Path
) -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(own_certificate)
    with neptune_proxy(gremlin_url, gate, tls=tls) as proxy:
        endpoint = Endpoint(proxy.url, iam=US)
        with pytest.raises(GraphUnreachable, match="no secure connection: self-signed certificate"):
            check(endpoint)
        with (
            pytest.raises(GraphUnreachable, match="no secure connection"),
            open_executor(endpoint) as execute,
        ):
            execute(lambda g: g.inject(1))
        assert proxy.handshakes == 0
        code = (
            "from lineage_merge.load.gremlin.connection import Endpoint, check\n"
            "from lineage_merge.load.gremlin.signing import Iam\n"
            f"check(Endpoint({proxy.url!r}, iam=Iam({REGION!r})))\n"
        )
        environment = {**os.environ, "SSL_CERT_FILE": str(own_certificate)}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        assert (proxy.handshakes, len(gate.signatures)) == (1, 1)

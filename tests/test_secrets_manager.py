"""Passwords by reference: read from Secrets Manager (moto) when they are needed."""

from collections.abc import Iterator

import boto3
import pytest

from lineage_merge.model.errors import (
    ConfigError,
    SourceDenied,
    SourceError,
    SourceMissing,
    SourceUnreachable,
)
from lineage_merge.sources.spline.settings import Arango
from tests.s3_fixtures import S3

PASSWORD = "hunter2"
KEY = "spline.arango.password_secret"


@pytest.fixture
def secrets(s3: S3) -> Iterator[dict[str, str]]:
    """Secrets by name; the value is the ARN."""
    client = boto3.client("secretsmanager")
    texts = {
        "lineage/plain": PASSWORD,
        "lineage/json": f'{{"username": "root", "password": "{PASSWORD}", "port": 8529}}',
    }
    yield {name: client.create_secret(Name=name, SecretString=text)["ARN"] for name, text in texts.items()}
    client.close()


def password(reference: str) -> str:
    return Arango("http://arangodb:8529", "spline", password_secret=reference).password()


@pytest.mark.usefixtures("secrets")
@pytest.mark.parametrize("reference", ["lineage/plain", "lineage/json#password"])
def test_a_secret_is_named_whole_or_by_one_key_of_it(reference: str) -> None:
    assert password(reference) == PASSWORD


def test_a_secret_may_be_named_by_its_arn(secrets: dict[str, str]) -> None:
    assert password(secrets["lineage/plain"]) == PASSWORD
    assert password(f"{secrets['lineage/json']}#password") == PASSWORD


def test_the_arns_own_region_counts(secrets: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")

    assert password(secrets["lineage/plain"]) == PASSWORD
    with pytest.raises(SourceMissing):
        password("lineage/plain")


@pytest.mark.usefixtures("secrets")
@pytest.mark.parametrize(
    ("reference", "kind", "problem"),
    [
        ("lineage/none", SourceMissing, "no such secret"),
        ("lineage/plain#password", ConfigError, "not JSON"),
        ("lineage/json#secret", ConfigError, "no text under 'secret'"),
        ("lineage/json#port", ConfigError, "no text under 'port'"),
    ],
)
def test_an_unreadable_secret_is_reported_by_its_setting(
    reference: str, kind: type[SourceError], problem: str
) -> None:
    with pytest.raises(kind, match=problem) as raised:
        password(reference)

    assert KEY in str(raised.value)
    assert PASSWORD not in str(raised.value)


def test_a_password_written_in_place_of_the_reference_is_not_repeated(s3: S3) -> None:
    with pytest.raises(SourceMissing) as raised:
        password(PASSWORD)

    assert PASSWORD not in str(raised.value)


def test_denied_credentials_are_reported(secrets: dict[str, str], s3: S3) -> None:
    s3.refuse_strangers()

    with pytest.raises(SourceDenied, match="rejects these credentials"):
        password("lineage/plain")


def test_a_missing_server_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_SECRETS_MANAGER", "http://127.0.0.1:9")

    with pytest.raises(SourceUnreachable, match="no answer from Secrets Manager"):
        password("lineage/plain")

"""Endpoint of a configuration, and contradictory settings."""

from collections.abc import Callable

import pytest

from lineage_merge.config import Gremlin
from lineage_merge.load.gremlin import configured_endpoint
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.gremlin.signing import Iam
from lineage_merge.model.errors import ConfigError

CLUSTER = "wss://db.cluster-abc.eu-central-1.neptune.amazonaws.com:8182/gremlin"
READER = "wss://db.cluster-ro-abc.eu-central-1.neptune.amazonaws.com:8182/gremlin"


def test_all_settings_reach_the_endpoint() -> None:
    role = "arn:aws:iam::123456789012:role/writer"
    gremlin = Gremlin(CLUSTER, 30, 200, READER, iam_auth=True, role_arn=role)
    assert configured_endpoint.endpoint(gremlin) == Endpoint(
        CLUSTER, 30, 200, Iam("eu-central-1", role), READER
    )


def test_queries_use_the_reader_endpoint_if_configured() -> None:
    with_reader = configured_endpoint.endpoint(Gremlin(CLUSTER, reader_endpoint=READER, iam_auth=True))
    assert (with_reader.reader.url, with_reader.reader.iam) == (READER, with_reader.iam)
    assert configured_endpoint.endpoint(Gremlin(CLUSTER)).reader.url == CLUSTER


@pytest.mark.parametrize(
    ("host", "region"),
    [
        ("db.cluster-abc.us-east-1.neptune.amazonaws.com", "us-east-1"),
        ("db.cluster-ro-abc.us-gov-west-1.neptune.amazonaws.com", "us-gov-west-1"),
        ("instance.abc.cn-north-1.neptune.amazonaws.com.cn", "cn-north-1"),
        ("db.cluster-abc.us-east-1.neptune.amazonaws.com.evil.example", ""),
        ("lineage.example.com", ""),
    ],
)
def test_a_neptune_host_names_its_region(host: str, region: str) -> None:
    assert configured_endpoint.region_of(host) == region


@pytest.mark.parametrize("variable", ["AWS_DEFAULT_REGION", "AWS_REGION"])
def test_for_another_host_the_region_is_that_of_the_aws_chain(
    monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    gremlin = Gremlin("wss://lineage.example.com:8182/gremlin", iam_auth=True)
    with pytest.raises(ConfigError, match=r"gremlin\.region: .*not in the endpoint, AWS_REGION"):
        configured_endpoint.endpoint(gremlin)
    monkeypatch.setenv(variable, "eu-north-1")
    assert configured_endpoint.endpoint(gremlin).iam == Iam("eu-north-1")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Gremlin(READER), r"gremlin\.endpoint: is Neptune's reader endpoint"),
        (
            lambda: Gremlin("ws://graph.example.com:8182/gremlin", iam_auth=True),
            r"gremlin\.endpoint: gremlin\.iam_auth requires wss://",
        ),
        (
            lambda: Gremlin(CLUSTER, reader_endpoint=READER.replace("wss", "ws"), iam_auth=True),
            r"gremlin\.reader_endpoint: gremlin\.iam_auth requires wss://",
        ),
        (
            lambda: Gremlin("ws://127.0.0.1.example.com/gremlin", iam_auth=True),
            r"gremlin\.iam_auth requires wss://",
        ),
        (
            lambda: Gremlin(CLUSTER, iam_auth=True, region="us-east-1"),
            r"gremlin\.region: the endpoint is in eu-central-1",
        ),
        (
            lambda: Gremlin(CLUSTER, reader_endpoint=READER.replace("eu-central", "eu-west"), iam_auth=True),
            r"gremlin\.reader_endpoint: is in another region",
        ),
        (
            lambda: Gremlin(CLUSTER.replace("wss://", "wss://u:s3cret@"), iam_auth=True),
            r"gremlin\.endpoint: must not contain a user or password",
        ),
    ],
)
def test_contradictory_settings_are_reported_by_key_without_secrets(
    make: Callable[[], Gremlin], message: str
) -> None:
    with pytest.raises(ConfigError, match=message) as raised:
        configured_endpoint.endpoint(make())
    assert "s3cret" not in raised.value.message


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.9.9.9", "[::1]"])
def test_on_the_same_machine_a_signature_may_go_over_plain_text(host: str) -> None:
    gremlin = Gremlin(f"ws://{host}:8182/gremlin", iam_auth=True, region="us-east-1")
    assert configured_endpoint.endpoint(gremlin).iam == Iam("us-east-1")

"""Airflow's connections as settings: what each part of a connection means, and where passwords go."""

import json
import os
from types import SimpleNamespace
from typing import Any

import pytest

from lineage_merge.airflow.connections import connect_sources, credentials, environment, gremlin
from lineage_merge.model.errors import ConfigError
from lineage_merge.orchestration.cluster_entrypoint import as_text
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources.spline.airflow_support import PASSWORD_VARIABLE, connect
from lineage_merge.sources.superset import airflow_support as superset

PASSWORD = "hunter2"
SECRET = "lineage/arango#password"


def connection(conn_id: str, extra: dict[str, Any] | None = None, **parts: Any) -> Any:
    """A connection as all versions of Airflow provide it; these tests run without Airflow."""
    empty = dict.fromkeys(("host", "port", "schema", "login", "password"))
    return SimpleNamespace(conn_id=conn_id, extra_dejson=extra or {}, **{**empty, **parts})


def spline(extra: dict[str, Any] | None = None, **parts: Any) -> Any:
    whole = {"host": "http://arangodb:8529", "schema": "spline", "login": "reader", "password": PASSWORD}
    return connection("arangodb_default", extra, **{**whole, **parts})


WHERE = {
    "spline.arango.hosts": "http://arangodb:8529",
    "spline.arango.database": "spline",
    "spline.arango.username": "reader",
}


def test_on_this_machine_the_password_is_in_a_variable() -> None:
    found = connect(spline({"auth_method": "jwt"}), here=True)

    assert found.settings == WHERE | {
        "spline.arango.password_env": PASSWORD_VARIABLE,
        "spline.arango.auth_method": "jwt",
    }
    assert found.environment == {PASSWORD_VARIABLE: PASSWORD}


@pytest.mark.parametrize("password", [PASSWORD, None])
def test_to_a_cluster_goes_the_name_of_the_secret(password: str | None) -> None:
    found = connect(spline({"password_secret": SECRET}, password=password), here=False)

    assert found.settings == WHERE | {"spline.arango.password_secret": SECRET}
    assert found.environment == {}
    assert PASSWORD not in json.dumps(found.settings)


def test_a_secret_serves_this_machine_too() -> None:
    found = connect(spline({"password_secret": SECRET}, password=None), here=True)

    assert found.settings == WHERE | {"spline.arango.password_secret": SECRET}


def test_a_password_that_would_have_to_go_to_a_cluster_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"a cluster gets no passwords: .* password_secret") as raised:
        connect(spline(), here=False)

    assert PASSWORD not in raised.value.message


@pytest.mark.parametrize(
    ("host", "port", "hosts"),
    [
        ("http://a:8529, https://b:8530", None, "http://a:8529,https://b:8530"),
        ("arangodb", None, "http://arangodb:8529"),
        ("arangodb", 9999, "http://arangodb:9999"),
    ],
)
def test_a_host_is_a_url_or_becomes_one(host: str, port: int | None, hosts: str) -> None:
    found = connect(spline(host=host, port=port, password=None), here=True)

    assert found.settings["spline.arango.hosts"] == hosts


@pytest.mark.parametrize("part", ["host", "schema"])
def test_what_a_connection_lacks_is_named(part: str) -> None:
    with pytest.raises(ConfigError, match=f"connection arangodb_default: has no {part}"):
        connect(spline(**{part: None}), here=True)


def test_neptune_is_host_port_and_extra() -> None:
    role = "arn:aws:iam::123456789012:role/neptune"
    extra = {"iam_auth": True, "region_name": "eu-west-1", "role_arn": role, "reader_host": "reader"}

    assert gremlin(connection("gremlin_default", extra, host="writer", port=8182)) == {
        "gremlin.endpoint": "wss://writer:8182/gremlin",
        "gremlin.reader_endpoint": "wss://reader:8182/gremlin",
        "gremlin.iam_auth": True,
        "gremlin.region": "eu-west-1",
        "gremlin.role_arn": role,
    }


@pytest.mark.parametrize(
    ("host", "extra", "endpoint"),
    [
        ("graph", {}, "wss://graph:8182/gremlin"),
        ("graph", {"scheme": "ws"}, "ws://graph:8182/gremlin"),
        ("ws://graph:1234/gremlin", {}, "ws://graph:1234/gremlin"),
    ],
)
def test_without_tls_only_where_it_is_said(host: str, extra: dict[str, Any], endpoint: str) -> None:
    assert gremlin(connection("gremlin_default", extra, host=host)) == {"gremlin.endpoint": endpoint}


@pytest.mark.parametrize("parts", [{"login": "user"}, {"password": PASSWORD}])
def test_an_unused_password_of_the_graph_is_reported(parts: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="user and password are not used") as raised:
        gremlin(connection("gremlin_default", host="graph", **parts))

    assert PASSWORD not in raised.value.message


def test_the_environment_is_as_before_when_a_step_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_TEST_OLD", "old")

    with environment({"LINEAGE_TEST_OLD": "new", "LINEAGE_TEST_NEW": "new"}):
        assert os.environ["LINEAGE_TEST_OLD"] == os.environ["LINEAGE_TEST_NEW"] == "new"

    assert os.environ["LINEAGE_TEST_OLD"] == "old"
    assert "LINEAGE_TEST_NEW" not in os.environ


def test_static_keys_of_a_connection_clear_an_inherited_session_token(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN")
    inherited = dict.fromkeys(names, "inherited")
    for name, value in inherited.items():
        monkeypatch.setenv(name, value)
    static = SimpleNamespace(access_key="key", secret_key="secret", token="")

    with environment(credentials(static)):
        inside = {name: os.environ[name] for name in names if name in os.environ}

    assert inside == {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
    assert {name: os.environ.get(name) for name in names} == inherited


def test_the_token_of_a_role_goes_with_its_keys() -> None:
    found = credentials(SimpleNamespace(access_key="key", secret_key="secret", token="token"))

    assert found == {
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_SESSION_TOKEN": "token",
        "AWS_SECURITY_TOKEN": None,
    }


def superset_connection(extra: dict[str, Any] | None = None, **parts: Any) -> Any:
    whole = {"host": "https://superset.example.com", "login": "reader", "password": PASSWORD}
    return connection("superset_prod", extra, **{**whole, **parts})


def test_a_connection_to_superset_is_a_section_of_one_server() -> None:
    found = superset.connect(superset_connection({"dashboards": ["Sales*"]}), here=True)
    server = {
        "url": "https://superset.example.com",
        "username": "reader",
        "password_env": superset.PASSWORD_VARIABLE,
        "dashboards": ["Sales*"],
    }
    assert found == ({"superset": [server]}, {superset.PASSWORD_VARIABLE: PASSWORD})


@pytest.mark.parametrize("part", ["host", "login"])
def test_what_a_connection_to_superset_lacks_is_named(part: str) -> None:
    with pytest.raises(ConfigError, match=f"connection superset_prod: has no {part}"):
        superset.connect(superset_connection(**{part: None}), here=True)


def test_superset_is_read_through_a_connection_only_if_the_group_names_it() -> None:
    found = {
        conn_id: connect_sources(
            {"superset_default": conn_id},
            {"spline": {"export": "x"}},
            here=False,
            has_upstream_jobs=lambda: True,
            find=lambda _name, _: superset_connection({"password_secret": SECRET}),
        ).settings
        for conn_id in (None, "superset_prod")
    }
    server = {"url": "https://superset.example.com", "username": "reader", "password_secret": SECRET}
    assert found == {None: {}, "superset_prod": {"superset": [server]}}


def test_the_section_of_a_connection_is_a_configuration() -> None:
    found = superset.connect(
        superset_connection(password=None, extra={"password_secret": SECRET}), here=False
    )
    flags = {key: as_text(value) for key, value in found.settings.items()}
    flags |= {"dag_name": "daily", "environment": "prod"}
    (server,) = CONFIGURATION.parse(CONFIGURATION.collect(None, flags=flags).settings).sources["superset"]
    assert (server.url, server.password_secret) == ("https://superset.example.com", SECRET)

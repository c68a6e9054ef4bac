"""Airflow's connections and run as settings of a merge.

Read only at run time and through Airflow, so that secrets backends apply and parsing stays fast. Passwords
never become settings: a local step gets an environment variable while it runs, a cluster the name of a
secret. Imports Airflow only at run time.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from lineage_merge.model.errors import ConfigError

if TYPE_CHECKING:
    from lineage_merge.sources.source import Source

GREMLIN = "gremlin_default"
AWS = "aws_default"

_IAM_PORT = 8182
_GREMLIN_EXTRAS = {"iam_auth": "iam_auth", "region_name": "region", "role_arn": "role_arn"}


def gremlin(connection: Any) -> dict[str, Any]:
    """Return the settings of the graph from a connection: host, port. Raises `ConfigError`.

    Extra: `iam_auth` (signed connections for Neptune), `region_name`, `role_arn`, `scheme` (wss, or ws
    without TLS), `reader_host`.
    """
    name = connection.conn_id or GREMLIN
    extra = connection.extra_dejson or {}
    if not connection.host:
        raise ConfigError("", f"connection {name}: has no host: the Gremlin endpoint")
    if connection.login or connection.password:
        raise ConfigError(
            "", f"connection {name}: user and password are not used; Neptune takes extra, iam_auth"
        )
    settings: dict[str, Any] = {
        f"gremlin.{key}": extra[name]
        for name, key in _GREMLIN_EXTRAS.items()
        if extra.get(name) not in (None, "")
    }
    settings["gremlin.endpoint"] = _gremlin_url(connection.host, connection.port, extra)
    if extra.get("reader_host"):
        settings["gremlin.reader_endpoint"] = _gremlin_url(extra["reader_host"], connection.port, extra)
    return settings


def _gremlin_url(host: str, port: int | None, extra: Mapping[str, Any]) -> str:
    if "://" in host:
        return host
    # Neptune requires TLS; other servers may set ws.
    return f"{extra.get('scheme') or 'wss'}://{host}:{port or _IAM_PORT}/gremlin"


# Set together: AWS rejects keys with a token of other credentials.
_CREDENTIALS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN")


def aws(conn_id: str | None) -> dict[str, str | None]:
    """Return the AWS connection as variables of the default AWS chain; None: unset the variable.

    Empty if the connection has no credentials of its own, as on MWAA.
    """
    conn_id = existing_aws(conn_id)
    if not conn_id:
        return {}
    try:
        from airflow.providers.amazon.aws.hooks.base_aws import AwsGenericHook
    except ImportError:
        return {}
    hook = AwsGenericHook(aws_conn_id=conn_id, client_type="sts")
    given = hook.conn_config
    variables: dict[str, str | None] = {
        name: value
        for name, value in (
            ("AWS_DEFAULT_REGION", given.region_name),
            ("AWS_ENDPOINT_URL", given.endpoint_url),
        )
        if value
    }
    if given.aws_access_key_id or given.role_arn or given.profile_name:
        # Once per step: credentials of a role are valid for an hour.
        variables |= credentials(hook.get_credentials())
    return variables


def credentials(resolved: Any) -> dict[str, str | None]:
    """Return variables for boto3 credentials. Keys without a token unset an inherited one."""
    values = (resolved.access_key, resolved.secret_key, resolved.token or None, None)
    return dict(zip(_CREDENTIALS, values, strict=True))


def existing_aws(conn_id: str | None) -> str | None:
    """Return the id, or None for a missing default connection, which falls back to the role.

    The provider does the same, but with a warning in each task's log.
    """
    if conn_id != AWS:
        return conn_id or None
    from lineage_merge.airflow.compat import AirflowNotFoundException, base_hook

    try:
        base_hook().get_connection(conn_id)
    except AirflowNotFoundException:
        return None
    return conn_id


@contextmanager
def environment(variables: Mapping[str, str | None]) -> Iterator[None]:
    """Set environment variables in the block; None: unset."""
    before = {name: os.environ.get(name) for name in variables}
    _set(variables)
    try:
        yield
    finally:
        _set(before)


def _set(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


Need = Literal["required", "optional", "none"]


def connection_need(
    source: "Source[Any]", settings: Mapping[str, Any], *, named: bool, has_upstream_jobs: Callable[[], bool]
) -> Need:
    """Return whether `source` needs its connection under these settings (as in a configuration file).

    `named`: the task group names the connection. `has_upstream_jobs`: whether Spark jobs run before the
    merge; only called if needed. A source without a section is read by default after Spark jobs, in addition
    to dbt or SQL, if the connection exists and no other source reports runs.
    """
    from lineage_merge.sources.registry import SOURCES

    support = source.airflow()
    if support is None:
        return "none"
    if named:
        return "required"
    if support.only_named:
        return "none"
    section = settings.get(source.key)
    if section:
        located = isinstance(section, Mapping) and not section.keys().isdisjoint(support.location_keys)
        return "none" if located else "required"
    others = [
        other for other in SOURCES if other != source and not other.is_catalog and settings.get(other.key)
    ]
    if not others:
        return "required"
    if any(other.reports_runs for other in others) or not has_upstream_jobs():
        return "none"
    return "optional"


class SourceConnections(NamedTuple):
    """What the connections of sources give: settings, environment variables, and passwords.

    `settings`: by dotted key. `with_password`: the ids of connections whose password is used, by source.
    """

    settings: dict[str, Any]
    environment: dict[str, str]
    with_password: dict[str, str]


def connect_sources(
    ids: Mapping[str, str | None],
    settings: Mapping[str, Any],
    *,
    here: bool,
    has_upstream_jobs: Callable[[], bool],
    find: Callable[[str, bool], Any],
) -> SourceConnections:
    """Return what connections give to the sources that need one under `settings`.

    `ids`: those that the task group names, by default id. `here`: the step runs on this machine, and may use
    passwords. `find` returns a connection; if it is optional and missing, None. Raises `ConfigError`.
    """
    from lineage_merge.sources.registry import SOURCES

    connected = SourceConnections({}, {}, {})
    for source in SOURCES:
        support = source.airflow()
        if support is None:
            continue
        named = ids.get(support.connection)
        need = connection_need(source, settings, named=bool(named), has_upstream_jobs=has_upstream_jobs)
        name = named or support.connection
        connection = None if need == "none" else find(name, need == "optional")
        if connection is not None:
            given = support.connect(connection, here=here)
            connected.settings.update(given.settings)
            connected.environment.update(given.environment)
            if given.environment:
                connected.with_password[source.key] = name
    return connected


def add_run_to_history(settings: dict[str, Any], context: Mapping[str, Any]) -> None:
    """Add run id and logical date to the settings of the history, if it is configured and has none."""
    history = settings.get("history")
    if not isinstance(history, dict):
        return
    run = context.get("dag_run")
    for name in ("run_id", "logical_date"):
        if value := getattr(run, name, None):  # Airflow 3 has runs without a logical date
            history.setdefault(name, str(value))


def check_history_location(location: str) -> None:
    """Raise `ConfigError` for a folder, because a cluster's local disks are deleted after the job."""
    from lineage_merge.config import NO_HISTORY
    from lineage_merge.infra.storage import is_s3

    if location not in ("", NO_HISTORY) and not is_s3(location):
        raise ConfigError("history.location", f"a cluster needs s3://bucket/prefix, not {location}")

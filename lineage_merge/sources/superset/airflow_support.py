"""Superset in Airflow: its connection."""

from typing import Any

from lineage_merge.model.errors import ConfigError
from lineage_merge.sources.airflow_support import AirflowSupport, ConnectionSettings, give_password

CONNECTION = "superset_default"
# Contains the password of the connection while a step runs on this machine.
PASSWORD_VARIABLE = "LINEAGE_MERGE_SUPERSET_PASSWORD"  # noqa: S105 (a name)


def connect(connection: Any, *, here: bool) -> ConnectionSettings:
    """Return the section `superset` from a connection: host (a URL), login, password.

    Extra: `password_secret` (the secret with the password), `provider`, `dashboards`. Raises `ConfigError`.
    """
    name = connection.conn_id or CONNECTION
    extra = connection.extra_dejson or {}
    if not connection.host:
        raise ConfigError("", f"connection {name}: has no host: the address of Superset")
    if not connection.login:
        raise ConfigError("", f"connection {name}: has no login: the user who reads the dashboards")
    port = f":{connection.port}" if connection.port else ""
    url = connection.host if "://" in connection.host else f"https://{connection.host}{port}"
    password = give_password(connection, name, PASSWORD_VARIABLE, here=here)
    optional = {key: extra[key] for key in ("provider", "dashboards") if extra.get(key)}
    server = {"url": url, "username": connection.login, **password.settings, **optional}
    return ConnectionSettings({"superset": [server]}, password.environment)


SUPPORT = AirflowSupport(CONNECTION, (), connect, only_named=True)

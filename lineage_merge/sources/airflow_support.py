"""What a source with a server gets from Airflow: settings from a connection, and runs to wait for.

Imports no Airflow.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from lineage_merge.model.errors import ConfigError


class ConnectionSettings(NamedTuple):
    """Settings by dotted key, and the environment variables that they need."""

    settings: dict[str, Any]
    environment: dict[str, str]


def give_password(connection: Any, name: str, variable: str, *, here: bool) -> ConnectionSettings:
    """Return `password_env` or `password_secret` of a connection, and the variable with the password.

    `here`: the step runs on this machine. Raises `ConfigError` if a cluster would need the password itself.
    """
    secret = (connection.extra_dejson or {}).get("password_secret")
    if connection.password and here:
        return ConnectionSettings({"password_env": variable}, {variable: connection.password})
    if secret:
        return ConnectionSettings({"password_secret": secret}, {})
    if connection.password:
        problem = "a cluster gets no passwords: store it in Secrets Manager, and set password_secret in extra"
        raise ConfigError("", f"connection {name}: {problem}")
    return ConnectionSettings({}, {})


class GlueRuns(NamedTuple):
    """A Glue job and the known ids of its runs in this DAG run."""

    job: str
    run_ids: tuple[str, ...]


class AwaitedRuns(NamedTuple):
    """A JSON object that `AirflowSupport.missing` takes, without a password, and its number of runs."""

    request: dict[str, Any]
    number: int


class ObservedJob(NamedTuple):
    """A job: the time of its last successful write (ms since 1970), and the DAG in its label, or ""."""

    job: str
    newest: int
    dag_name: str = ""


@dataclass(frozen=True, slots=True)
class AirflowSupport:
    """The functions of one source. `connection`: the id of its default connection.

    `location_keys` are keys below that of the source that say where to read from: if one is set, no
    connection is needed. `selections` are keys that select jobs; if none is set, the first gets the Glue jobs
    upstream of the merge. `connect` turns a connection into settings; its keyword `here`: the step runs on
    this machine, and may use the password of the connection. Raises `ConfigError`. `only_named`: a connection
    is used only if the task group names it.

    The others take the source's settings, and return None if these name no server: `database` returns its
    OpenLineage namespace and name, `awaited` the runs to wait for, given Glue's runs and the begin of the DAG
    run (ms since 1970), `observed` the jobs that wrote since then, given labels that may name their DAG.
    `missing` returns the awaited runs that are not reported yet as a line, "" if all are; its password is
    None if the settings have one. All raise `SourceError`.
    """

    connection: str
    location_keys: tuple[str, ...]
    connect: Callable[..., ConnectionSettings]
    selections: tuple[str, ...] = ()
    database: Callable[[Any], tuple[str, str] | None] = lambda _settings: None
    awaited: Callable[[Any, Sequence[GlueRuns], int], AwaitedRuns | None] = lambda *_: None
    missing: Callable[[Mapping[str, Any], str | None], str] = lambda *_: ""
    observed: Callable[[Any, int, Sequence[str]], list[ObservedJob] | None] = lambda *_: None
    only_named: bool = False

"""Spline's database in Airflow: its connection, the runs to wait for, and the jobs that it observed."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import timedelta
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import urlsplit

from lineage_merge.model.errors import ConfigError
from lineage_merge.sources.airflow_support import (
    AirflowSupport,
    AwaitedRuns,
    ConnectionSettings,
    GlueRuns,
    ObservedJob,
    give_password,
)
from lineage_merge.sources.spline.observed_applications import list_observed_jobs
from lineage_merge.sources.spline.run_availability import ExpectedRuns, missing_runs, missing_text
from lineage_merge.sources.spline.settings import LOCATION_KEYS, Arango, Spline

_CONNECTION = "arangodb_default"
_PORT = 8529
# Contains the password of the connection while a step runs on this machine.
PASSWORD_VARIABLE = "LINEAGE_MERGE_CONNECTION_PASSWORD"  # noqa: S105 (a name)


def connect(connection: Any, *, here: bool) -> ConnectionSettings:
    """Return the settings of Spline's ArangoDB from a connection of Airflow's ArangoDB provider.

    Host: one or several URLs, separated by commas; schema: the database. Extra: `password_secret` (the secret
    with the password), `auth_method`. Raises `ConfigError`.
    """
    name = connection.conn_id or _CONNECTION
    extra = connection.extra_dejson or {}
    if not connection.host:
        raise ConfigError("", f"connection {name}: has no host: the address of Spline's ArangoDB")
    if not connection.schema:
        raise ConfigError("", f"connection {name}: has no schema: the name of Spline's database")
    hosts = [host.strip() for host in connection.host.split(",") if host.strip()]
    urls = (host if "://" in host else f"http://{host}:{connection.port or _PORT}" for host in hosts)
    settings = {"hosts": ",".join(urls), "database": connection.schema}
    optional = {"username": connection.login, "auth_method": extra.get("auth_method")}
    settings |= {key: value for key, value in optional.items() if value}
    password = give_password(connection, name, PASSWORD_VARIABLE, here=here)
    settings |= password.settings
    by_key = {f"spline.arango.{key}": value for key, value in settings.items()}
    return ConnectionSettings(by_key, password.environment)


def _database(spline: Spline) -> tuple[str, str] | None:
    if spline.arango is None:
        return None
    parts = urlsplit(spline.arango.hosts.partition(",")[0])
    return f"arangodb://{parts.hostname or ''}:{parts.port or _PORT}", spline.arango.database


def _find_awaited(spline: Spline, runs: Sequence[GlueRuns], since: int) -> AwaitedRuns | None:
    if spline.arango is None:
        return None
    expected = list_expected_runs(spline.applications, runs, since)
    request = {
        "arango": asdict(replace(spline.arango, known_password=None)),
        "expected": [{**asdict(run), "run_ids": [*run.run_ids]} for run in expected],
        "lookback_seconds": spline.lookback.total_seconds(),
    }
    return AwaitedRuns(request, len(expected))


def list_expected_runs(globs: Sequence[str], runs: Sequence[GlueRuns], since: int) -> list[ExpectedRuns]:
    """Return the expected runs: the exact runs of upstream Glue jobs, else any run since then (ms)."""
    expected: dict[str, ExpectedRuns] = {}
    for glob in globs:
        matching = [run for run in runs if fnmatchcase(run.job, glob)]
        for run in matching:
            expected[run.job] = ExpectedRuns(run.job, run.run_ids, since)
        if not matching:
            expected[glob] = ExpectedRuns(glob, (), since)
    return list(expected.values())


def _missing(request: Mapping[str, Any], password: str | None) -> str:
    arango = replace(Arango(**request["arango"]), known_password=password)
    expected = [ExpectedRuns(**{**run, "run_ids": tuple(run["run_ids"])}) for run in request["expected"]]
    return missing_text(missing_runs(arango, expected, timedelta(seconds=request["lookback_seconds"])))


def _list_observed(spline: Spline, since: int, labels: Sequence[str]) -> list[ObservedJob] | None:
    return list_observed_jobs(spline.arango, since, labels) if spline.arango else None


SUPPORT = AirflowSupport(
    _CONNECTION,
    LOCATION_KEYS,
    connect,
    ("applications", "labels"),
    _database,
    _find_awaited,
    _missing,
    _list_observed,
)

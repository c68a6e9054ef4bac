"""Settings that several sources share. Imports no Spark: it is loaded with the configuration."""

import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal, NamedTuple

from lineage_merge.infra.setting import Form, declare
from lineage_merge.model.errors import ConfigError, SourceError
from lineage_merge.model.times import epoch_ms, parse_duration


class NamespaceSetting(NamedTuple):
    """A configured namespace of a source's tables: its key, value, and entry in the configuration.

    `manifest`: the document that lists the tables, so that temporary directories can stand for them.
    `spark_catalogs`: the namespace's names in Spark, configured beside it; None: they cannot be configured.
    """

    key: str
    namespace: str
    section: str
    entry: Mapping[str, str]
    name: str = "namespace"
    manifest: str = ""
    spark_catalogs: tuple[str, ...] | None = None


class Runs(NamedTuple):
    """Which successful writes are selected: the `latest` of each job and target, or `all`.

    `since` (ms since 1970) selects all since then, `run` those of one run by its id (of an application, a
    Glue run, ...); both replace the lookback.
    """

    which: Literal["latest", "all", "since", "run"] = "latest"
    since: int = 0
    run: str = ""

    def find_start(self, newest: int, lookback: timedelta) -> int:
        """Return the time from which writes are needed (ms since 1970); `newest`: that of the newest one."""
        match self.which:
            case "since":
                return self.since
            case "run":
                return 0
        return newest - lookback // timedelta(milliseconds=1)


# run application_1700000000000_0001
_RUN = re.compile(r"run:?\s+(\S+)\s*$")
_RUNS = "latest, all, since TIME or run ID"


def _parse_runs(value: Any, key: str) -> Runs:
    """Parse ``latest``, ``all``, ``since 2026-11-01T06:00:00Z``, or ``{"since": ...}`` as YAML reads it.

    And ``run application_1_0001``, or ``{"run": ...}``.
    """
    if value in ("latest", "all"):
        return Runs(value)
    matched = _RUN.match(f"run {value['run']}" if isinstance(value, dict) and "run" in value else str(value))
    if matched:
        return Runs("run", run=matched[1])
    since: Any = value.get("since") if isinstance(value, dict) else re.sub(r"^since:?\s+", "", value).strip()
    try:
        # YAML parses 2026-11-01 as a date.
        text = since.isoformat() if isinstance(since, date) else since
        moment = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        problem = f"expected {_RUNS}, and a time as 2026-11-01 or 2026-11-01T06:00:00Z"
        raise ConfigError(key, problem) from None
    return Runs("since", epoch_ms(moment))


def _parse_lookback(value: float | str, key: str) -> timedelta:
    """Parse a lookback: ``30`` and ``30d`` are days, ``12h`` hours."""
    text = str(value)
    try:
        return parse_duration(text if text[-1:] in ("d", "h") else f"{text}d")
    except ValueError:
        raise ConfigError(key, f"expected more than 0 and at most 36500 days, found {value}") from None


def declare_lookback() -> timedelta:
    """Return the key for the maximum age of runs."""
    return declare(
        "maximum age of a run relative to the newest one: 30, 30d (days) or 12h (hours)",
        timedelta(days=30),
        "30d",
        "30d",
        above=0,
        maximum=36_500,
        form=Form(
            r"^[0-9]+(\.[0-9]+)?\s*[dh]?$",
            "days or hours, such as 30d or 12h",
            schema={"type": ["number", "string"]},
            parse=_parse_lookback,
        ),
    )


def declare_retire_after() -> int:
    """Return the key for the runs after which what they do not write is retired."""
    return declare(
        "number of successful runs of a job without a write to a target after which its lineage is retired; "
        "0: never",
        3,
        minimum=0,
        maximum=1_000_000,
    )


def read_secret(variable: str, variable_key: str, reference: str, reference_key: str) -> str:
    """Return a secret of Secrets Manager, else of an environment variable; the keys are for messages.

    Raises `ConfigError` if it is missing, `SourceError`.
    """
    if reference:
        from lineage_merge.infra.aws import secret

        return secret(reference, reference_key)
    if variable not in os.environ:
        # Without the variable's name: it may be the secret itself by mistake.
        problem = "the environment variable of this name is not set; set it, or give a variable's name"
        raise ConfigError(variable_key, problem)
    return os.environ[variable]


def _parse_url(text: str, key: str) -> str:
    if "@" in text:
        raise ConfigError(key, "contains a user or password: use the keys for them that end with _env")
    return text.strip().rstrip("/")


# The address of a server with an HTTP API.
SERVER_URL = Form(
    r"^https?://[^\s?#]+$",
    "http://host:port or https://...",
    {"": "give the address without query"},
    is_secret=True,
    parse=_parse_url,
)
CatalogName = Annotated[str, Form("^[A-Za-z_][A-Za-z0-9_-]*$", "the name of a Spark catalog")]


def declare_spark_catalogs(**schema: Any) -> tuple[CatalogName, ...]:
    """Return the key for the names of a catalog in Spark."""
    return declare(
        "names of this catalog in Spark: spark_catalog if it is Spark's metastore, and each name under "
        "spark.sql.catalog",
        ("spark_catalog",),
        form=Form(schema=schema),
    )


@dataclass(frozen=True, slots=True)
class RunSelection:
    """Which successful runs are selected: see `Runs`, only those within `lookback`."""

    runs: Runs = declare(
        "which runs are used: latest (of each job and target), all (within the lookback), since and a "
        "time such as 2026-11-01T06:00:00Z, or run and the id of one",
        Runs(),
        "latest",
        "latest",
        form=Form(
            "^(latest|all|since:?\\s+\\S.*|run:?\\s+\\S+)$",
            _RUNS,
            schema={"type": ["string", "object"], "minProperties": 1, "maxProperties": 1},
            parse=_parse_runs,
        ),
    )
    lookback: timedelta = declare_lookback()
    retire_after: int = declare_retire_after()


def matches_globs(globs: Collection[str], *names: str) -> bool:
    """Return whether one of the names matches one of the globs, or there are none."""
    return not globs or any(fnmatchcase(name, glob) for name in names for glob in globs)


def check_dialect(key: str, dialect: str) -> None:
    """Check the dialect. Raises `ConfigError` for an unknown one, `SourceError` without sqlglot."""
    try:
        from sqlglot import Dialect
    except ModuleNotFoundError as error:
        if error.name != "sqlglot":
            raise
        raise SourceError(
            "cannot read SQL: sqlglot is not installed (install lineage-merge[columns])"
        ) from None
    if Dialect.get(dialect) is None:
        known = ", ".join(sorted(name for name in Dialect.classes if name))
        raise ConfigError(key, f"unknown dialect {dialect}: one of {known}")

"""Words that the settings of several sources share. Imports no Spark: it is read with the configuration."""

import re
from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal, NamedTuple

from lineage_merge import naming
from lineage_merge.model.errors import ConfigError, NamingError


class Runs(NamedTuple):
    """Which good writes count: the `latest` of each job and target, or `all` there are.

    With `since` (ms since 1970) all since then, and no lookback.
    """

    which: Literal["latest", "all", "since"] = "latest"
    since: int = 0


_RUNS = "expected latest, all or since TIME"


def runs(value: Any, key: str) -> Runs:
    """``latest``, ``all``, ``since 2026-11-01T06:00:00Z``, or ``{"since": ...}`` as YAML reads it."""
    if value == "latest":
        return Runs("latest")
    if value == "all":
        return Runs("all")
    since: Any = value.get("since") if isinstance(value, dict) else re.sub(r"^since:?\s+", "", value).strip()
    try:
        # YAML makes a date of 2026-11-01 by itself.
        text = since.isoformat() if isinstance(since, date) else since
        moment = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        problem = f"{_RUNS}, and a time as 2026-11-01 or 2026-11-01T06:00:00Z"
        raise ConfigError(key, problem) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return Runs("since", (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1))


def lookback(value: float | str, key: str) -> timedelta:
    """``30`` and ``30d`` are days, ``12h`` hours."""
    number, unit = (str(value), "d") if not isinstance(value, str) else (value.rstrip("dh"), value[-1])
    days = float(number) / (24 if unit == "h" else 1)
    if not 0 < days <= 36500:
        raise ConfigError(key, f"expected more than 0 and at most 36500 days, found {value}")
    return timedelta(days=days)


def locations(value: Any) -> tuple[str, ...]:
    """One path or prefix, or a list of them."""
    return (value,) if isinstance(value, str) else tuple(value)


def namespace(key: str, text: str) -> str:
    """A namespace in its one spelling; a mistyped one would join nothing and nobody would see why."""
    if text.lower().startswith("jdbc:"):
        raise ConfigError(key, "a namespace is no JDBC URL: write redshift://host:port without jdbc:")
    if re.search(r"\s|\||://$", text.strip()):
        raise ConfigError(key, "expected a namespace such as redshift://cluster.region:5439")
    try:
        return naming.canonical_namespace(text)
    except NamingError as error:
        raise ConfigError(key, error.message) from None

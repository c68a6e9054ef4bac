"""Settings that several sources share. Imports no Spark: it is loaded with the configuration."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any, Literal, NamedTuple

from lineage_merge.infra.json_schema import load_schema
from lineage_merge.model.errors import ConfigError, ErrorCollector
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

    `since` (ms since 1970) selects all since then and replaces the lookback.
    """

    which: Literal["latest", "all", "since"] = "latest"
    since: int = 0


@dataclass(frozen=True, slots=True)
class RunSelection:
    """Which runs are selected: see `Runs`, only those within `lookback`.

    `retire_after`: the number of successful runs of a job without a write, after which its target is retired
    (0: never).
    """

    runs: Runs = field(default_factory=Runs)
    lookback: timedelta = timedelta(days=30)
    retire_after: int = 3


def run_selection(section: str, settings: Mapping[str, Any], errors: ErrorCollector) -> dict[str, Any]:
    """Return the fields of `RunSelection` from a source's `section`; errors are collected."""
    back = settings.get("lookback", 30)
    return {
        "runs": errors.get(lambda: runs(settings.get("runs", "latest"), f"{section}.runs"), Runs()),
        "lookback": errors.get(lambda: lookback(back, f"{section}.lookback"), timedelta()),
        "retire_after": int(settings.get("retire_after", 3)),
    }


_RUNS = "expected latest, all or since TIME"


def runs(value: Any, key: str) -> Runs:
    """Parse ``latest``, ``all``, ``since 2026-11-01T06:00:00Z``, or ``{"since": ...}`` as YAML reads it."""
    if value == "latest":
        return Runs("latest")
    if value == "all":
        return Runs("all")
    since: Any = value.get("since") if isinstance(value, dict) else re.sub(r"^since:?\s+", "", value).strip()
    try:
        # YAML parses 2026-11-01 as a date.
        text = since.isoformat() if isinstance(since, date) else since
        moment = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        problem = f"{_RUNS}, and a time as 2026-11-01 or 2026-11-01T06:00:00Z"
        raise ConfigError(key, problem) from None
    return Runs("since", epoch_ms(moment))


def lookback(value: float | str, key: str) -> timedelta:
    """Parse a lookback: ``30`` and ``30d`` are days, ``12h`` hours."""
    text = str(value)
    try:
        return parse_duration(text if text[-1:] in ("d", "h") else f"{text}d")
    except ValueError:
        raise ConfigError(key, f"expected more than 0 and at most 36500 days, found {value}") from None


def schema_of(package: str) -> dict[str, Any]:
    """Return the `settings.schema.json` of a package, with ``$ref`` to other packages resolved."""
    filled: dict[str, Any] = _with_references(load_schema(package, "settings.schema.json"))
    return filled


def _with_references(node: Any) -> Any:
    if isinstance(node, list):
        return [_with_references(member) for member in node]
    if not isinstance(node, dict):
        return node
    own = {name: _with_references(child) for name, child in node.items() if name != "$ref"}
    return {**schema_of(node["$ref"]), **own} if "$ref" in node else own

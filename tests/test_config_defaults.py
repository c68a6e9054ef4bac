"""Defaults in the schema, which help and documentation show, are those of a configuration without the key."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from lineage_merge.config import Key
from lineage_merge.orchestration.configuration import CONFIGURATION
from tests.command_line import in_process

# What a part needs at least.
_LEAST: Mapping[str, Any] = {
    "spline": {"export": "folder"},
    "capture": {"files": "folder"},
    "openlineage": {"events": "folder"},
    "hive": {"log": "folder"},
    "arango": {"hosts": "http://arangodb:8529", "database": "spline"},
    "kafka": {"servers": "broker:9092", "topic": "lineage", "landing": "landing"},
    "bulk": {"s3": "s3://bucket/prefix", "role_arn": "arn:aws:iam::111122223333:role/loader"},
}
WITH_DEFAULT = [key for key in CONFIGURATION.settable if "default" in key.schema]


@pytest.mark.parametrize("key", WITH_DEFAULT, ids=lambda key: key.dotted)
def test_the_default_of_a_key_is_that_of_a_configuration_without_it(key: Key) -> None:
    part, *inner = key.path
    branch = inner[0] if inner and inner[0] in _LEAST else ""
    least = {branch: _LEAST[branch]} if branch else _LEAST.get(part, {})
    settings = {"dag_name": "daily", "environment": "dev"} | ({part: least} if least else {})
    config = CONFIGURATION.parse(settings, needs_source=False)
    value: Any = config.sources if part in config.sources else config

    for name in key.path:
        value = value[name] if isinstance(value, Mapping) else getattr(value, name)

    if isinstance(value, timedelta):
        value = f"{value.days}d"
    elif isinstance(value, tuple) and key.path[-1] != "runs":
        value = list(value)
    elif key.path[-1] == "runs":
        value = value.which
    assert value == key.schema["default"]


def test_help_shows_defaults() -> None:
    words = " ".join(in_process("run", "--help-all").out.split())

    assert (
        "in the database: 30, 30d (days) or 12h (hours) [default: 30d; env: LINEAGE_MERGE_SPLINE_LOOKBACK]"
        in words
    )
    assert "[default: auto with gremlin.bulk, else gremlin; env: LINEAGE_MERGE_GREMLIN_MODE]" in words

"""Damaged configurations: as values, as YAML, and in variables and flags."""

import json
import random
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from lineage_merge.infra.storage import is_s3
from lineage_merge.merge import dataset_resolver
from lineage_merge.model.errors import ConfigError, SourceError
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources import line_files
from tests.fuzz import cases
from tests.fuzz.mutation import TEXTS, damaged, encoded, mutated, unexpected_value, written

_WAREHOUSE = "redshift://wh.us-east-1:5439"
_SETTINGS: tuple[Mapping[str, Any], ...] = (
    {
        "dag_name": "daily",
        "environment": "dev",
        "spline": {
            "arango": {"hosts": "http://h:8529", "database": "d", "password_env": "P"},
            "applications": ["a*", "b"],
            "labels": {"team": ["a", "b"]},
            "runs": "latest",
            "lookback": "30d",
            "retire_after": 3,
        },
        "dbt": [{"manifest": "m.json", "namespace": _WAREHOUSE, "catalog": "c.json"}],
        "merge": {
            "default_schemas": {_WAREHOUSE: "dev.public"},
            "rules": [{"name": "r", "match": "tmp/(?P<t>\\w+)", "dataset": f"{_WAREHOUSE}|dev.public.{{t}}"}],
            "collapse_datasets": ["s3://tmp/*"],
        },
    },
    {
        "dag_name": "daily",
        "environment": "dev",
        "spline": {"agent": ["logs"], "kafka": {"servers": "b:9092", "topic": "t", "landing": "s3://l/x"}},
        "gremlin": {"endpoint": "wss://h:8182/gremlin", "iam_auth": True, "timeout_seconds": 3},
        "openlineage": {"events": ["e"], "jobs": ["*"]},
        "hive": {"log": ["h"], "warehouse": "s3://w"},
        "sql": [{"path": "sql", "dialect": "hive", "variables": {"d": "1"}}],
        "exporters": {"openlineage": {"out": "o.jsonl"}},
        "query": {"layers": {"raw": "s3://raw/*"}},
    },
)  # fmt: skip


class Given(NamedTuple):
    """A form in which settings are passed."""

    settings: Any = None
    file: bytes | None = None
    environ: Mapping[str, str] = {}
    flags: Mapping[str, str] = {}
    names_file: str = "c.yml"


def _given(rng: random.Random) -> Given:
    settings = mutated(rng, rng.choice(_SETTINGS))
    chance = rng.random()
    if chance < 0.7:
        return Given(settings)
    if chance < 0.8:
        content = encoded(written(rng, settings))
        return Given(file=damaged(rng, content) if rng.random() < 0.5 else content)
    keys = rng.sample(CONFIGURATION.settable, 3)
    texts = [unexpected_value(rng) for _ in keys]
    texts_of_keys = [each if isinstance(each, str) else json.dumps(each) for each in texts]
    flags = {key.dotted: text for key, text in zip(keys, texts_of_keys, strict=True)}
    if chance < 0.9:
        return Given(flags=flags)
    return Given(environ={key.variable: flags[key.dotted] for key in keys})


def _smaller(given: Given) -> Iterator[Given]:
    if given.file:
        for content in cases.less_text(given.file):
            yield given._replace(file=content)


@pytest.mark.parametrize("numbers", cases.blocks(12_000, 3000), ids=str)
def test_a_configuration(numbers: range, tmp_path: Path) -> None:
    base = json.loads(json.dumps(_SETTINGS[1]))
    path = tmp_path / "c.yml"

    def check(given: Given) -> None:
        try:
            if given.file is not None:
                path.write_bytes(given.file)
                found = CONFIGURATION.load(path, given.environ, given.flags)
            elif given.settings is not None:
                found = CONFIGURATION.parse(given.settings)
            else:
                found = CONFIGURATION.parse(
                    {**base, **CONFIGURATION.collect(None, given.environ, given.flags).settings}
                )
        except ConfigError as error:
            cases.assert_no_secret(error.message)
            return
        dataset_resolver.from_config(found)

    cases.run("config", numbers, _given, check, _smaller)


@pytest.mark.parametrize("settings", _SETTINGS, ids=["arango and dbt", "files"])
def test_what_is_damaged_was_whole(settings: Mapping[str, Any]) -> None:
    assert CONFIGURATION.parse(settings).dag_name == "daily"


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: ascii(text)[:20])
def test_a_file_with_an_unusual_name(text: str) -> None:
    """A file of the configuration, and one that it names."""
    config = CONFIGURATION.parse(
        {"dag_name": "d", "environment": "dev", "sql": [{"path": text or "/", "dialect": "hive"}]}
    )
    assert dataset_resolver.from_config(config)
    for path in (text, f"/nowhere/{text}") if not is_s3(text) else ():  # without a request
        with suppress(SourceError):
            line_files.find([path or "/nowhere"])
    with pytest.raises(ConfigError) as caught:
        CONFIGURATION.load(text.strip() or "./", environ={})
    cases.assert_no_secret(caught.value.message)

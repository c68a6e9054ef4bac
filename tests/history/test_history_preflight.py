"""The history is reachable before a load starts."""

from pathlib import Path

import pytest

from lineage_merge.config import Config, History
from lineage_merge.model.errors import ConfigError
from lineage_merge.orchestration.preflight import check_graph
from tests.s3_fixtures import S3


def config(location: str) -> Config:
    return Config("daily", "dev", history=History(location))


def test_a_missing_bucket_is_found_before_the_load(s3: S3) -> None:
    s3.put("lake", "x", "")
    with pytest.raises(ConfigError, match=r"history\.location: s3://lke/history.*no such bucket"):
        check_graph(config("s3://lke/history/"))
    check_graph(config("s3://lake/history"))


def test_a_missing_folder_is_created_later(tmp_path: Path) -> None:
    check_graph(config(str(tmp_path / "missing")))
    check_graph(config("none"))

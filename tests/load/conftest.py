"""Engines for tests of loading: in this process unless a test asks for Spark too."""

import pytest

from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.infra.engine.rows import Engine
from lineage_merge.load.gremlin import error_classification

LOCAL, SPARK = "local", "spark"


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> Engine:
    """The engine in this process; with `on_both_engines` also that on Spark."""
    if getattr(request, "param", LOCAL) == LOCAL:
        return LocalEngine()
    from lineage_merge.infra.engine.on_spark import SparkEngine

    return SparkEngine(request.getfixturevalue("spark"))


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the backoff, for quick tests."""
    fast = {
        kind: backoff._replace(first=backoff.first / 5, longest=backoff.longest / 5)
        for kind, backoff in error_classification.BACKOFF.items()
    }
    monkeypatch.setattr(error_classification, "BACKOFF", fast)

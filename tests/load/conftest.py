"""Engines for tests of loading: in this process unless a test asks for Spark too."""

import pytest

from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.infra.engine.rows import Engine

LOCAL, SPARK = "local", "spark"


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> Engine:
    """The engine in this process; with `on_both_engines` also that on Spark."""
    if getattr(request, "param", LOCAL) == LOCAL:
        return LocalEngine()
    from lineage_merge.infra.engine.on_spark import SparkEngine

    return SparkEngine(request.getfixturevalue("spark"))

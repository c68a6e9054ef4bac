"""Engines for tests: rows in this process, and on Spark where both must give the same."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.infra.engine.rows import Engine

# Parameters of a fixture that calls `engine_of`. That engines agree is shown by `tests/properties` and
# `tests/merge/test_engines_agree.py`, so a case repeats on Spark nightly.
ENGINES = ("local", pytest.param("spark", marks=(pytest.mark.jvm, pytest.mark.nightly)))


@contextmanager
def engine_of(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """The engine that a fixture's parameter names; what it keeps is freed at the end."""
    if request.param == "local":
        yield LocalEngine()
        return
    from lineage_merge.infra.engine.on_spark import SparkEngine

    engine = SparkEngine(request.getfixturevalue("spark"))
    yield engine
    engine.unpersist_all()


@pytest.fixture
def engine() -> Engine:
    """An engine that needs no Spark."""
    return LocalEngine()


@pytest.fixture(params=ENGINES)
def each_engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """Each engine in turn."""
    with engine_of(request) as found:
        yield found

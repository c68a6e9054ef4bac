"""What all tests share: real servers as fixtures (plugins), and one Spark session."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lineage_merge.config import SparkOptions
from lineage_merge.spark import session

pytest_plugins = [
    "tests.gremlin_fixtures",
    "tests.arango_fixtures",
    "tests.s3_fixtures",
    "tests.neptune_standin",
    "tests.sample_graph",
    "tests.pipeline_fixtures",
]

DATA = Path(__file__).parent / "data"


_MOST_PROCESSES = 4


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One process for each core, within reason: each has a Spark and a Gremlin Server of its own.

    A graph that somebody named is emptied for each test, so only one process may use it.
    """
    if os.environ.get("LINEAGE_MERGE_TEST_GREMLIN_URL"):
        return 0
    return min(_MOST_PROCESSES, os.cpu_count() or 1)


# Files with tests that take long, longest first, and the folders of those.
_LONG = (
    "tests/load/test_update_faults.py",
    "tests/chaos/",
    "tests/properties/",
    "tests/fuzz/",
    "tests/load/test_bulk.py",
    "tests/load/test_neptune_faults.py",
    "tests/test_job.py",
    "tests/test_same_graph.py",
)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long tests come first: one that starts last leaves the other processes without work."""

    def place(item: pytest.Item) -> int:
        return next((at for at, start in enumerate(_LONG) if item.nodeid.startswith(start)), len(_LONG))

    items.sort(key=place)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A local Spark session, just as the command line starts one."""
    with session(SparkOptions()) as running:
        yield running


@pytest.fixture(autouse=True)
def _nothing_stays_cached() -> Iterator[None]:
    """A run persists what it reads twice, and Spark compares each new plan with all that is persisted."""
    yield
    running = SparkSession.getActiveSession()
    if running is not None:
        running.catalog.clearCache()


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder with real Spline, dbt and other documents."""
    return DATA

"""What all tests share: real servers as fixtures (plugins), and one Spark session."""

import os
from collections.abc import Iterator
from itertools import groupby, islice
from pathlib import Path

import pytest
from hypothesis import settings
from pyspark.sql import SparkSession

from lineage_merge.config import SparkOptions
from lineage_merge.infra.spark_session import session
from tests import drawing

pytest_plugins = [
    "tests.engine_fixtures",
    "tests.jvm",
    "tests.nightly",
    "tests.gremlin_fixtures",
    "tests.arango_fixtures",
    "tests.s3_fixtures",
    "tests.neptune_standin",
    "tests.sample_graph",
    "tests.pipeline_fixtures",
]

DATA = Path(__file__).parent / "data"

# A busy machine must not fail a property. Where only a share is drawn, it is the same in each run.
_is_share = drawing.share() < 1
settings.register_profile(
    "tests", deadline=None, derandomize=_is_share, max_examples=40 if _is_share else 100
)
settings.load_profile("tests")


def pytest_configure() -> None:
    """Choose the run's seed before other processes are started."""
    drawing.begin()


def pytest_report_header() -> str:
    """How to repeat what is drawn at random."""
    return drawing.header()


_MOST_PROCESSES = 4


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One process for each core, within reason: each has a Spark and a Gremlin Server of its own.

    An external graph is emptied for each test, so only one process may use it.
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
    "tests/test_tutorial.py",
)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put tests that start no Java first in each process, and of the others those that take long.

    A long test that starts last leaves the other processes without work. xdist gives each process a
    contiguous part of the tests, so the parts are put one after the other, files whole.
    """
    workerinput = getattr(config, "workerinput", {})
    processes = int(workerinput.get("workercount", 1))

    def place(item: pytest.Item) -> int:
        return next((at for at, start in enumerate(_LONG) if item.nodeid.startswith(start)), len(_LONG))

    heavy = _shared([item for item in sorted(items, key=place) if item.get_closest_marker("jvm")], processes)
    light = iter([item for item in items if not item.get_closest_marker("jvm")])
    size, longer = divmod(len(items), processes)
    ordered: list[pytest.Item] = []
    for number, part in enumerate(heavy):
        whole = size + (number >= processes - longer)
        ordered += [*islice(light, max(0, whole - len(part))), *part]
    items[:] = [*ordered, *light]


def _shared(items: list[pytest.Item], processes: int) -> list[list[pytest.Item]]:
    """The tests in so many parts of about one size; those of a file stay together, in order."""
    parts: list[list[pytest.Item]] = [[] for _ in range(processes)]
    for _, of_file in groupby(items, key=lambda item: item.path):
        min(parts, key=len).extend(of_file)
    return parts


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

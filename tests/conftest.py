"""What all tests share: real servers as fixtures (plugins), and one Spark session."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lineage_merge.config import SparkOptions
from lineage_merge.spark import session

pytest_plugins = ["tests.gremlin_fixtures", "tests.arango_fixtures", "tests.s3_fixtures"]

DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A local Spark session, just as the command line starts one."""
    with session(SparkOptions()) as running:
        yield running


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder with real Spline, dbt and other documents."""
    return DATA

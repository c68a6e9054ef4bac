"""The graph that `lineage-merge demo` makes, in a server of its own, for tests that only ask."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from pyspark.sql import SparkSession

from lineage_merge.embedded import EmbeddedServer
from lineage_merge.sample import config_file
from tests.command_line import in_process


@contextmanager
def sample_server() -> Iterator[str]:
    """The URL of a server that holds TICKIT. Whoever has a Spark session lends it."""
    with EmbeddedServer(None) as server:
        outcome = in_process("run", "--config", config_file(), "--gremlin-endpoint", server.url, "--quiet")
        assert outcome.code == 0, outcome
        yield server.url


@pytest.fixture(scope="session")
def tickit_url(spark: SparkSession) -> Iterator[str]:
    """The URL of a server that holds TICKIT; nobody writes to it."""
    with sample_server() as url:
        yield url


def plain(value: object) -> object:
    """A result as JSON could hold it: paths as lists, keys as texts such as ``T.id``."""
    from gremlin_python.structure.graph import Path

    if isinstance(value, Path):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | set | tuple):
        return [plain(each) for each in value]
    return value

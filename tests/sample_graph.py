"""The graph that `lineage-merge demo` makes, in files and in a server of its own, for tests that only ask."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lineage_merge.cli.sample import config_file
from lineage_merge.infra.embedded import EmbeddedServer
from tests.command_line import in_process


@contextmanager
def sample_server() -> Iterator[str]:
    """The URL of a server that holds TICKIT. Uses an existing Spark session."""
    with EmbeddedServer(None) as server:
        outcome = in_process("run", "--config", config_file(), "--gremlin-endpoint", server.url, "--quiet")
        assert outcome.code == 0, outcome
        yield server.url


@pytest.fixture(scope="session")
def tickit_folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """TICKIT as `build` writes it, Parquet: built once for all test processes, read-only."""
    shared = tmp_path_factory.getbasetemp()
    if hasattr(request.config, "workerinput"):
        shared = shared.parent
    folder = shared / "tickit-built"
    with (shared / "tickit-built.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            request.getfixturevalue("spark")
            growing = shared / "tickit-growing"  # a failed build must not be read
            outcome = in_process("build", "--config", config_file(), "--out", growing, "--quiet")
            assert outcome.code == 0, outcome
            growing.rename(folder)
    return folder


@pytest.fixture(scope="session")
def tickit_url(spark: SparkSession, tickit_folder: Path) -> Iterator[str]:
    """The URL of a server that holds TICKIT; read-only."""
    with EmbeddedServer(None) as server:
        config = ("--config", config_file(), "--gremlin-endpoint", server.url)
        outcome = in_process("load", tickit_folder, *config, "--quiet")
        assert outcome.code == 0, outcome
        yield server.url


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

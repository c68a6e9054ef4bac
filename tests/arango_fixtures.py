"""The fixture `arango`: the stand-in, or a real server where one is named by the environment.

`LINEAGE_MERGE_TEST_ARANGO_URL` (`..._USERNAME`, `..._PASSWORD`) names a real server: databases are then
created there under names of their own, and dropped at the end. Take the fixture into a test module or
a conftest with `pytest_plugins = ["tests.arango_fixtures"]` or an import.
"""

import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from arango.client import ArangoClient

from .arango_standin import ArangoStandin, read_folder

Contents = Mapping[str, Sequence[Mapping[str, Any]]]

_VARIABLE = "LINEAGE_MERGE_TEST_ARANGO"


class ArangoServer:
    """What a test needs of a server; here, the stand-in."""

    def __init__(self, url: str, username: str, password: str, standin: ArangoStandin | None = None) -> None:
        self.url = url
        self.username = username
        self.password = password
        self._standin = standin

    @property
    def standin(self) -> ArangoStandin:
        """For faults and for what was asked; the test is skipped where the server is a real one."""
        if self._standin is None:
            pytest.skip("faults and the record of requests exist on the stand-in only")
        return self._standin

    def database(self, name: str, contents: Path | Contents) -> str:
        """Load a folder or a mapping of collections; return the name under which the server has it."""
        self.standin.load(name, read_folder(contents) if isinstance(contents, Path) else contents)
        return name


class RealServer(ArangoServer):
    """An external server: each test has its own databases on it."""

    def __init__(self, url: str, username: str, password: str) -> None:
        super().__init__(url, username, password)
        self._client = ArangoClient(hosts=url)
        self._system = self._client.db("_system", username=username, password=password)
        self._created: list[str] = []

    def database(self, name: str, contents: Path | Contents) -> str:
        unique = f"{name}_{uuid.uuid4().hex[:12]}"
        self._system.create_database(unique)
        self._created.append(unique)
        target = self._client.db(unique, username=self.username, password=self.password)
        collections = read_folder(contents) if isinstance(contents, Path) else contents
        for collection, documents in collections.items():
            target.create_collection(collection, edge=any("_from" in document for document in documents))
            # The server assigns ids and revisions; keys are retained, so ids are equal.
            plain = [
                {name: value for name, value in document.items() if name not in {"_id", "_rev"}}
                for document in documents
            ]
            if plain:
                target.collection(collection).import_bulk(plain, halt_on_error=True)
        return unique

    def close(self) -> None:
        """Drop the databases of the test."""
        for name in self._created:
            self._system.delete_database(name, ignore_missing=True)
        self._client.close()


@pytest.fixture
def arango() -> Iterator[ArangoServer]:
    """A server to load databases into; nothing of it outlives the test."""
    if url := os.environ.get(f"{_VARIABLE}_URL"):
        username = os.environ.get(f"{_VARIABLE}_USERNAME", "root")
        password = os.environ.get(f"{_VARIABLE}_PASSWORD", "")
        with closing(RealServer(url, username, password)) as real:
            yield real
        return
    with ArangoStandin({}) as standin:
        yield ArangoServer(standin.url, standin.username, standin.password, standin)
    assert standin.failures == []

"""The fixture `arango`: the stand-in, or a real server where one is named by the environment.

`LINEAGE_MERGE_TEST_ARANGO_URL` (`..._USERNAME`, `..._PASSWORD`) names a real server: databases are then
created there under names of their own, and dropped at the end. Take the fixture into a test module or
a conftest with `pytest_plugins = ["tests.arango_fixtures"]` or an import.
"""

import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import pytest
from arango.client import ArangoClient
from arango.database import StandardDatabase

from .arango_standin import ArangoStandin, read_folder
from .arango_standin.store import is_edge_collection

Contents = Mapping[str, Sequence[Mapping[str, Any]]]

_VARIABLE = "LINEAGE_MERGE_TEST_ARANGO"


class ArangoServer(Protocol):
    """What a test needs of a server, of whichever kind."""

    @property
    def url(self) -> str: ...

    @property
    def username(self) -> str: ...

    @property
    def password(self) -> str: ...

    @property
    def standin(self) -> ArangoStandin:
        """For faults and for what was asked; the test is skipped where the server is a real one."""
        ...

    def database(self, name: str, contents: Path | Contents) -> str:
        """Loads a folder or a mapping of collections; the name under which the server has it."""
        ...


def _collections(contents: Path | Contents) -> Contents:
    return read_folder(contents) if isinstance(contents, Path) else contents


class StandinServer:
    """The stand-in, behind the same face as a real server."""

    def __init__(self, standin: ArangoStandin) -> None:
        self.standin = standin
        self.username = standin.username
        self.password = standin.password

    @property
    def url(self) -> str:
        return self.standin.url

    def database(self, name: str, contents: Path | Contents) -> str:
        self.standin.load(name, _collections(contents))
        return name


class RealServer:
    """An external server: each test has its own databases on it."""

    def __init__(self, url: str, username: str, password: str) -> None:
        self.url = url
        self.username = username
        self.password = password
        self._client = ArangoClient(hosts=url)
        self._created: list[str] = []

    @property
    def standin(self) -> ArangoStandin:
        pytest.skip("faults and the record of requests exist on the stand-in only")

    def _open(self, name: str) -> StandardDatabase:
        return self._client.db(name, username=self.username, password=self.password)

    def database(self, name: str, contents: Path | Contents) -> str:
        unique = f"{name}_{uuid.uuid4().hex[:12]}"
        self._open("_system").create_database(unique)
        self._created.append(unique)
        target = self._open(unique)
        for collection_name, documents in _collections(contents).items():
            edges = is_edge_collection(documents)
            target.create_collection(collection_name, edge=edges)
            if documents:
                # The server assigns ids and revisions; keys are retained, so ids are equal.
                plain = [
                    {key: value for key, value in each.items() if key not in {"_id", "_rev"}}
                    for each in documents
                ]
                target.collection(collection_name).import_bulk(plain, halt_on_error=True)
        return unique

    def close(self) -> None:
        system = self._open("_system")
        for name in self._created:
            system.delete_database(name, ignore_missing=True)
        self._client.close()


@pytest.fixture
def arango() -> Iterator[ArangoServer]:
    """A server to load databases into; nothing of it outlives the test."""
    url = os.environ.get(f"{_VARIABLE}_URL")
    if url:
        real = RealServer(
            url,
            os.environ.get(f"{_VARIABLE}_USERNAME", "root"),
            os.environ.get(f"{_VARIABLE}_PASSWORD", ""),
        )
        try:
            yield real
        finally:
            real.close()
        return
    with ArangoStandin({}) as standin:
        yield StandinServer(standin)
    assert standin.failures == []

"""The same tests run against a real server when one is named: see `arango_fixtures`."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from arango.client import ArangoClient
from arango.database import StandardDatabase

from tests.arango_fixtures import ArangoServer, arango

__all__ = ["arango", "ask", "shop"]

# Products, some of them malformed, and what is made of what.
SHOP: dict[str, list[dict[str, Any]]] = {
    "product": [
        {"_key": "bread", "name": "Bread", "price": 3, "tags": ["food", "fresh"], "maker": {"city": "Graz"}},
        {"_key": "flour", "name": "flour_a", "price": 1.5, "tags": ["food"], "maker": {"city": "Linz"}},
        {"_key": "salt", "name": "Salt", "price": None, "tags": []},
        {"_key": "oven", "name": "oven%b", "price": 900, "tags": ["tool"], "maker": {"city": "Graz"}},
        {"_key": "misc:1", "name": "Äpfel", "price": "4"},
    ],
    "madeOf": [
        {"_key": "1", "_from": "product/bread", "_to": "product/flour", "index": 0},
        {"_key": "2", "_from": "product/bread", "_to": "product/salt", "index": 1},
        {"_key": "3", "_from": "product/flour", "_to": "product/misc:1", "index": 0},
        {"_key": "4", "_from": "product/misc:1", "_to": "product/flour", "index": 0},
    ],
}


@pytest.fixture
def shop(arango: ArangoServer) -> Iterator[StandardDatabase]:
    """python-arango's handle on a small database."""
    name = arango.database("shop", SHOP)
    client = ArangoClient(hosts=arango.url)
    yield client.db(name, username=arango.username, password=arango.password)
    client.close()


@pytest.fixture
def ask(shop: StandardDatabase) -> Callable[..., list[Any]]:
    """All results of a query; bind parameters by keyword."""

    def run(query: str, binds: dict[str, Any] | None = None) -> list[Any]:
        cursor: Any = shop.aql.execute(query, bind_vars=binds)
        return list(cursor)

    return run

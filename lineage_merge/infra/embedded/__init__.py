"""Embedded Gremlin Server that requires only Python: for the demo, `serve` and the tests."""

from lineage_merge.infra.embedded.java import find_java
from lineage_merge.infra.embedded.server import EmbeddedServer

__all__ = ["EmbeddedServer", "find_java"]

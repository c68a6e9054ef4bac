"""The embedded graph as a folder, and the Gremlin Server of `serve` and the tests."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lineage_merge.infra.embedded.java import find_java
    from lineage_merge.infra.embedded.server import EmbeddedServer

__all__ = ["EmbeddedServer", "find_java"]


def __getattr__(name: str) -> Any:
    """Import the server where it is used: loads and questions need only the folder."""
    if name == "EmbeddedServer":
        from lineage_merge.infra.embedded.server import EmbeddedServer

        return EmbeddedServer
    if name == "find_java":
        from lineage_merge.infra.embedded.java import find_java

        return find_java
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

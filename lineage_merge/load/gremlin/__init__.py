"""Traversals sent to a Gremlin endpoint: connections, retries, upserts, reads."""

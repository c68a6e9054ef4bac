"""Gremlin client: connections, retries, reads, upserts, and the state of loads."""

"""Gremlin client: connections, retries, upserts and reads."""

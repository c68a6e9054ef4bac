"""Joining the sources: names made canonical, aliases followed, duplicates put together."""

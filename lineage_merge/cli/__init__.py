"""The command line: each command calls `orchestration.pipeline` or `query` and prints the result."""

from lineage_merge.cli.commands import main

__all__ = ["main"]

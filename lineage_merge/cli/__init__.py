"""The command line: every command calls `orchestration.pipeline` or `query`, and prints."""

from lineage_merge.cli.commands import main

__all__ = ["main"]

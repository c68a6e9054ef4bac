"""The command line: every command calls `lineage_merge.orchestration.pipeline` or `lineage_merge.query` and prints."""

from lineage_merge.cli.commands import main

__all__ = ["main"]

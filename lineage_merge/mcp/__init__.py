"""A Model Context Protocol server: assistants ask the questions of `query` through read-only tools.

Needs the extra `mcp`. Only `lineage_merge.cli.servers` imports this package, when the command runs.
"""

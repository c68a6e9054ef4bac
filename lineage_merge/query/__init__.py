"""Queries on the graph, shared by the command line, the page and the notebook."""

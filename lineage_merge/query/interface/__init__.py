"""The public Python interface: `Lineage` opens a graph and answers questions with typed results.

It stands on the queries, the history and the configuration; the command line stands on it.
"""

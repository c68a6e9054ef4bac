"""Review of changes of SQL files: their effect on lineage, before a release. Without Spark.

`git` finds changed files and their earlier content, `versions` builds a graph of each version, `changes`
compares them (pure), `readers` finds the readers of dropped elements in the graph.
"""

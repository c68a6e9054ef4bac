"""What a change of SQL files does to lineage, before it is released.

`git` tells which files changed and what they were, `versions` makes a graph of each version, `changes`
compares them (pure), `readers` asks who reads what goes. Needs no Spark.
"""

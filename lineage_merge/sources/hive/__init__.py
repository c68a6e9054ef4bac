"""Hive lineage logs: one JSON document per query, as its LineageLogger hook (or a similar one) writes it.

The format is defined by Hive's source (`ql/hooks/LineageLogger.java`, Hive 1.2 to 4.x); Cloudera's lineage
files and Impala's hold the same JSON without a logger's prefix.
"""

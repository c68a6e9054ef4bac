"""What Hive did, as its LineageLogger hook (or a hook like it) writes it into a log: a line of JSON a query.

The format is that of Hive's own source (`ql/hooks/LineageLogger.java`, Hive 1.2 to 4.x); Cloudera's
lineage files and Impala's hold the same JSON without a logger's prefix.
"""

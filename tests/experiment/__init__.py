"""Experiments: statements are run with changed values of one source column, and the result is compared.

If a column of the result changes and the lineage has no edge and no influence from the source column, the
lineage is wrong, whatever anybody believes. `execution` runs statements in DuckDB, `changes` changes columns
and compares results, `product` asks for the lineage, `statements` draws statements, `constructs` has one
statement for each construct, `corpora` the queries of TPC-H and TPC-DS.

    python -m tests.experiment --seed 7 --statements 1000
"""

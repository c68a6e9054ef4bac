"""Column lineage of SQL queries. Needs sqlglot.

`parsing` parses text, `names` resolves table names to datasets, `tables` tracks the known columns of each
dataset, `scope` resolves names inside a query, `values` reads expressions, `query` reads queries
and converts the result to the model that all sources share; `spark_names` and `postgres_names` name columns
without an alias.
"""

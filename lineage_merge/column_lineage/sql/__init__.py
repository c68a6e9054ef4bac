"""Column lineage of SQL queries. Needs sqlglot.

`parsing` parses text, `names` resolves table names to datasets, `tables` tracks the known columns of each
dataset, `scope` resolves names inside a query, `values` reads expressions into the
graph of values that all sources share, and `query` queries; `spark_names` and `postgres_names` name columns
without an alias. `row_changes` makes queries of MERGE, UPDATE and DELETE, `parser_syntax` replaces syntax
that the parser lacks, `targets` maps a query's columns to those of a table.

Fields of structures are columns (`field_path`): `structures` reads their constructors, access and lambdas,
`argument_roles` has the roles of arguments (`column_lineage.roles`), `struct_types` fields by data types,
`table_functions` the rows of arrays. `sql_values` has structures, which a query builds of parts.
"""

"""What the columns of a SELECT are made of.

`names` finds a table of SQL among the datasets, `tables` holds what is known of each
dataset's columns, `scope` what the names inside a query mean, `values` reads expressions,
`query` reads queries, `told` says it in the words that all sources share. Needs sqlglot.
"""

"""AWS Glue's Data Catalog: which path is behind a table's name, and what the table looks like."""

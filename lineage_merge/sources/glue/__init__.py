"""The AWS Glue Data Catalog: the path behind a table's name, its columns and its properties."""

"""dbt projects: datasets and their lineage, from `manifest.json`.

`manifest` parses and validates the file's text, `translator` converts it to elements of
`lineage_merge.model.elements`. Neither opens a file.
"""

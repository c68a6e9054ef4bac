"""dbt: what a `manifest.json` says of a project's datasets and how they feed each other.

`manifest` reads the file's text and checks it, `translate` turns it into elements of
`lineage_merge.model.elements`. Neither opens a file.
"""

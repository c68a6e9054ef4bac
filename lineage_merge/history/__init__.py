"""History: the lineage of each DAG after each merge, in files.

`layout` and `merge_record` define the files (docs/history.md), `merge_index` and
`entry_files` read and write them. `recording` adds a merge after a load, `compaction` thins out old ones,
`pictures` puts the lineage of a moment together, `timeline` follows one element.
"""

"""SQL files, parsed but never run: the lineage they will have once released.

`lineage_merge.column_lineage.scripts` reads the statements; `names` resolves names to datasets, `translator`
yields elements (both pure); `files` and `reader` do the I/O.
"""

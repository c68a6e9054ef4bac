"""SQL files, parsed but never run: the lineage they will have once released.

`variables` and `statements` split a file's text into statements, `syntax` parses them, `shapes` has the
columns of tables, `script` (on `context`) interprets one file, `project` all of them, `translator` yields
elements (all pure); `files` and `reader` do the I/O.
"""

"""Lineage of SQL scripts: files, procedures, sessions. Pure; needs sqlglot.

`variables` and `statements` split a text into statements, `syntax` parses them, `shapes` has the columns of
tables. `script` interprets one script: `definitions`, `rows` and `files` read its statements with its state,
`context`. `project` interprets several that depend on each other, `elements` yields the elements of what they
write. Sources say which dataset a name is (`datasets`).
"""

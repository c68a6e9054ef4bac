"""Files of SQL, parsed and never run: what they will do once they are released.

`variables` and `statements` make statements of a file's text, `syntax` parses them, `shapes` holds which
columns tables have, `script` (on `context`) follows one file, `project` all of them,
`translate` makes elements (all pure); `files` and `read` read.
"""

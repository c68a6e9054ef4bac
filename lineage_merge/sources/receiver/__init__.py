"""`lineage-merge receive`: plans and events over HTTP, kept in files that the sources read.

`bodies` takes a request's body within limits, `documents` makes lines of it (pure), `commits` has many
requests share a write, `journal` writes and finishes files, `recovery` finishes what a killed process left,
`uploads` moves finished files to S3, `app` is the HTTP side, `connections` limits connections, `serving`
runs it. Nothing is answered with success before it is on the disk.
"""

"""`lineage-merge receive`: plans and events received over HTTP, stored in files that the sources read.

`bodies` reads request bodies within limits, `documents` converts them to lines (pure), `commits` groups the
writes of concurrent requests, `journal` writes and finishes files, `recovery` finishes the files of a killed
process, `uploads` moves finished files to S3, `app` has the HTTP endpoints, `connections` limits connections,
`serving` runs the server. A request succeeds only after its documents are on disk. `aws_lambda` serves the
same endpoints as a Lambda function, and stores in S3.
"""

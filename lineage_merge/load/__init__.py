"""Loading of a merge into the graph.

`update` runs the stages of a load (`stages`), `writer` upserts all rows without a comparison, `remove_dag`
deletes a DAG or job. `gremlin` has connections, retries and requests, `neptune_bulk` Neptune's bulk loader,
`prune` the deletions.
"""

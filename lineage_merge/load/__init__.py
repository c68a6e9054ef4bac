"""Loading of a merge into the graph: comparison, and the plan of all changes.

`server` and `folder` read what a server or an embedded graph stores, and make the changes; `graph_access`
selects one of them. `gremlin` has connections and requests, `neptune_bulk` Neptune's bulk loader, `prune`
decides what is deleted.
"""

"""Stages of a load after its begin: `resolve_names`, `plan_changes`, `write_changes`, `record_state`.

`load.load_plan` has what they exchange. `load.update` begins the load and runs them. `write_changes` and
`record_state` write to the graph, the others only read.
"""

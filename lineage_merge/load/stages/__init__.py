"""Stages of a load, in this order: `begin`, `resolve_names`, `plan_changes`, `write_changes`, `record_state`.

`types` has their inputs and outputs. `begin`, `write_changes` and `record_state` write to the graph, the
others only read.
"""

"""Spark's event logs: the plans of executions as text, read into documents as those of Spline's agent.

`log_files` finds logs and reads their lines, `executions` selects events, `writes` the executions that write.
`formatted_plan`, `logical_plan` and `simple_plan` parse a plan's text; `commands` finds its target,
`operations` makes a document of the rest, `messages` of the whole. From there on, everything is as for files
of an agent.
"""

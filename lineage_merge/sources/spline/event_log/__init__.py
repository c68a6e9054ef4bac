"""Spark's event logs: the plans of executions as text, read into documents as those of Spline's agent.

`log_files` finds logs and reads their lines, `executions` selects the executions that write, `formatted_plan`
parses a plan's text, `operations` and `targets` make a document of it. From there on, everything is as for
files of an agent.
"""

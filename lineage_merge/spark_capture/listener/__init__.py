"""The listener: the lineage of every write of a Spark application, recorded while it runs.

`install.install` registers listeners of executions and of streams with Py4J (`executions.py`, `streams.py`).
They only put executions into a queue; a thread (`recorder.py`) converts their plans, joins the executions of
one write (`nested_writes.py`), makes redacted lines of them (`lines.py`; pure) and hands these to a delivery
(`delivery.py`). Nothing here raises into the job, and nothing blocks it.
"""

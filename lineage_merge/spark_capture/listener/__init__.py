"""The listener: the lineage of every write of a Spark application, recorded while it runs.

`install.install` registers a `QueryExecutionListener` with Py4J (`executions.py`). It only puts executions
into a queue; a thread (`recorder.py`) converts their plans, joins the executions of one write
(`nested_writes.py`), makes redacted lines of them (`lines.py`; pure) and hands these to a delivery
(`delivery.py`). Nothing here raises into the job, and nothing blocks it.
"""

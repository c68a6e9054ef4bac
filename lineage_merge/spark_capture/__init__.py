"""Lineage of what a Spark session is about to write: without an agent, and without running anything.

`dataframe.capture` gets the analyzed plan from Spark, and `write_documents` builds of it the document that
Spline's agent would send; it is translated like any such document (`sources/spline`). Only `session.py`,
`write_commands.py` and `targets.py` access the JVM; the other modules are pure.
"""

from lineage_merge.spark_capture.captured import Captured
from lineage_merge.spark_capture.dataframe import capture
from lineage_merge.spark_capture.origins import Origin

__all__ = ["Captured", "Origin", "capture"]

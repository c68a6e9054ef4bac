"""Lineage of a Spark session, without an agent: of what it is about to write, and of all that it writes.

`dataframe.capture` gets the analyzed plan from Spark, and `write_documents` builds of it the document that
Spline's agent would send; it is translated like any such document (`sources/spline`). `listener/` sends such
documents while a job runs, which the source `capture` reads. Only `session.py`, `write_commands.py`,
`targets.py` and the listener access the JVM; the other modules are pure.
"""

from lineage_merge.spark_capture import dataframe
from lineage_merge.spark_capture.captured import Captured
from lineage_merge.spark_capture.listener import install
from lineage_merge.spark_capture.origins import Origin

__all__ = ["Captured", "Origin", "capture"]


class _Capture:
    """The lineage of one write, when called; `install` records all writes of a Spark application."""

    __call__ = staticmethod(dataframe.capture)
    install = staticmethod(install.install)


capture = _Capture()

"""The lineage of what a Spark session is about to write: no agent, and nothing is run.

`frame.capture` asks Spark for the analyzed plan, and makes the document of it that Spline's agent would send;
the translation of such documents (`sources/spline`) does the rest. All that talks to the JVM is in
`session.py`, `relations.py`, `rdds.py`, `statements.py` and `targets.py`; the others are pure.
"""

from lineage_merge.sources.capture.captured import Captured
from lineage_merge.sources.capture.dataframe import capture
from lineage_merge.sources.capture.origins import Origin

__all__ = ["Captured", "Origin", "capture"]

"""Files of the listener (`lineage_merge.capture.install`): lines as Spline's agent sends them (`docs/capture.md`)."""

"""Files of the listener (`lineage_merge.capture.install`): lines as of Spline's agent (`docs/capture.md`)."""

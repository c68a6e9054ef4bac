"""Telemetry of a run: JSON logs, metrics, spans. The pipeline only marks its steps."""

from lineage_merge.infra.telemetry.run import ActiveRun, current, in_step, running, step

__all__ = ["ActiveRun", "current", "in_step", "running", "step"]

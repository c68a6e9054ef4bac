"""Telemetry of a run: JSON logs, metrics, spans. The pipeline only marks its steps."""

from lineage_merge.infra.telemetry.run import Run, current, running
from lineage_merge.infra.telemetry.steps import in_step, step

__all__ = ["Run", "current", "in_step", "running", "step"]

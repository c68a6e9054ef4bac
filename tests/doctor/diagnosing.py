"""The checks that `doctor` runs on one area of a configuration, in this thread."""

from lineage_merge.config import Config
from lineage_merge.orchestration.doctor.examination import CHECKS
from lineage_merge.sources.diagnosis import Diagnosis


def examine(area: str, config: Config) -> list[Diagnosis]:
    """Return the diagnoses of one area."""
    (check,) = (each for each in CHECKS if each.area == area)
    return [*check.examine(config)]

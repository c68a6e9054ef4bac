"""The ``capture`` configuration section, and the kind of documents that are read."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lineage_merge.config.section import locations
from lineage_merge.model.errors import ErrorCollector
from lineage_merge.sources.kinds import Kind
from lineage_merge.sources.settings import RunSelection, run_selection
from lineage_merge.sources.spline.settings import LISTENER, Spline, is_of_listener


@dataclass(frozen=True, slots=True)
class Capture(RunSelection):
    """Where messages are read from (`files`), and which applications and runs are selected."""

    files: tuple[str, ...] = ()
    applications: tuple[str, ...] = ()

    def as_agent(self) -> Spline:
        """Return the settings with which Spline's source reads the files."""
        return Spline(
            runs=self.runs,
            lookback=self.lookback,
            retire_after=self.retire_after,
            agent=self.files,
            applications=self.applications,
        )


def parse(settings: Mapping[str, Any]) -> Capture:
    """Parse settings that fit the schema. Raises `ConfigError`."""
    errors = ErrorCollector()
    capture = Capture(
        files=locations(settings["files"]),
        applications=tuple(settings.get("applications", ())),
        **run_selection("capture", settings, errors),
    )
    errors.raise_errors()
    return capture


LINES = Kind(
    "messages of capture.install",
    "give them as capture.files",
    is_document=lambda document: (
        isinstance(document, list) and document[:1] == ["plan"] and any(map(is_of_listener, document[1:2]))
    ),
    pattern=re.compile(rf'\["plan", \{{"agentInfo":\{{"name":"{LISTENER}"'),
    first="[",
)

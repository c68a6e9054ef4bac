"""The ``capture`` configuration section, and the kind of documents that are read."""

import re
from dataclasses import dataclass

from lineage_merge.infra.setting import Texts, declare
from lineage_merge.sources.kinds import Kind
from lineage_merge.sources.settings import RunSelection
from lineage_merge.sources.spline.settings import LISTENER, Spline, is_of_listener


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture(RunSelection):
    """Which files, applications and runs are read."""

    files: Texts = declare(
        "files or folders (local or s3://) that capture.install writes to",
        example="s3://bucket/lineage",
        is_path=True,
    )
    applications: tuple[str, ...] = declare(
        "applications to read, by name, globs allowed", (), ["tickit_*"], "all"
    )

    def as_agent(self) -> Spline:
        """Return the settings with which Spline's source reads the files."""
        return Spline(
            runs=self.runs,
            lookback=self.lookback,
            retire_after=self.retire_after,
            agent=self.files,
            applications=self.applications,
        )


LINES = Kind(
    "messages of capture.install",
    "give them as capture.files",
    is_document=lambda document: (
        isinstance(document, list) and document[:1] == ["plan"] and any(map(is_of_listener, document[1:2]))
    ),
    pattern=re.compile(rf'\["plan", \{{"agentInfo":\{{"name":"{LISTENER}"'),
    first="[",
)

"""Is the file there?"""

from collections.abc import Iterator

from lineage_merge.config import Config
from lineage_merge.orchestration.doctor import logs
from lineage_merge.orchestration.doctor.finding import Finding
from lineage_merge.sources import line_files
from tests.sources.letters.settings import Letters


def examine(config: Config) -> Iterator[Finding]:
    """Whether it has a line."""
    letters = config.of(Letters)
    files = (letters.file,) if letters else ()
    return logs.examine(
        "Letters", "letters.file", files, lambda part: (any(line_files.numbered(part)), None), "write"
    )

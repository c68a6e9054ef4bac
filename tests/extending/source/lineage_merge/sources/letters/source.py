"""Declaration of the letters source, and its settings."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lineage_merge.sources.source import LineFiles, Source


@dataclass(frozen=True, slots=True)
class Letters:
    """The settings: a file of lines."""

    file: str


def parse(settings: Mapping[str, Any]) -> Letters:
    """Return the settings of a section that fits the schema."""
    return Letters(**settings)


LETTERS = Source(
    "Letters",
    "letters",
    "lineage_merge.sources.letters",
    parse,
    "lineage_merge.sources.letters.reader:read_letters",
    size="lineage_merge.sources.letters.reader:size",
    paths=("file",),
    preflight="lineage_merge.sources.letters.reader:preflight",
    checks="lineage_merge.sources.letters.doctor:CHECKS",
    files=lambda letters: [letters.file],
    flags={"file": "--letters"},
    line_files=LineFiles("file", "letters", "lineage_merge.sources.letters.doctor:has_letters"),
    job_word="copier",
    location_keys=("file",),
    airflow="lineage_merge.sources.letters.doctor:SUPPORT",
)

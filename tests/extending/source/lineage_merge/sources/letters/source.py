"""Declaration of the letters source, and its settings."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lineage_merge.sources.source import Kind, LineFiles, Source, files_option


@dataclass(frozen=True, slots=True)
class Letters:
    """The settings: a file of lines."""

    file: str


def parse(settings: Mapping[str, Any]) -> Letters:
    """Return the settings of a section that fits the schema."""
    return Letters(**settings)


LINES = Kind("letters", "give them as letters.file", pattern=re.compile(r"(?m)^\w+: \w+ -> \w+$"))

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
    kinds=(LINES,),
    options=(files_option("--letters", "file", "letters"),),
    line_files=LineFiles("file", "lineage_merge.sources.letters.doctor:has_letters"),
    job_word="copier",
    location_keys=("file",),
    airflow="lineage_merge.sources.letters.doctor:SUPPORT",
)

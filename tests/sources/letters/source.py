"""The source as the registry takes it."""

from lineage_merge.sources.source import Source
from tests.sources.letters.settings import parse

LETTERS = Source(
    "Letters",
    "letters",
    "tests.sources.letters",
    parse,
    "tests.sources.letters.read:read_letters",
    size="tests.sources.letters.read:size",
    paths=("file",),
    preflight="tests.sources.letters.read:preflight",
    checks=(("Letters", "tests.sources.letters.doctor:examine"),),
    files=lambda letters: [letters.file],
)

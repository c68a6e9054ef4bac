"""Finds words that the project does not use: private vocabulary, imaginary people, images.

    python -m tests.terminology [PATH ...]      # by default every file that git tracks

Words count wherever they are: in identifiers (``snake_case`` and ``CamelCase`` are split), strings, comments
and documents. A line with ``style: allow`` is exempt (quotations, names of other projects).
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent

# What to write in place of each.
BANNED = {
    "told": "given, reported, parsed",
    "tells": "reports, contains",
    "whoever": "the caller, the client",
    "whom": "the caller, the client",
    "nobody": "no user, another process; or passive",
    "somebody": "a user, another process; or passive",
    "everybody": "all services",
    "mend": "fix",
    "mended": "fixed",
    "anew": "again, recreate",
    "just so": "identical, unchanged",
    "way": "path; mode",
    "ways": "paths; modes",
    "kept": "cached; retained",
    "let go": "unpersist, release",
    "gone": "removed, deleted",
    "take out": "delete",
    "take on": "export",
    "give up": "abort",
    "put there": "create",
    "not there": "missing, not found",
    "away": "unavailable",
    "goes on": "continues",
    "waited out": "retried",
    "at most so many": "maximum",
    "none means all": "default: all",
    "has the word": "takes precedence",
    "loser": "duplicate",
    "winner": "canonical",
    "mine": "incoming",
    "theirs": "stored",
    "bare": "empty",
    "stray": "unmatched",
    "steer": "indirect",
    "steers": "is indirect",
    "steered": "indirectly affected",
    "mentioned": "referenced",
    "the least": "smallest",
    "by chance": "arbitrarily",
    "in silence": "silently",
    "fault of ours": "internal error",
    "odd": "malformed",
    "good run": "successful run",
    "good runs": "successful runs",
    "patience": "retry policy",
    "tally": "counts",
}
ALLOW = "style: allow"

_WORDS = re.compile(
    r"\b(" + "|".join(re.escape(each).replace(r"\ ", r"\s+") for each in BANNED) + r")\b", re.IGNORECASE
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_TEXT = {".py", ".md", ".yml", ".yaml", ".toml", ".json", ".js", ".css", ".html", ".ipynb", ".groovy", ".sh"}
# Other people's texts: captures, samples, results of old runs. This file names the words.
_FOREIGN = (
    "sample_data/",
    "tests/data/",
    "benchmarks/results.jsonl",
    "tests/terminology.py",
    "tests/test_terminology.py",
    "LICENSE",
)


class Finding(NamedTuple):
    """A banned word in a line of a file."""

    file: str
    line: int
    word: str
    text: str

    def __str__(self) -> str:
        instead = BANNED[" ".join(self.word.lower().split())]
        return f"{self.file}:{self.line}: {self.word!r} (write: {instead}): {self.text.strip()[:100]}"


def words(text: str) -> Iterator[str]:
    """Yield the banned words of one line."""
    if ALLOW not in text:
        plain = _CAMEL.sub(" ", text.replace("_", " "))
        yield from (found[0] for found in _WORDS.finditer(plain))


def in_file(file: Path) -> Iterator[Finding]:
    """Yield the banned words of a file."""
    name = file.relative_to(ROOT).as_posix()
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        for word in words(line):
            yield Finding(name, number, word, line)


def tracked() -> Iterator[Path]:
    """Yield the text files of the repository that are the project's own."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    for name in listed.decode().split("\0"):
        file = ROOT / name
        if name and not name.startswith(_FOREIGN) and file.suffix in _TEXT and file.is_file():
            yield file


def main() -> int:
    """Print the findings of the given paths, or of all files."""
    paths = [Path(each).resolve() for each in sys.argv[1:]]
    files = [file for file in tracked() if not paths or any(file.is_relative_to(path) for path in paths)]
    findings = [finding for file in files for finding in in_file(file)]
    for finding in findings:
        print(finding)  # noqa: T201
    print(  # noqa: T201
        f"{len(findings)} banned words in {len({each.file for each in findings})} files", file=sys.stderr
    )
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())

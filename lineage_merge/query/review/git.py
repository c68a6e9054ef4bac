"""Which files changed since a revision, and what they were: asked of the git program.

The files are compared as they lie in the working tree, committed or not, with where the branch left the
revision (``git merge-base REV HEAD``): what others did since then is none of this change.
"""

import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from lineage_merge.model.errors import SourceError, SourceMissing

_TIMEOUT_SECONDS = 120


class Changed(NamedTuple):
    """A file that changed, by paths below the repository's root; "" where there is none.

    `status` is added, changed, renamed or deleted.
    """

    status: str
    before: str
    after: str


class Since(NamedTuple):
    """The repository's root, the commit that the files are compared with, and what changed."""

    root: Path
    base: str
    changed: tuple[Changed, ...]


_STATUS = {"A": "added", "C": "added", "D": "deleted", "R": "renamed"}


def changes(revision: str, paths: Sequence[Path]) -> Since:
    """What changed below `paths` since `revision`, untracked files included.

    Raises `SourceError` where there is no git, no repository, or no such revision.
    """
    start = next((each if each.is_dir() else each.parent for each in paths), Path())
    root = Path(_line(start, "rev-parse", "--show-toplevel"))
    if revision.startswith("-"):
        raise SourceError(f"git: {revision} is no revision")
    base = _line(start, "merge-base", revision, "HEAD")
    within = [str(each.resolve()) for each in paths]
    told = _parts(_git(root, "diff", "--name-status", "-M", "-z", "--no-ext-diff", base, "--", *within))
    new = _parts(_git(root, "ls-files", "--others", "--exclude-standard", "-z", "--", *within))
    return Since(root, base, (*_read(told), *(Changed("added", "", path) for path in new)))


def files_at(since: Since, paths: Sequence[Path]) -> list[str]:
    """The files below `paths` that the base has."""
    within = [str(each.resolve().relative_to(since.root.resolve())) for each in paths]
    return _parts(_git(since.root, "ls-tree", "-r", "-z", "--name-only", since.base, "--", *within))


def contents(since: Since, files: Iterable[str]) -> dict[str, bytes]:
    """What files were at the base, asked at once."""
    wanted = [each for each in files if "\n" not in each]
    asked = "".join(f"{since.base}:{each}\n" for each in wanted).encode()
    told = _git(since.root, "cat-file", "--batch", given=asked)
    found: dict[str, bytes] = {}
    at = 0
    for each in wanted:
        end = told.index(b"\n", at)
        head = told[at:end].split()
        if head[-1] == b"missing":
            at = end + 1
            continue
        size = int(head[-1])
        found[each] = told[end + 1 : end + 1 + size]
        at = end + 1 + size + 1
    return found


def _read(told: Sequence[str]) -> Iterable[Changed]:
    parts = iter(told)
    for letter in parts:
        status = _STATUS.get(letter[:1], "changed")
        first = next(parts)
        if letter[:1] in "RC":
            yield Changed(status, first if status == "renamed" else "", next(parts))
        else:
            yield Changed(status, "" if status == "added" else first, "" if status == "deleted" else first)


def _parts(told: bytes) -> list[str]:
    return [each.decode("utf-8", "surrogateescape") for each in told.split(b"\0") if each]


def _line(folder: Path, *arguments: str) -> str:
    return _git(folder, *arguments).decode("utf-8", "surrogateescape").strip()


def _git(folder: Path, *arguments: str, given: bytes = b"") -> bytes:
    # "-c": no setting of the user changes what is printed.
    command = ["git", "-C", str(folder), "-c", "core.quotepath=off", *arguments]
    try:
        done = subprocess.run(  # noqa: S603 - no shell, and the arguments are paths and a revision
            command, input=given, capture_output=True, timeout=_TIMEOUT_SECONDS, check=False
        )
    except FileNotFoundError:
        raise SourceMissing("--since needs the git program") from None
    except subprocess.TimeoutExpired:
        raise SourceError(f"git {arguments[0]} did not end in {_TIMEOUT_SECONDS} seconds") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["failed"]
        hint = ""
        if arguments[0] == "merge-base":
            hint = "; in CI fetch enough history, such as with GIT_DEPTH: 0 or fetch-depth: 0"
            said = said if done.stderr else [f"{arguments[1]} and HEAD have no commit in common"]
        raise SourceError(f"git: {said[0].removeprefix('fatal: ')}{hint}")
    return done.stdout

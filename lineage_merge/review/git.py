"""Files that changed since a revision, and their earlier content, from the git program.

The working tree, committed or not, or another revision is compared with the branch point (``git
merge-base``): later commits on the other branch are not part of the change.
"""

import io
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from lineage_merge.model.errors import SourceError, SourceMissing

_TIMEOUT_SECONDS = 120


class ChangedFile(NamedTuple):
    """A changed file: paths relative to the repository's root, "" if there is none.

    `status` is added, changed, renamed or deleted.
    """

    status: str
    before: str
    after: str


class GitChanges(NamedTuple):
    """The repository's root, the commit that files are compared with, and the changed files."""

    root: Path
    base: str
    changed: tuple[ChangedFile, ...]


_STATUS = {"A": "added", "C": "added", "D": "deleted", "R": "renamed"}


def read_changes(revision: str, paths: Sequence[Path]) -> GitChanges:
    """Return the changes below `paths` since `revision`, including untracked files.

    Raises `SourceError` if git, the repository or the revision is missing.
    """
    start = next((path if path.is_dir() else path.parent for path in paths), Path())
    root = Path(_git_line(start, "rev-parse", "--show-toplevel"))
    if revision.startswith("-"):
        raise SourceError(f"git: invalid revision: {revision}")
    base = _git_line(start, "merge-base", revision, "HEAD")
    within = [str(path.resolve()) for path in paths]
    output = _parts(_run_git(root, "diff", "--name-status", "-M", "-z", "--no-ext-diff", base, "--", *within))
    new = _parts(_run_git(root, "ls-files", "--others", "--exclude-standard", "-z", "--", *within))
    added = (ChangedFile("added", "", path) for path in new)
    return GitChanges(root, base, (*_parse_changes(output), *added))


def files_at(since: GitChanges, paths: Sequence[Path]) -> list[str]:
    """Return the files below `paths` in the base commit."""
    within = [str(path.resolve().relative_to(since.root.resolve())) for path in paths]
    return _parts(_run_git(since.root, "ls-tree", "-r", "-z", "--name-only", since.base, "--", *within))


def file_at(revision: str, path: Path, *, branch: str = "") -> bytes | None:
    """Return a file's content in a revision, None if it has none. Raises `SourceError`.

    `branch`: another revision; the file is read at the branch point of both. The file need not exist in the
    working tree; a relative path starts at the working directory.
    """
    if revision.startswith("-") or branch.startswith("-"):
        raise SourceError(f"git: invalid revision: {revision if revision.startswith('-') else branch}")
    there = next(folder for folder in path.absolute().parents if folder.is_dir())
    root = Path(_git_line(there, "rev-parse", "--show-toplevel"))
    if branch:
        commit = _git_line(root, "merge-base", revision, branch)
    else:
        commit = _git_line(root, "rev-parse", "--verify", f"{revision}^{{commit}}")
    whole = there.resolve() / path.absolute().relative_to(there)
    name = whole.relative_to(root.resolve()).as_posix()
    return contents(GitChanges(root, commit, ()), [name]).get(name)


def contents(since: GitChanges, files: Iterable[str]) -> dict[str, bytes]:
    """Return the contents of files in the base commit, in one request."""
    names = [file for file in files if "\n" not in file]
    request = "".join(f"{since.base}:{file}\n" for file in names).encode()
    output = io.BytesIO(_run_git(since.root, "cat-file", "--batch", standard_input=request))
    texts: dict[str, bytes] = {}
    for file in names:
        size = output.readline().split()[-1]
        if size != b"missing":
            texts[file] = output.read(int(size))
            output.readline()
    return texts


def _parse_changes(output: Sequence[str]) -> Iterable[ChangedFile]:
    parts = iter(output)
    for letters in parts:
        status = _STATUS.get(letters[:1], "changed")
        before = next(parts)
        after = next(parts) if letters[:1] in "RC" else before
        yield ChangedFile(status, "" if status == "added" else before, "" if status == "deleted" else after)


def _parts(output: bytes) -> list[str]:
    return [part.decode("utf-8", "surrogateescape") for part in output.split(b"\0") if part]


def _git_line(folder: Path, *arguments: str) -> str:
    return _run_git(folder, *arguments).decode("utf-8", "surrogateescape").strip()


def _run_git(folder: Path, *arguments: str, standard_input: bytes = b"") -> bytes:
    # -c: independent of the user's settings.
    command = ["git", "-C", str(folder), "-c", "core.quotepath=off", *arguments]
    try:
        done = subprocess.run(  # noqa: S603 - no shell, and the arguments are paths and a revision
            command, input=standard_input, capture_output=True, timeout=_TIMEOUT_SECONDS, check=False
        )
    except FileNotFoundError:
        raise SourceMissing("revisions need the git program") from None
    except subprocess.TimeoutExpired:
        raise SourceError(f"git {arguments[0]} timed out after {_TIMEOUT_SECONDS} seconds") from None
    if done.returncode:
        message = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["failed"]
        hint = ""
        if arguments[0] == "merge-base":
            hint = ". Fix: in CI, fetch the history (GIT_DEPTH: 0 or fetch-depth: 0)"
            if not done.stderr:
                message = [f"{arguments[1]} and {arguments[2]} have no commit in common"]
        elif "--verify" in arguments:
            message = [f"{arguments[-1].removesuffix('^{commit}')} is not a commit"]
        raise SourceError(f"git: {message[0].removeprefix('fatal: ')}{hint}")
    return done.stdout

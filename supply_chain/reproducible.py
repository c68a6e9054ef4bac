"""Build wheel and sdist twice from clean clones, and compare them byte for byte.

    python -m supply_chain.reproducible --out dist

The clones lie in folders of other names, their files have other times and rights, and the two builds run with
another time zone, language and umask. What is compared is the commit that is checked out: what is not
committed is not in it. hatchling is the one of tools.txt, with its hash. Writes the files to ``--out``, with
SHA256SUMS. Exit code 1 if they differ.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / "supply_chain" / "tools.txt"
_YEAR = 365 * 24 * 3600
# What a machine may have that must not be seen in what is built there.
_MACHINES = (
    ("first", 0o022, {"TZ": "UTC", "LC_ALL": "C.UTF-8"}),
    ("a second, elsewhere", 0o077, {"TZ": "Asia/Kathmandu", "LC_ALL": "C"}),
)


def main() -> int:
    """0 if both builds are the same."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("dist"), help="where the files go (default: dist)")
    out = parser.parse_args().out.absolute()
    # The time of the commit, identical for every build: https://reproducible-builds.org/specs/source-date-epoch/
    epoch = _output(["git", "log", "-1", "--format=%ct"]).strip()
    with tempfile.TemporaryDirectory(prefix="lineage-merge-build-") as folder:
        builds = []
        for number, (name, umask, variables) in enumerate(_MACHINES):
            place = Path(folder, name)
            environment = {**os.environ, **variables, "SOURCE_DATE_EPOCH": epoch}
            builds.append(built(place, umask, environment, age=number * _YEAR))
        first, second = (_sums(each) for each in builds)
        for name in sorted(first.keys() | second.keys()):
            same = "the same" if first.get(name) == second.get(name) else "NOT THE SAME"
            sys.stdout.write(f"{name}: {same}  {first.get(name)}\n")
        if first != second or len(first) != 2:
            return 1
        out.mkdir(parents=True, exist_ok=True)
        for name in first:
            shutil.copyfile(builds[0] / name, out / name)
    (out / "SHA256SUMS").write_text("".join(f"{digest}  {name}\n" for name, digest in sorted(first.items())))
    return 0


def built(place: Path, umask: int, environment: dict[str, str], *, age: int) -> Path:
    """Clone the commit to `place` and build there; returns the folder of what was built.

    `age` in seconds is how much older than now its files are. Raises `CalledProcessError`.
    """
    before = os.umask(umask)
    try:
        subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(place)], check=True)
        commit = _output(["git", "rev-parse", "HEAD"]).strip()
        subprocess.run(["git", "checkout", "--quiet", "--detach", commit], cwd=place, check=True)
        for file in place.rglob("*"):
            if file.is_file() and ".git" not in file.parts:
                then = file.stat().st_mtime - age
                os.utime(file, (then, then))
        words = ["uv", "build", "--quiet", "--build-constraints", str(TOOLS), "--require-hashes"]
        # The wheel from the clone and not from the sdist: both must be right by themselves.
        subprocess.run(
            [*words, "--wheel", "--sdist", "--out-dir", "built"], cwd=place, env=environment, check=True
        )
    finally:
        os.umask(before)
    return place / "built"


def _sums(folder: Path) -> dict[str, str]:
    files = [*folder.glob("*.whl"), *folder.glob("*.tar.gz")]
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def _output(words: list[str]) -> str:
    return subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())

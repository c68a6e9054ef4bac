"""Run the benchmarks, each in a process of its own, as ``python benchmarks/NAME.py`` does.

    python -m benchmarks                  # all of them, one after the other, with their defaults
    python -m benchmarks start queries    # these
    python -m benchmarks list             # what there is
    python -m benchmarks --smallest       # whether they run; stores figures only if --results follows

A benchmark is a script in this folder. Ends with 1 where one failed.
"""

import argparse
import ast
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

from benchmarks import options

HERE = Path(__file__).resolve().parent
# With the smallest sizes, of which none takes a minute: ends one that hangs.
MOST_SECONDS = 600


@dataclass(frozen=True)
class Outcome:
    """Exit code of a benchmark (None: it was ended because it hung), and its seconds."""

    code: int | None
    seconds: float

    @property
    def has_failed(self) -> bool:
        return self.code not in (0, options.SKIPPED)

    def __str__(self) -> str:
        known = {0: "done", options.SKIPPED: "skipped", None: "FAILED, no end"}
        return f"{self.seconds:7.0f} s  {known.get(self.code, f'FAILED, exit code {self.code}')}"


def benchmarks() -> dict[str, str]:
    """Return the scripts of this folder, with the first lines of their docstrings."""
    found = {}
    for file in sorted(HERE.glob("*.py")):
        text = file.read_text(encoding="utf-8")
        if not file.stem.startswith("_") and '\nif __name__ == "__main__":\n' in text:
            found[file.stem] = (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]
    return found


def run(
    name: str, words: Sequence[str], output: IO[str] | None = None, timeout: float | None = None
) -> Outcome:
    """Run one benchmark, which prints to this process's output by default."""
    paths = [str(HERE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    started = time.perf_counter()
    code: int | None = None
    with suppress(subprocess.TimeoutExpired):
        code = subprocess.run(
            [sys.executable, str(HERE / f"{name}.py"), *words],
            cwd=HERE.parent,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT if output else None,
            timeout=timeout,
        ).returncode
    return Outcome(code, time.perf_counter() - started)


def run_smallest(name: str, words: Sequence[str] = ()) -> Outcome:
    """Run one benchmark to see whether it runs; prints its output if it fails."""
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        outcome = run(name, ["--smallest", *words], output, MOST_SECONDS)
        if outcome.has_failed:
            output.seek(0)
            print(f"== {name}\n{output.read()}", flush=True)
        return outcome


def main(arguments: Sequence[str] | None = None) -> int:
    known = benchmarks()
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Run benchmarks")
    parser.add_argument("names", nargs="*", metavar="NAME", help="`list`, or which to run (default: all)")
    options.add_to(parser, smallest={})
    given = parser.parse_args(arguments)
    if given.names == ["list"]:
        for name, about in known.items():
            print(f"{name:12} {about}")
        return 0
    unknown = [name for name in given.names if name not in known]
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(known)}")
    names = given.names or list(known)
    words = ["--results", str(given.results.resolve() if given.results else "none")]
    if given.smallest:
        with ThreadPoolExecutor(os.cpu_count()) as pool:  # nothing is measured
            outcomes = dict(zip(names, pool.map(partial(run_smallest, words=words), names), strict=True))
    else:
        outcomes = {}
        for name in names:
            print(f"== {name}: {known[name]}", flush=True)
            outcomes[name] = run(name, words)
    print("\n== summary")
    for name, outcome in outcomes.items():
        print(f"{name:12} {outcome}")
    failed = [name for name, outcome in outcomes.items() if outcome.has_failed]
    print(f"{len(names)} benchmarks, failed: {', '.join(failed) or 'none'}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())

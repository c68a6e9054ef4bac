"""Run the benchmarks, each with its defaults, one after the other.

    python -m benchmarks                  # all of them
    python -m benchmarks start queries    # these
    python -m benchmarks list             # what there is

Each runs in a process of its own, as ``python benchmarks/NAME.py`` does. Ends with 1 where one failed.
"""

import argparse
import ast
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks import results

HERE = Path(__file__).resolve().parent


def benchmarks() -> dict[str, str]:
    """Return the scripts that record figures, with the first line of their docstrings."""
    found = {}
    for file in sorted(HERE.glob("*.py")):
        if file.stem.startswith("_"):
            continue
        tree = ast.parse(file.read_text(encoding="utf-8"))
        calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
        if any(isinstance(call, ast.Attribute) and call.attr == "add_option" for call in calls):
            found[file.stem] = (ast.get_docstring(tree) or "").partition("\n")[0]
    return found


def run(name: str, results_file: Path | None) -> tuple[int, float]:
    """Run one benchmark; returns its exit code and seconds."""
    paths = [str(HERE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, str(HERE / f"{name}.py"), "--results", str(results_file or "none")],
        cwd=HERE.parent,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        check=False,
    )
    return done.returncode, time.perf_counter() - started


def main(arguments: Sequence[str] | None = None) -> int:
    known = benchmarks()
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Run benchmarks one after the other"
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="`list`, or which to run (default: all)")
    results.add_option(parser)
    given = parser.parse_args(arguments)
    if given.names == ["list"]:
        for name, about in known.items():
            print(f"{name:12} {about}")
        return 0
    unknown = [name for name in given.names if name not in known]
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(known)}")
    results_file = given.results.resolve() if given.results else None
    outcomes = {}
    for name in given.names or known:
        print(f"== {name}: {known[name]}", flush=True)
        outcomes[name] = run(name, results_file)
    print("\n== summary")
    for name, (code, seconds) in outcomes.items():
        print(f"{name:12} {seconds:7.0f} s  {'done' if code == 0 else f'FAILED, exit code {code}'}")
    return int(any(code for code, _ in outcomes.values()))


if __name__ == "__main__":
    sys.exit(main())

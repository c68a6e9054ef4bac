"""Damage the product in random places, one at a time, and count the defects that its tests find.

    python -m tests.mutation                              # a sample of each package
    python -m tests.mutation merge --places 50 --seed 7   # of one, with other places
    python -m tests.mutation load --tests tests/load/test_update.py

A copy of the repository is damaged. What CI's selection of the tests does not find, the nightly one is asked
(`tests/nightly.py`). `nox -s mutation` installs cosmic-ray, which knows how to damage code.
"""

import argparse
import difflib
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tests import drawing

REPOSITORY = Path(__file__).parents[1]
# The tests that are about each package, the fastest first.
TESTS = {
    "merge": ("tests/merge", "tests/properties", "tests/redaction/test_redaction_work.py"),
    "column_lineage": (
        "tests/sources/sql",
        "tests/sources/spline/columns",
        "tests/sources/dbt",
        "tests/sources/hive",
        "tests/review",
        "tests/properties",
    ),
    "load": ("tests/load",),
}
# Others damage annotations (`str | None`), or what only an import shows.
OPERATORS = re.compile(
    r"core/(ReplaceComparisonOperator_.*|ReplaceBinaryOperator_(Add_Sub|Sub_Add|Mul_Add|FloorDiv_Mul|Mod_Add)"
    r"|ReplaceTrueWithFalse|ReplaceFalseWithTrue|ReplaceAndWithOr|ReplaceOrWithAnd|AddNot|NumberReplacer"
    r"|ReplaceBreakWithContinue|ReplaceContinueWithBreak|ZeroIterationForLoop|ReplaceUnaryOperator_Delete_Not)"
)
MOST_SECONDS = 600
FOUND, FOUND_NIGHTLY, MISSED = "found", "found nightly only", "not found"


class Damage(NamedTuple):
    """A defect: the operator and its occurrence in a file, and the line where it is."""

    file: str
    line: int
    operator: str
    occurrence: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.operator.removeprefix('core/')} #{self.occurrence}"


def damages(folder: Path) -> Iterator[Damage]:
    """Yield all damages of the modules below a folder."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.plugins import get_operator, operator_names

    operators = {name: get_operator(name)() for name in sorted(operator_names()) if OPERATORS.fullmatch(name)}
    for file in sorted(folder.rglob("*.py")):
        tree = get_ast(file.read_text(encoding="utf-8"))
        for name, operator in operators.items():
            positions = (place for node in ast_nodes(tree) for place in operator.mutation_positions(node))
            for occurrence, (start, _end) in enumerate(positions):
                yield Damage(str(file.relative_to(REPOSITORY)), start[0], name, occurrence)


def sampled(package: str, places: int, seed: str) -> list[Damage]:
    """Choose lines of a package, and one damage of each."""
    by_line: dict[tuple[str, int], list[Damage]] = defaultdict(list)
    for damage in damages(REPOSITORY / "lineage_merge" / package):
        by_line[damage.file, damage.line].append(damage)
    chance = random.Random(f"{seed}/{package}")
    lines = chance.sample(sorted(by_line), min(places, len(by_line)))
    return [chance.choice(by_line[line]) for line in lines]


def damaged(code: str, damage: Damage) -> str:
    """Return the code of a module with the damage."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    changed = mutate_code(code, get_operator(damage.operator)(), damage.occurrence)
    if changed is None:
        raise ValueError(f"no such place: {damage}")
    return str(changed)


def finds(copy: Path, tests: Sequence[str], share: float) -> bool:
    """Whether a test of the copy fails; one that hangs has found the defect, too."""
    command = [sys.executable, "-m", "pytest", "-n", "0", "-x", "-q", "-p", "no:cacheprovider", *tests]
    variables = {"PYTHONPATH": str(copy), drawing.SHARE: str(share)}
    try:
        done = subprocess.run(
            command,
            cwd=copy,
            env=os.environ | variables,
            capture_output=True,
            timeout=MOST_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return True
    return done.returncode != 0


def outcome(copy: Path, damage: Damage, tests: Sequence[str]) -> tuple[str, str]:
    """Damage the copy, ask its tests, and repair it; returns what they say and the difference."""
    file = copy / damage.file
    code = file.read_text(encoding="utf-8")
    changed = damaged(code, damage)
    difference = "\n".join(difflib.unified_diff(code.splitlines(), changed.splitlines(), n=0, lineterm=""))
    file.write_text(changed, encoding="utf-8")
    try:
        if finds(copy, tests, drawing.share()):
            return FOUND, difference
        if drawing.share() < 1 and finds(copy, tests, 1):
            return FOUND_NIGHTLY, difference
        return MISSED, difference
    finally:
        file.write_text(code, encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description="Ask tests about defects")
    parser.add_argument(
        "packages", nargs="*", choices=[[], *TESTS], metavar="PACKAGE", help=f"of {list(TESTS)}"
    )
    parser.add_argument("--places", type=int, default=20, help="lines of each package (default: 20)")
    parser.add_argument("--seed", default=drawing.seed(), help="draws other places")
    parser.add_argument("--tests", nargs="+", help="instead of those of the package")
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="lineage-merge-mutation-") as work:
        copy = Path(work, "copy")
        shutil.copytree(
            REPOSITORY, copy, ignore=shutil.ignore_patterns(".git", ".venv", ".nox", ".hypothesis", "*_cache")
        )
        for package in chosen.packages or TESTS:
            tests = chosen.tests or TESTS[package]
            if finds(copy, tests, drawing.share()):
                print(f"{package}: the tests fail without a defect", flush=True)  # noqa: T201
                return 1
            counts: Counter[str] = Counter()
            for damage in sampled(package, chosen.places, chosen.seed):
                started = time.monotonic()
                said, difference = outcome(copy, damage, tests)
                counts[said] += 1
                print(f"{said:18} {time.monotonic() - started:4.0f} s  {damage}", flush=True)  # noqa: T201
                if said != FOUND:
                    print("\n".join(difference.splitlines()[2:]), flush=True)  # noqa: T201
            total = ", ".join(f"{number} {said}" for said, number in counts.items())
            print(f"{package}: {counts.total()} defects, {total}", flush=True)  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())

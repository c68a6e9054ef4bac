"""Storage of the benchmarks' figures: a line of JSON per run, shown as charts in the documentation.

::

    results.append(arguments.results, "load", [
        Figure("2,000 vertices", "loader", 11_800.0, "elements/s"),
        Figure("2,000 vertices", "loader / one request an element", 15.2, "times", at_least=15.0),
    ])
"""

import json
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

FILE = Path(__file__).with_name("results.jsonl")


@dataclass(frozen=True)
class Figure:
    """One figure of a run; `at_least` and `at_most`: its expected limits."""

    case: str
    name: str
    value: float
    unit: str
    at_least: float | None = None
    at_most: float | None = None


def append(file: Path | None, benchmark: str, figures: Sequence[Figure]) -> None:
    """Append a run's figures to `file`, with the day and the machine."""
    if file is None:
        return
    line = {
        "benchmark": benchmark,
        "day": datetime.now(UTC).date().isoformat(),
        "machine": _machine(),
        "figures": [
            {key: value for key, value in asdict(figure).items() if value is not None} for figure in figures
        ],
    }
    with file.open("a", encoding="utf-8") as out:
        out.write(json.dumps(line) + "\n")


def _machine() -> dict[str, str | int]:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    found: dict[str, str | int] = {
        "cores": os.cpu_count() or 0,
        "memory_gib": round(memory / 2**30),
        "system": platform.system(),
        "python": ".".join(map(str, sys.version_info[:2])),
    }
    for package in ("lineage-merge", "pyspark", "gremlinpython"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found

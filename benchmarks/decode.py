"""Duration and memory of decoding and checking Spline's documents, against a parser and a compiled schema.

    python benchmarks/decode.py                # about 50 MB of documents, half a minute

The plans of TPC-H as captured, many times over, each collection in blocks of lines as workers group them.
Time is the CPU's, the best of some rounds; memory is what the documents of all plans hold, as Python counts
it. Sides:

- `typed decoder`: what a build does, `lineage_merge.sources.spline.documents.decode_lines`
- `json` and `msgspec`: that parser, and the same JSON Schema compiled to Python by fastjsonschema
"""

import argparse
import gc
import json
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from importlib.resources import files
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from benchmarks import options, results
from benchmarks.results import Figure
from lineage_merge.sources.spline.documents import PLAN_PARTS, decode_lines

PLANS = Path(__file__).resolve().parent.parent / "tests" / "data" / "spline" / "tpch"
LINES_PER_BLOCK = 100
LEAST_SPEED = 3.5
LEAST_MEMORY = 1.8

Blocks = list[tuple[str, str]]


def blocks(copies: int) -> Blocks:
    """Return collections and lines of documents."""
    found: Blocks = []
    for collection in PLAN_PARTS:
        lines = iter((PLANS / f"{collection}.jsonl").read_text("utf-8").splitlines() * copies)
        while block := list(islice(lines, LINES_PER_BLOCK)):
            found.append((collection, "\n".join(block)))
    return found


def typed(given: Blocks) -> list[Any]:
    """Decode and check as a build does."""
    return [document for collection, lines in given for document in decode_lines(collection, lines)]


def checked_by(parse: Callable[[str], Any]) -> Callable[[Blocks], list[Any]]:
    """Return a side that parses each document and checks it by a compiled schema."""
    import fastjsonschema

    schema = json.loads(
        files("lineage_merge.sources.spline").joinpath("spline.schema.json").read_text("utf-8")
    )
    checks = {
        collection: fastjsonschema.compile(schema | {"$ref": f"#/$defs/{collection}"}, use_default=False)
        for collection in PLAN_PARTS
    }

    def run(given: Blocks) -> list[Any]:
        documents: list[Any] = []
        for collection, lines in given:
            check = checks[collection]
            for line in lines.split("\n"):
                document = parse(line)
                check(document)
                documents.append(document)
        return documents

    return run


def measured(side: Callable[[Blocks], list[Any]], given: Blocks, rounds: int) -> tuple[float, float]:
    """Return seconds and MB of all documents."""
    seconds: list[float] = []
    side(given[:1])
    for _ in range(rounds):
        gc.collect()
        gc.disable()
        start = time.process_time()
        side(given)
        seconds.append(time.process_time() - start)
        gc.enable()
    tracemalloc.start()
    documents = side(given)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert documents
    return min(seconds), held / 1e6


def figures(given: Blocks, rounds: int) -> Iterator[Figure]:
    """Measure all sides and print them."""
    count = sum(lines.count("\n") + 1 for _, lines in given)
    size = sum(len(lines) for _, lines in given)
    case = f"{count:,} documents"
    sides = {
        "typed decoder": typed,
        "json": checked_by(json.loads),
        "msgspec": checked_by(msgspec.json.decode),
    }
    print(f"{case}, {size / 1e6:.1f} MB\n{'':>14} {'seconds':>8} {'us/document':>12} {'MB':>8} {'times':>6}")
    found: dict[str, tuple[float, float]] = {}
    for name, side in sides.items():
        seconds, memory = found[name] = measured(side, given, rounds)
        times = seconds / found["typed decoder"][0]
        print(
            f"{name:>14} {seconds:>8.3f} {seconds / count * 1e6:>12.2f} {memory:>8.0f} {times:>6.2f}",
            flush=True,
        )
        yield Figure(case, name, seconds / count * 1e6, "us/document")
        yield Figure(case, f"{name}, memory", memory, "MB")
    (ours, our_memory), (json_seconds, json_memory) = found["typed decoder"], found["json"]
    yield Figure(case, "json / typed decoder", json_seconds / ours, "times", at_least=LEAST_SPEED)
    yield Figure(
        case, "json / typed decoder, memory", json_memory / our_memory, "times", at_least=LEAST_MEMORY
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--copies", type=int, default=20, help="how often each captured plan is decoded")
    parser.add_argument("--rounds", type=int, default=5)
    options.add_to(parser, smallest={"copies": 1, "rounds": 1})
    arguments = parser.parse_args()
    try:
        import fastjsonschema  # noqa: F401 (in the extra `test`)
    except ImportError:
        print("fastjsonschema is not installed")
        sys.exit(options.SKIPPED)
    results.append(arguments.results, "decode", list(figures(blocks(arguments.copies), arguments.rounds)))


if __name__ == "__main__":
    main()

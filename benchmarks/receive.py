"""How fast a batch that `receive` is sent becomes lines of a file, next to `json.loads` of the same body.

    python benchmarks/receive.py --events 100000

`lines` is all that is done with a body: its elements are found, checked and written one a line. It is made
for a tenth of the events too: what a single event takes must not grow with the number of events. `pause` is
the longest time in which an event loop answers nothing else while a thread makes the lines, as in `receive`.
"""

import argparse
import asyncio
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

from benchmarks import options, results
from benchmarks.results import Figure
from lineage_merge.receiver import documents

Read = Callable[[bytes], documents.Taken]

_TICK_SECONDS = 0.001


def run_event(number: int) -> dict[str, Any]:
    """Return an event of OpenLineage that reads two tables and writes one."""
    run = {"runId": f"01a1fd70-0000-7000-8000-{number:012}", "facets": {}}
    tables = [
        {"namespace": "s3://bucket", "name": f"warehouse/table_{each}", "facets": {}} for each in range(3)
    ]
    return {
        "eventTime": "2026-11-01T06:00:00.000Z",
        "eventType": "COMPLETE",
        "producer": "https://example.com/producer",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": run,
        "job": {"namespace": "benchmarks", "name": f"job_{number % 100}", "facets": {}},
        "inputs": tables[:2],
        "outputs": tables[2:],
    }


def spline_event(number: int) -> dict[str, Any]:
    """Return an event as Spline's agent sends it."""
    metrics = {"numFiles": 2, "numOutputBytes": 12_345 + number, "numOutputRows": number, "numParts": 0}
    return {
        "planId": f"00000000-0000-0000-0000-{number:012}",
        "timestamp": 1_793_500_000_000 + number,
        "durationNs": 1_234_567_890,
        "discriminator": None,
        "labels": {},
        "extra": {"appId": f"app-{number}", "readMetrics": {}, "writeMetrics": metrics},
    }


# The shorter an event, the more of its time goes into what is done once for each.
_KINDS: tuple[tuple[str, Callable[[int], dict[str, Any]], Read, float], ...] = (
    ("OpenLineage", run_event, documents.openlineage_batch, 3.0),
    ("Spline", spline_event, lambda body: documents.events(body, "1.2"), 5.0),
)


def median_seconds(rounds: int, do: Callable[[], object]) -> float:
    """Return the median of some rounds; the first, which is not counted, warms up."""
    seconds = []
    for number in range(rounds + 1):
        started = time.perf_counter()
        do()
        if number:
            seconds.append(time.perf_counter() - started)
    return statistics.median(seconds)


async def longest_pause(do: Callable[[], object]) -> float:
    """Return for how long an event loop did not run while a thread did something."""
    work = asyncio.create_task(asyncio.to_thread(do))
    longest, last = 0.0, time.perf_counter()
    while not work.done():
        await asyncio.sleep(_TICK_SECONDS)
        now = time.perf_counter()
        longest, last = max(longest, now - last - _TICK_SECONDS), now
    await work
    return longest


def measured(
    kind: str, make: Callable[[int], dict[str, Any]], read: Read, at_most: float, events: int, rounds: int
) -> list[Figure]:
    """Measure the batches of one kind, print a row, and return the figures."""
    small, large = (
        json.dumps([make(each) for each in range(number)]).encode() for number in (events // 10, events)
    )
    loads = median_seconds(rounds, lambda: json.loads(large))
    lines = median_seconds(rounds, lambda: read(large))
    tenth = median_seconds(rounds, lambda: read(small))
    pause = asyncio.run(longest_pause(lambda: read(large)))
    ratio, growth = lines / loads, lines / events / (tenth / (events // 10))
    times = f"{loads:11.3f} s {lines:7.3f} s {ratio:7.2f} {growth:8.2f} {pause * 1000:7.1f} ms"
    print(f"{kind:12} {len(large) / 1e6:6.1f} MB {times}")
    case = f"{events:,} events of {kind}"
    return [
        Figure(case, "json.loads", round(loads, 4), "s"),
        Figure(case, "lines", round(lines, 4), "s"),
        Figure(case, "lines / json.loads", round(ratio, 3), "times", at_most=at_most),
        Figure(case, "an event / one of a tenth of the events", round(growth, 3), "times", at_most=2.0),
        Figure(case, "longest pause of the event loop", round(pause, 4), "s"),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description="Lines of a batch, next to json.loads of its body")
    parser.add_argument(
        "--events", type=int, default=100_000, help="events in a batch (default: %(default)s)"
    )
    parser.add_argument("--rounds", type=int, default=5, help="(default: %(default)s)")
    options.add_to(parser, smallest={"events": 100, "rounds": 1})
    arguments = parser.parse_args()
    print(f"{'':12} {'body':>9} {'json.loads':>13} {'lines':>9} {'ratio':>7} {'growth':>8} {'pause':>10}")
    figures = [
        figure
        for kind in _KINDS
        for figure in measured(*kind, events=arguments.events, rounds=arguments.rounds)
    ]
    results.append(arguments.results, "receive", figures)


if __name__ == "__main__":
    main()

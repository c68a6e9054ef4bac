"""Offsets of landed files, stored in their names. Pure.

``{landing}/{topic}/{partition}/{from}-{until}.jsonl.gz`` holds the records of one partition from an offset up
to, not including, another, in twenty digits each as Kafka names its own segments. A file gets its name when
it is complete, so every offset covered by a name has been stored.
"""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from lineage_merge.sources.kafka_landing.settings import Kafka

_NAME = re.compile(r"(?:^|/)(?P<partition>\d+)/(?P<start>\d{20})-(?P<end>\d{20})\.jsonl\.gz$")


class Available(NamedTuple):
    """The available offsets of a partition: from `earliest` up to, not including, `latest`."""

    earliest: int
    latest: int


class Range(NamedTuple):
    """The offsets to read from a partition: from `start` up to, not including, `end`."""

    partition: int
    start: int
    end: int


class Gap(NamedTuple):
    """A partition whose offsets do not continue where the files end, and why."""

    partition: int
    message: str


def folder_of(kafka: Kafka) -> str:
    """Return the folder with the files of a topic."""
    return f"{kafka.landing.rstrip('/')}/{kafka.topic}"


def file_name(found: Range) -> str:
    """Return the file of a range, relative to the topic's folder."""
    return f"{found.partition}/{found.start:020}-{found.end:020}.jsonl.gz"


def landed_until(names: Iterable[str]) -> dict[int, int]:
    """Return the offset per partition up to which files exist."""
    until: dict[int, int] = {}
    for name in names:
        match = _NAME.search(name)
        if match:
            partition = int(match["partition"])
            until[partition] = max(until.get(partition, 0), int(match["end"]))
    return until


def to_read(landed: Mapping[int, int], available: Mapping[int, Available]) -> tuple[list[Range], list[Gap]]:
    """Return the new offsets of each partition, and the gaps."""
    ranges: list[Range] = []
    gaps: list[Gap] = []
    for partition, (earliest, latest) in sorted(available.items()):
        start = landed.get(partition, earliest)
        if start < earliest:
            lost = f"offsets {start} to {earliest - 1} were deleted in Kafka before they were read"
            gaps.append(Gap(partition, lost))
            start = earliest
        elif start > latest:
            what = f"it ends at offset {latest}, before the offset already read ({start})"
            gaps.append(Gap(partition, f"{what}: a recreated topic needs another landing folder"))
        if start < latest:
            ranges.append(Range(partition, start, latest))
    return ranges, gaps

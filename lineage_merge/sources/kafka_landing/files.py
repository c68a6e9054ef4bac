"""Landed files, and the offsets stored in their names.

``{landing}/{topic}/{partition}/{from}-{until}.jsonl.gz`` holds the records of one partition from an offset up
to, not including, another, in twenty digits each as Kafka names its own segments. A file gets its name when
it is complete, so every offset covered by a name has been stored.
"""

import gzip
import os
import re
import tempfile
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from lineage_merge.infra.storage import is_s3, make_folder, move_into_place, write_file
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


def file_name(offsets: Range) -> str:
    """Return the file of a range, relative to the topic's folder."""
    return f"{offsets.partition}/{offsets.start:020}-{offsets.end:020}.jsonl.gz"


def find_landed_offsets(names: Iterable[str]) -> dict[int, int]:
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


class LandingFile:
    """A file written elsewhere and moved into place when finished.

    `unfinished` is a folder on the file system of `folder` for incomplete files; files that a killed process
    leaves there are never read. S3 uploads are atomic anyway.
    """

    def __init__(self, folder: str, unfinished: str) -> None:
        self._folder = folder
        if is_s3(folder):
            handle, name = tempfile.mkstemp(prefix="landing-")
            os.close(handle)
            self._path = Path(name)
        else:
            make_folder(unfinished)
            self._path = Path(unfinished.removeprefix("file://")).expanduser() / uuid.uuid4().hex
        self._raw = self._path.open("wb")
        # No timestamp in it: the same records give the same bytes.
        self._packed = gzip.GzipFile(filename="", fileobj=self._raw, mode="wb", mtime=0)
        self.size = 0

    def write(self, line: bytes) -> None:
        """Append a line; `size` is the number of uncompressed bytes so far."""
        self.size += self._packed.write(line)

    def finish(self, offsets: Range) -> None:
        """Move the file into place, named after its offsets."""
        self._packed.close()
        self._raw.flush()
        os.fsync(self._raw.fileno())
        self._raw.close()
        location = f"{self._folder}/{file_name(offsets)}"
        if is_s3(location):
            write_file(location, self._path)
            self._path.unlink()
        else:
            move_into_place(self._path, location)

    def abandon(self) -> None:
        """Discard an incomplete file."""
        self._raw.close()
        self._path.unlink(missing_ok=True)

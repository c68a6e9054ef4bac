"""Landing of a Kafka topic: new messages are appended to a folder of files, which a source then reads.

For a source whose settings have `kafka` (`landing.settings.Kafka`, made by ``kafka(section, settings)``; its
JSON Schema is ``{"$ref": "lineage_merge.sources.kafka_landing"}``)::

    found = kafka.landed(spark, settings.kafka)
    found.folder     # a folder of .jsonl.gz files, possibly empty
    found.notices    # Problems of kind "notice", for `records.records`

One record of the topic is one line: its value as text; JSON over several lines is joined into one. A source
that needs more than the value passes `line_of`, a module-level function (it is pickled for Spark's workers).

The offsets read so far are stored only in the file names (`files`): a job that is killed and restarted
neither loses nor duplicates messages. Two concurrent jobs may both store the same records, so a source must
accept duplicate lines. Spark's workers read the records, one task per partition; the driver only queries the
broker for the topic's offsets, with the Kafka client that comes with Spark's Kafka source.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from pyspark.errors import IllegalArgumentException
from pyspark.sql import DataFrame, SparkSession

from lineage_merge.infra.engine.on_spark import session_of
from lineage_merge.infra.engine.rows import Engine
from lineage_merge.infra.spark_errors import own_errors
from lineage_merge.infra.storage import Slice, list_files
from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import ConfigError, SourceMissing
from lineage_merge.sources.kafka_landing.broker import available
from lineage_merge.sources.kafka_landing.files import (
    LandingFile,
    Range,
    find_landed_offsets,
    folder_of,
    to_read,
)
from lineage_merge.sources.kafka_landing.settings import Kafka

# Files are closed at this size (uncompressed), so that a backlog lands in files of a few minutes each.
FILE_BYTES = 64 << 20

Headers = dict[str, bytes]
LineOf = Callable[[bytes, Headers], bytes]


class Landed(NamedTuple):
    """The folder with the messages read so far, and notices about messages that were lost."""

    folder: str
    notices: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class _Landing:
    """What workers need to write the files of one topic."""

    folder: str
    unfinished: str
    ranges: dict[int, Range]
    line_of: LineOf
    file_bytes: int


def text_line(value: bytes, _headers: Headers) -> bytes:
    """Return a record's value as one line, if possible."""
    line = value.strip()
    if b"\n" not in line and b"\r" not in line:
        return line
    try:
        return json.dumps(json.loads(line), ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return line


def land_messages(
    spark: SparkSession, kafka: Kafka, line_of: LineOf = text_line, file_bytes: int = FILE_BYTES
) -> Landed:
    """Read new messages of the topic, up to its end, into the landing folder.

    Raises `SourceUnreachable`, `SourceDenied` or `SourceMissing` (no such topic), and `ConfigError` if the
    session lacks Spark's Kafka source or an option is wrong.
    """
    folder = folder_of(kafka)
    options = kafka.all_options()
    ranges, gaps = to_read(find_landed_offsets(_names(folder)), available(spark, kafka, options))
    if ranges:
        landing = _Landing(
            folder,
            f"{kafka.landing.rstrip('/')}/.unfinished",
            {range_.partition: range_ for range_ in ranges},
            line_of,
            file_bytes,
        )
        with own_errors():
            _rows(spark, kafka, options, landing).rdd.foreachPartition(lambda rows: _write(landing, rows))
    topic = f"Kafka topic {kafka.topic}"
    return Landed(folder, tuple(Problem("notice", topic, f"partition {p}", what) for p, what in gaps))


def with_landed(
    engine: Engine, kafka: Kafka, parts: list[Slice], find: Callable[[Iterable[str]], list[Slice]]
) -> tuple[list[Slice], tuple[Problem, ...]]:
    """Land new messages of a topic; return `parts` with the slices of its files (by `find`), and notices."""
    folder, notices = land_messages(session_of(engine), kafka)
    with suppress(SourceMissing):  # no message yet
        parts = [*parts, *find([folder])]
    return parts, notices


def _rows(spark: SparkSession, kafka: Kafka, options: Mapping[str, str], landing: _Landing) -> DataFrame:
    """Return the records to read: partition, offset, value, headers; one task per partition, in its order."""
    starts = {partition: range_.start for partition, range_ in landing.ranges.items()}
    ends = {partition: range_.end for partition, range_ in landing.ranges.items()}
    reader = (
        spark.read.format("kafka")
        .option("kafka.bootstrap.servers", kafka.servers)
        .option("assign", json.dumps({kafka.topic: sorted(landing.ranges)}))
        .option("startingOffsets", json.dumps({kafka.topic: starts}))
        .option("endingOffsets", json.dumps({kafka.topic: ends}))
        .option("includeHeaders", "true")
        # A record may be deleted after its offset was listed and before it is read.
        .option("failOnDataLoss", "false")
        .options(**{f"kafka.{name}": value for name, value in options.items()})
    )
    try:
        return reader.load().select("partition", "offset", "value", "headers")
    except IllegalArgumentException as error:
        # Options that Spark reserves, such as auto.offset.reset.
        raise ConfigError(kafka.key, str(error).strip().partition("\n")[0]) from None


def _names(folder: str) -> Iterator[str]:
    try:
        for file in list_files(folder):
            yield file.location
    except SourceMissing:
        return


def _write(landing: _Landing, rows: Iterable[Any]) -> None:
    """Write the records of a partition, in order, into files."""
    file: LandingFile | None = None
    partition, start = -1, 0
    try:
        for row in rows:
            is_same = row.partition == partition
            if file and (not is_same or file.size >= landing.file_bytes):
                end = row.offset if is_same else landing.ranges[partition].end
                file.finish(Range(partition, start, end))
                file = None
            if file is None:
                start = row.offset if is_same else landing.ranges[row.partition].start
                partition = row.partition
                file = LandingFile(landing.folder, landing.unfinished)
            # A record without a value is a tombstone of a compacted topic.
            if row.value is not None:
                headers = {header.key: bytes(header.value or b"") for header in row.headers or ()}
                line = landing.line_of(bytes(row.value), headers)
                if line:
                    file.write(line + b"\n")
        if file:
            file.finish(Range(partition, start, landing.ranges[partition].end))
            file = None
    finally:
        if file:
            file.abandon()

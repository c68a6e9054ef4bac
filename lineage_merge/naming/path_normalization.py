"""Normalization of paths to the directory of their dataset.

Removes what writers add below that directory: partition directories, part files, staging folders, files of
table formats, generated ids. Ordinary names, dates and numbers always stay.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"

_GENERATED = re.compile(rf"(?i)(?:{_UUID}|(?!\d{{32}}(?!\w))[0-9a-f]{{32}})(?:\.[a-z0-9]{{1,10}}){{0,3}}\Z")

_PARTITION = re.compile(r"[^\W\d][\w .%-]*=(?!=)[^/]+\Z")

# Folders with internal files of a writer or a table format: removed with everything below.
_INTERNAL_FOLDER = re.compile(
    r"(?:_temporary|_delta_log|_spark_metadata|_symlink_format_manifest|_change_data|\.hoodie"
    r"|\.hive-staging.*|\.spark-staging.*|__magic(?:_job-.*)?)\Z"
)

_PART_FILE = re.compile(
    r"(?i)(?:"
    r"part-(?:[a-z]-)?\d{5,}(?:[-_.].*)?"  # Spark, MapReduce
    r"|run-.+-part-(?:r|m|b|block)-.*"  # AWS Glue
    r"|0\d{5}_\d{1,4}(?:_copy_\d+)?(?:\.\w+)*"  # Hive: 000000_0
    r"|bucket_\d{5}(?:_\d+)?"  # Hive ACID
    r"|(?:delete_)?delta_\d{7,}_\d{7,}(?:_\d{4})?|base_0\d{6}(?:_v\d+)?"
    r"|\d{4}_part_\d{2,}(?:\.\w+)*"  # Redshift UNLOAD
    rf"|\d{{8}}_\d{{6}}_\d{{5}}_\w{{5}}_{_UUID}(?:\.\w+)*"  # Athena
    rf"|{_UUID}-\d+_\d+-\d+-\d+_\d{{14,17}}\.\w+"  # Hudi
    r"|.+[.-]c\d{3}(?:\.\w{1,16}){1,4}"
    r"|_SUCCESS|_metadata|_common_metadata|_committed_\w+|_started_\w+"
    r"|\..+\.crc"
    r")\Z"
)

_ICEBERG_DATA = re.compile(rf"(?i)\d{{5}}-\d+-{_UUID}-\d{{5}}(?:-deletes)?\.(?:parquet|orc|avro)\Z")
_ICEBERG_METADATA = re.compile(
    rf"(?i)(?:v?\d+(?:-{_UUID})?(?:\.gz)?\.metadata\.json(?:\.gz)?|snap-\d+-\d+-{_UUID}\.avro"
    rf"|{_UUID}-m\d+\.avro|version-hint\.text)\Z"
)

_DATA_FILE = re.compile(
    r"(?i).+\.(?:csv|tsv|txt|json|jsonl|ndjson|xml|parquet|orc|avro|gz|bz2|zst|lz4|snappy|deflate|log|dat)\Z"
)

# EMR and old S3 file systems of Hadoop mark directories with an empty object of this name.
_FOLDER_MARKER = "_$folder$"


class NormalizedPath(NamedTuple):
    """A normalized path, and the generated segments that were removed."""

    segments: tuple[str, ...]
    generated: str


def normalize_path(path: str) -> NormalizedPath:
    """Normalize a path without scheme and authority. No segments: the dataset is the root."""
    segments = [_without_marker(part) for part in path.split("/")]
    retained = [part for part in segments if part not in {"", "."}]
    retained = _cut_at_internals(retained[: _first_glob(retained)])
    generated: list[str] = []
    while retained:
        if _GENERATED.match(retained[-1]):
            generated.insert(0, retained.pop())
            continue
        count = _count_generated(retained)
        if not count:
            break
        del retained[-count:]
    return NormalizedPath(tuple(retained), "/".join(generated))


def _without_marker(segment: str) -> str:
    end = len(segment)
    while segment.endswith(_FOLDER_MARKER, 0, end):
        end -= len(_FOLDER_MARKER)
    return segment[:end]


def _count_generated(segments: Sequence[str]) -> int:
    """Return the number of last segments that a writer added."""
    last = segments[-1]
    parent = segments[-2] if len(segments) > 1 else ""
    if _ICEBERG_METADATA.match(last) and parent == "metadata":
        return 2
    if _ICEBERG_DATA.match(last):
        count = 1
        while count < len(segments) and _PARTITION.match(segments[-count - 1]):
            count += 1
        in_data = count < len(segments) and segments[-count - 1] == "data"
        return count + in_data
    if _PART_FILE.match(last) or _PARTITION.match(last):
        return 1
    # sales/saledate=2008-01-02/load1.csv is a file of the partition, not a dataset.
    if _PARTITION.match(parent) and _DATA_FILE.match(last):
        return 1
    return 0


def _cut_at_internals(segments: list[str]) -> list[str]:
    for index, segment in enumerate(segments):
        if _INTERNAL_FOLDER.match(segment):
            return segments[:index]
    return segments


def _first_glob(segments: Sequence[str]) -> int:
    """Return the index of the first segment with a glob; a brace may close in a later segment."""
    last_brace = max((index for index, segment in enumerate(segments) if "}" in segment), default=-1)
    for index, segment in enumerate(segments):
        if "*" in segment or "?" in segment:
            return index
        if "[" in segment and "]" in segment[segment.index("[") :]:
            return index
        if "{" in segment and (last_brace > index or "}" in segment[segment.index("{") :]):
            return index
    return len(segments)

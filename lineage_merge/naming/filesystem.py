"""File systems and object stores: a dataset is a normalized path.

Normalization removes what writers add below the directory of a dataset: partition directories, part files,
staging folders, files of table formats, generated ids. Ordinary names, dates and numbers always stay.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from lineage_merge.infra.redaction import redact
from lineage_merge.model.elements import DatasetName
from lineage_merge.model.errors import NamingError
from lineage_merge.naming.address import Address, decode_uri, remove_query, trim
from lineage_merge.naming.identifiers import split_name
from lineage_merge.naming.named import Defaults, Located, Named

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


# Folders through which a connector loads a table: of BigQuery's for Spark, and of Databricks' for Synapse.
_STAGING = re.compile(
    rf"(?i)(?:^|/)(?:\.spark-bigquery-[^/]+|\d{{4}}-\d\d-\d\d/\d\d-\d\d-\d\d-\d{{3}}/{_UUID})(?=/|\Z)"
)


class NormalizedPath(NamedTuple):
    """A normalized path, and the generated segments that were removed."""

    segments: tuple[str, ...]
    generated: str


def normalize_path(path: str) -> NormalizedPath:
    """Normalize a path without scheme and authority. No segments: the dataset is the root."""
    segments = [_strip_marker(part) for part in path.split("/")]
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


def _strip_marker(segment: str) -> str:
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


@dataclass(frozen=True, kw_only=True)
class FileSystem:
    """A platform of paths.

    `schemes` maps each scheme to its canonical one. An object store has keys without a leading slash, and
    always a bucket; a file system has absolute paths. The root of both is ``/``, as in OpenLineage.
    """

    schemes: Mapping[str, str] = field(default_factory=dict)
    object_store: bool = False

    def claims(self, address: Address) -> bool:
        return address.scheme in self.schemes

    def authority(self, authority: str) -> str:
        """Return the canonical spelling of a bucket or a host."""
        return authority

    def _root(self, address: Address) -> str:
        scheme = self.schemes.get(address.scheme, address.scheme)
        authority = self.authority(address.authority or "")
        return f"{scheme}://{authority}" if authority else scheme

    def canonical_namespace(self, address: Address) -> str:
        """Return the canonical namespace; its path, the location of a catalog's warehouse, is retained."""
        path = trim(remove_query(address.rest)).lstrip("/")
        root = self._root(address)
        if not path:
            return root
        return f"{root}/{path}" if "://" in root else f"{root}:/{path}"

    def locate(self, address: Address) -> Located:
        if self.object_store and not address.authority:
            raise NamingError(f"{redact(address.text)}: names no bucket")
        return Located(self._root(address), decode_uri(remove_query(address.rest)))

    def identify(self, namespace: str, name: str, defaults: Defaults) -> Named:
        if _has_path(namespace):
            return _warehouse_table(namespace, name)
        if staging := _STAGING.search(name):
            folder = trim(f"{namespace}/{name[: staging.start()].lstrip('/')}")
            raise NamingError(
                f"{redact(folder)}: the staging folder of a connector, which loads it into an unknown table"
            )
        normalized = normalize_path(name)
        path = "/".join(normalized.segments)
        root_name = namespace.partition("://")[2] or "/"
        return Named(
            name=DatasetName(namespace, (path if self.object_store else f"/{path}") or "/"),
            label="file",
            stored_as_files=True,
            short_name=normalized.segments[-1] if normalized.segments else root_name,
            generated=normalized.generated,
        )


def _has_path(namespace: str) -> bool:
    _, colon, rest = namespace.partition(":")
    return bool(colon) and "/" in rest.removeprefix("//")


def _warehouse_table(namespace: str, name: str) -> Named:
    """Name a table of a catalog without a server: ``file:/warehouse`` and ``db.table`` in OpenLineage."""
    table = split_name(name)[-1].value
    if not table:
        raise NamingError(f"{redact(namespace)}: a name without a table")
    return Named(DatasetName(namespace, name), label="table", stored_as_files=True, short_name=table)


@dataclass(frozen=True, kw_only=True)
class AzureStorage(FileSystem):
    """Azure's storage: ``abfss://container@account.dfs.core.windows.net``, and the path; also ``wasbs``."""

    def authority(self, authority: str) -> str:
        container, at, host = authority.rpartition("@")
        return f"{container}{at}{host.lower()}"


# The last "s" only says TLS: the data is the same.
AZURE = AzureStorage(
    schemes={"abfs": "abfss", "abfss": "abfss", "wasb": "wasbs", "wasbs": "wasbs"}, object_store=True
)

# Google Cloud Storage: ``gs://bucket`` and the key.
GCS = FileSystem(schemes={"gs": "gs", "gcs": "gs"}, object_store=True)


@dataclass(frozen=True, kw_only=True)
class ClusterFileSystem(FileSystem):
    """HDFS and Databricks' DBFS: ``hdfs://namenode:8020`` and an absolute path.

    A name service of a highly available cluster has no port, so none is filled in.
    """

    def authority(self, authority: str) -> str:
        return authority.lower()


HDFS = ClusterFileSystem(schemes={"hdfs": "hdfs", "viewfs": "viewfs"})
DBFS = ClusterFileSystem(schemes={"dbfs": "dbfs"})

_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


@dataclass(frozen=True, kw_only=True)
class LocalFileSystem(FileSystem):
    """Files of one machine: ``file`` and an absolute path, ``file://host`` for another machine's."""

    def claims(self, address: Address) -> bool:
        is_path = address.text.startswith("/") or _DRIVE.match(address.text) is not None
        return address.scheme == "file" or (not address.scheme and is_path)

    def authority(self, authority: str) -> str:
        host = authority.lower()
        return "" if host == "localhost" else host

    def locate(self, address: Address) -> Located:
        if _DRIVE.match(address.text):
            return Located("file", "/" + address.text.replace("\\", "/"))
        if address.authority is None and not address.rest.startswith("/"):
            raise NamingError(f"{redact(address.text)}: is not an absolute path")
        return FileSystem.locate(self, address)


LOCAL = LocalFileSystem(schemes={"file": "file", "": "file"})

# Amazon S3: ``s3://bucket`` and the key.
S3 = FileSystem(schemes={"s3": "s3", "s3a": "s3", "s3n": "s3"}, object_store=True)

# Objects by their web address, as ClickHouse and DuckDB write them.
_OBJECT_URLS = (
    re.compile(r"(?P<bucket>[^/]+)\.s3[.-](?:[\w-]+\.)*amazonaws\.com(?:\.cn)?\Z", re.IGNORECASE),
    re.compile(r"s3[.-](?:[\w-]+\.)*amazonaws\.com(?:\.cn)?\Z", re.IGNORECASE),
    re.compile(r"(?P<bucket>[^/]+)\.storage\.googleapis\.com\Z", re.IGNORECASE),
    re.compile(r"storage\.googleapis\.com\Z", re.IGNORECASE),
)


class ObjectUrl:
    """S3 and Google Cloud Storage over HTTPS: ``https://bucket.s3.amazonaws.com/key`` is ``s3://bucket/key``."""

    def claims(self, address: Address) -> bool:
        return address.scheme in {"http", "https"} and _bucket_host(address) is not None

    def canonical_namespace(self, address: Address) -> str:
        store, located = self._object(address)
        return store.canonical_namespace(located)

    def locate(self, address: Address) -> Located:
        store, located = self._object(address)
        return store.locate(located)

    def identify(self, namespace: str, name: str, defaults: Defaults) -> Named:
        return S3.identify(namespace, name, defaults)

    def _object(self, address: Address) -> tuple[FileSystem, Address]:
        host = _bucket_host(address)
        bucket = host.groupdict().get("bucket") if host is not None else None
        rest = address.rest
        if bucket is None:
            bucket, slash, key = rest.lstrip("/").partition("/")
            rest = f"{slash}{key}"
        store, scheme = (GCS, "gs") if "googleapis" in (address.authority or "").lower() else (S3, "s3")
        return store, Address(scheme, bucket, rest, f"{scheme}://{bucket}{rest}")


def _bucket_host(address: Address) -> re.Match[str] | None:
    matches = (pattern.match(address.authority or "") for pattern in _OBJECT_URLS)
    return next((match for match in matches if match is not None), None)


OBJECT_URL = ObjectUrl()

PLATFORMS = (S3, GCS, AZURE, HDFS, DBFS, LOCAL, OBJECT_URL)

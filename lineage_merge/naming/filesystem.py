"""File systems and object stores: a dataset is a normalized path."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from lineage_merge.infra.redaction import redact
from lineage_merge.model.elements import DatasetName
from lineage_merge.model.errors import NamingError
from lineage_merge.naming.address import Address, decoded, trimmed, without_query
from lineage_merge.naming.identifiers import split_name
from lineage_merge.naming.named import Defaults, Located, Named
from lineage_merge.naming.path_normalization import normalize_path


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
        path = trimmed(without_query(address.rest)).lstrip("/")
        root = self._root(address)
        if not path:
            return root
        return f"{root}/{path}" if "://" in root else f"{root}:/{path}"

    def locate(self, address: Address) -> Located:
        if self.object_store and not address.authority:
            raise NamingError(f"{redact(address.text)}: names no bucket")
        return Located(self._root(address), decoded(without_query(address.rest)))

    def identify(self, namespace: str, name: str, defaults: Defaults) -> Named:
        if _has_path(namespace):
            return _warehouse_table(namespace, name)
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
GCS = FileSystem(schemes={"gs": "gs"}, object_store=True)


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

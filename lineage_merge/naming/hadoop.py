"""HDFS and Databricks' DBFS: ``hdfs://namenode:8020`` and an absolute path.

A name service of a highly available cluster has no port, so none is filled in.
"""

from dataclasses import dataclass

from lineage_merge.naming.filesystem import FileSystem


@dataclass(frozen=True, kw_only=True)
class ClusterFileSystem(FileSystem):
    def authority(self, authority: str) -> str:
        return authority.lower()


HDFS = ClusterFileSystem(schemes={"hdfs": "hdfs", "viewfs": "viewfs"})
DBFS = ClusterFileSystem(schemes={"dbfs": "dbfs"})

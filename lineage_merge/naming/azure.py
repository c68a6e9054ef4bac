"""Azure's storage: ``abfss://container@account.dfs.core.windows.net`` and the path, likewise ``wasbs``."""

from dataclasses import dataclass

from lineage_merge.naming.filesystem import FileSystem


@dataclass(frozen=True, kw_only=True)
class AzureStorage(FileSystem):
    def authority(self, authority: str) -> str:
        container, at, host = authority.rpartition("@")
        return f"{container}{at}{host.lower()}"


# The last "s" only says TLS: the data is the same.
AZURE = AzureStorage(
    schemes={"abfs": "abfss", "abfss": "abfss", "wasb": "wasbs", "wasbs": "wasbs"}, object_store=True
)

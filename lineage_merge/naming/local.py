"""Files of one machine: ``file`` and an absolute path, ``file://host`` for another machine's."""

import re
from dataclasses import dataclass

from lineage_merge.infra.redaction import redact
from lineage_merge.model.errors import NamingError
from lineage_merge.naming.address import Address
from lineage_merge.naming.filesystem import FileSystem
from lineage_merge.naming.named import Located

_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


@dataclass(frozen=True, kw_only=True)
class LocalFileSystem(FileSystem):
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

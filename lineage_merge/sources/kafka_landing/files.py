"""Writing of landed files: a file gets its name when it is complete."""

import gzip
import os
import tempfile
import uuid
from pathlib import Path

from lineage_merge.infra.storage import is_s3, make_folder, move_into_place, write_file
from lineage_merge.sources.kafka_landing.offsets import Range, file_name


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

    def finish(self, found: Range) -> None:
        """Move the file into place, named after its offsets."""
        self._packed.close()
        self._raw.flush()
        os.fsync(self._raw.fileno())
        self._raw.close()
        location = f"{self._folder}/{file_name(found)}"
        if is_s3(location):
            write_file(location, self._path)
            self._path.unlink()
        else:
            move_into_place(self._path, location)

    def abandon(self) -> None:
        """Discard an incomplete file."""
        self._raw.close()
        self._path.unlink(missing_ok=True)

"""Writing landed files: each has its name only once it is whole."""

import gzip
import os
import tempfile
import uuid
from pathlib import Path

from lineage_merge.infra.storage import is_s3, make_folder, move_into_place, write_file
from lineage_merge.sources.kafka_landing.offsets import Range, file_name


class LandingFile:
    """A file that is written aside, and put into its place when it is finished.

    `unfinished` is a folder of the same file system as `folder`, for what is not whole yet; what a
    killed process leaves there is read by nobody. An upload to S3 is all or nothing by itself.
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
        # No time in it: the same records give the same bytes.
        self._packed = gzip.GzipFile(filename="", fileobj=self._raw, mode="wb", mtime=0)
        self.size = 0

    def write(self, line: bytes) -> None:
        """Append a line; `size` says how many bytes there are, unpacked."""
        self.size += self._packed.write(line)

    def finish(self, found: Range) -> None:
        """Put the file into its place, under the name of the offsets that it holds."""
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
        """Forget a file that is not whole."""
        self._raw.close()
        self._path.unlink(missing_ok=True)

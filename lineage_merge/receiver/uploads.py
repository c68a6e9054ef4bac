"""Upload of finished files to S3. A file is deleted only after S3 has stored it."""

import asyncio
from contextlib import suppress
from pathlib import Path

from lineage_merge.infra.progress import ProgressCallback
from lineage_merge.infra.storage import write_file
from lineage_merge.model.errors import SourceError, SourceMissing
from lineage_merge.receiver.journal import KINDS, locate_finished

_AGAIN_SECONDS = 30.0


class Uploads:
    """Moves finished files below `root` to a prefix, and retries failed uploads."""

    def __init__(self, root: Path, prefix: str, on_progress: ProgressCallback) -> None:
        self._root = root
        self._prefix = prefix.rstrip("/")
        self._say = on_progress
        self._wake = asyncio.Event()
        self._ends = False

    def signal(self) -> None:
        """Signal a new file."""
        self._wake.set()

    def end(self) -> None:
        """Make `run` return after one more attempt."""
        self._ends = True
        self._wake.set()

    async def run(self) -> None:
        """Move files until `end` is called."""
        ends = False
        while not ends:
            ends = self._ends
            self._wake.clear()
            await asyncio.to_thread(self._move_all)
            if not ends:
                with suppress(TimeoutError):
                    async with asyncio.timeout(_AGAIN_SECONDS):
                        await self._wake.wait()

    def _move_all(self) -> None:
        for kind in KINDS:
            for file in sorted(locate_finished(self._root, kind).glob("*.jsonl")):
                target = f"{self._prefix}/{kind}/{file.name}"
                try:
                    write_file(target, file)
                except SourceMissing:
                    if file.exists():
                        self._say(f"not uploaded, still in {file.parent}: no bucket for {target}")
                        return
                    continue  # another receiver of this folder moved it
                except SourceError as error:
                    self._say(f"not uploaded, still in {file.parent}: {error.message}")
                    return
                file.unlink(missing_ok=True)
                self._say(f"uploaded {target}")

"""Group commit: requests that wait for a running write share the next one."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from lineage_merge.receiver.journal import Journal

Finished = Callable[[str, Path], None]


class Commits:
    """Passes the lines of requests to a journal in its own thread."""

    def __init__(self, journal: Journal, finished: Finished) -> None:
        self._journal = journal
        self._finished = finished
        self._waiting: list[tuple[bytes, asyncio.Future[None]]] = []
        self._wake = asyncio.Event()
        self._finish = False
        self._ends = False

    async def commit(self, lines: bytes) -> None:
        """Return when the lines are on disk. Raises `OSError` if they could not be written."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((lines, done))
        self._wake.set()
        await done

    def finish(self) -> None:
        """Finish the open file after writing pending lines."""
        self._finish = True
        self._wake.set()

    def end(self) -> None:
        """Make `run` return after writing pending lines and finishing their file."""
        self._ends = True
        self.finish()

    async def run(self) -> None:
        """Write until `end` is called."""
        with ThreadPoolExecutor(1, f"receive-{self._journal.kind}") as thread:
            while not (self._ends and not self._waiting and not self._finish):
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._journal.seconds_left()):
                        await self._wake.wait()
                self._wake.clear()
                await self._write(thread)

    async def _write(self, thread: ThreadPoolExecutor) -> None:
        loop = asyncio.get_running_loop()
        waiting, self._waiting = self._waiting, []
        asked, self._finish = self._finish, False
        if waiting:
            try:
                data = b"".join(lines for lines, _ in waiting)
                file = await loop.run_in_executor(thread, self._journal.append, data)
            except OSError as error:
                _complete(waiting, error)
            else:
                _complete(waiting, None)
                self._notify_finished(file)
        if asked or self._journal.seconds_left() == 0:
            # The content is on disk already: if the file cannot be moved, the next start does it.
            with suppress(OSError):
                self._notify_finished(await loop.run_in_executor(thread, self._journal.finish))

    def _notify_finished(self, file: Path | None) -> None:
        if file:
            self._finished(self._journal.kind, file)


def _complete(waiting: list[tuple[bytes, asyncio.Future[None]]], error: OSError | None) -> None:
    for _, done in waiting:
        if done.done():
            continue  # its request was cancelled
        if error:
            # The same exception raised in several tasks would collect all their tracebacks.
            done.set_exception(OSError(error.errno, error.strerror))
        else:
            done.set_result(None)

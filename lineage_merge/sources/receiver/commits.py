"""Group commit: requests that wait while a write is under way share the next one."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from lineage_merge.sources.receiver.journal import Journal

Finished = Callable[[str, Path], None]


class Commits:
    """Hands a journal what requests bring, in a thread of its own."""

    def __init__(self, journal: Journal, finished: Finished) -> None:
        self._journal = journal
        self._finished = finished
        self._waiting: list[tuple[bytes, asyncio.Future[None]]] = []
        self._wake = asyncio.Event()
        self._finish = False
        self._ends = False

    async def commit(self, lines: bytes) -> None:
        """Return when the lines are on the disk. Raises `OSError` where they are not."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((lines, done))
        self._wake.set()
        await done

    def finish(self) -> None:
        """Finish the file that is open, once what waits is written."""
        self._finish = True
        self._wake.set()

    def end(self) -> None:
        """Let `run` return, once what waits is written and its file finished."""
        self._ends = True
        self.finish()

    async def run(self) -> None:
        """Write until `end`."""
        with ThreadPoolExecutor(1, f"receive-{self._journal.kind}") as thread:
            while not (self._ends and not self._waiting and not self._finish):
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._journal.seconds_left()):
                        await self._wake.wait()
                self._wake.clear()
                await self._write(thread)

    async def _write(self, thread: ThreadPoolExecutor) -> None:
        loop = asyncio.get_running_loop()
        some, self._waiting = self._waiting, []
        asked, self._finish = self._finish, False
        if some:
            try:
                data = b"".join(lines for lines, _ in some)
                file = await loop.run_in_executor(thread, self._journal.append, data)
            except OSError as error:
                _tell(some, error)
            else:
                _tell(some, None)
                self._told(file)
        if asked or self._journal.seconds_left() == 0:
            # What is in it is on the disk already: if it cannot be moved, the next start does it.
            with suppress(OSError):
                self._told(await loop.run_in_executor(thread, self._journal.finish))

    def _told(self, file: Path | None) -> None:
        if file:
            self._finished(self._journal.kind, file)


def _tell(some: list[tuple[bytes, asyncio.Future[None]]], error: OSError | None) -> None:
    for _, done in some:
        if done.done():
            continue  # its request was given up
        if error:
            # One exception raised in several tasks would gather all their tracebacks.
            done.set_exception(OSError(error.errno, error.strerror))
        else:
            done.set_result(None)

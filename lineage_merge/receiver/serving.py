"""The receiver's main loop: from opening the socket to the summary."""

import asyncio
import errno
import shutil
import signal
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from starlette.requests import Request

from lineage_merge.infra.http_connections import limit_requests, protocol
from lineage_merge.infra.progress import ProgressCallback
from lineage_merge.infra.storage import make_folder, sync_folder
from lineage_merge.model.errors import ConfigError, SourceError
from lineage_merge.receiver.app import Receiver, application
from lineage_merge.receiver.bodies import RequestBodies
from lineage_merge.receiver.commits import Commits
from lineage_merge.receiver.documents import Kind, ReceivedCounts
from lineage_merge.receiver.journal import KINDS, Journal, Limits, locate_finished, locate_unfinished
from lineage_merge.receiver.recovery import recover
from lineage_merge.receiver.uploads import Uploads

# Grace period for running requests at shutdown.
_STOP_SECONDS = 10
# Clients often send the next document soon: an agent sends a plan and then its event.
_IDLE_SECONDS = 30


@dataclass(frozen=True, slots=True)
class ReceiverSettings:
    """Settings of the receiver. Sizes are in bytes; `tokens` is empty without authentication;
    `upload` is an S3 prefix, or empty.
    """

    root: Path
    host: str
    port: int
    tokens: tuple[str, ...]
    max_bytes: int
    most_connections: int
    files: Limits
    keep_free: int
    upload: str = ""
    # A head is one packet, or a few.
    head_seconds: float = 10.0


@dataclass(frozen=True, slots=True)
class _Disk:
    """Files below a folder, whose disk must have more than `keep_free` bytes."""

    root: Path
    keep_free: int
    commits: Mapping[Kind, Commits]

    def check(self) -> None:
        for kind in KINDS:
            locate_unfinished(self.root, kind).stat()
            locate_finished(self.root, kind).stat()
        if shutil.disk_usage(self.root).free <= self.keep_free:
            raise OSError(errno.ENOSPC, "no space left on disk")

    async def store(self, kind: Kind, lines: bytes, _request: Request) -> None:
        await self.commits[kind].commit(lines)


def receive(settings: ReceiverSettings, on_progress: ProgressCallback) -> ReceivedCounts:
    """Receive documents until SIGTERM or SIGINT, then finish all files.

    SIGHUP finishes the open files. Must run in the main thread. Raises `ConfigError` if the address cannot be
    used, `SourceError` if the folder cannot be written.
    """
    _prepare(settings.root, on_progress)
    with _listening(settings.host, settings.port) as listener:
        return asyncio.run(_serve(settings, listener, on_progress))


def _prepare(root: Path, on_progress: ProgressCallback) -> None:
    """Create the folders, and recover the files of earlier processes. Raises `SourceError`."""
    folders = [make(root, kind) for kind in KINDS for make in (locate_unfinished, locate_finished)]
    # Unfinished files are written below `root` itself.
    for kind in KINDS:
        unfinished = locate_unfinished(root, kind)
        for folder in (unfinished.parent, unfinished):
            if folder.is_symlink():
                raise SourceError(f"{folder}: a symbolic link, not a folder of a receiver")
    for folder in folders:
        make_folder(str(folder))
    try:
        for folder in (*folders, folders[0].parent, root, root.absolute().parent):
            sync_folder(folder)
        recover(root, on_progress)
    except OSError as error:
        raise SourceError(f"{error.filename or root}: {error.strerror}") from None


async def _serve(
    settings: ReceiverSettings, listener: socket.socket, on_progress: ProgressCallback
) -> ReceivedCounts:
    uploads = Uploads(settings.root, settings.upload, on_progress) if settings.upload else None

    def report_finished(kind: str, file: Path) -> None:
        on_progress(f"finished {kind}/{file.name}")
        if uploads:
            uploads.signal()

    commits = {kind: Commits(Journal(settings.root, kind, settings.files), report_finished) for kind in KINDS}
    disk = _Disk(settings.root, settings.keep_free, commits)
    receiver = Receiver(settings.tokens, disk, RequestBodies(settings.max_bytes), on_progress)
    server = _Server(
        uvicorn.Config(
            limit_requests(application(receiver), settings.most_connections),
            # Stubs want a class, but uvicorn only calls it.
            http=protocol(settings.most_connections, settings.head_seconds),  # type: ignore[arg-type]
            lifespan="off",
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=_IDLE_SECONDS,
            timeout_graceful_shutdown=_STOP_SECONDS,
        )
    )
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, server.stop)

    def finish() -> None:
        for each in commits.values():
            each.finish()

    loop.add_signal_handler(signal.SIGHUP, finish)
    # Only now: a process that reads this may send a signal at once.
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    on_progress(f"listening on http://{shown}:{port}, files in {settings.root}")
    async with asyncio.TaskGroup() as group:
        moving = group.create_task(uploads.run()) if uploads else None
        writing = [group.create_task(journal.run()) for journal in commits.values()]
        await server.serve(sockets=[listener])
        on_progress("stopping")
        for journal in commits.values():
            journal.end()
        await asyncio.gather(*writing)
        if uploads and moving:
            uploads.end()
    return receiver.counts


class _Server(uvicorn.Server):
    """A server that stops on request; the caller handles signals."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals to the caller: uvicorn would raise them again and prevent the summary."""
        yield

    def stop(self) -> None:
        """Accept no more requests and finish running ones; if called again, do not wait for them."""
        self.force_exit = self.should_exit
        self.should_exit = True


@contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        raise ConfigError("", f"cannot listen on {host}:{port}: {error.strerror}") from None
    with listener:
        # Inherited by connections. Asyncio sets it only on sockets it creates; without it the second packet
        # of a response waits 40 ms for the acknowledgement of the first.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield listener

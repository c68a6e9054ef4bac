"""Parallel download of pinned jars from a Maven repository, over persistent connections.

Each jar is verified by its pinned SHA-256. Other failures raise `DownloadFailed`, after which Ivy, which is
slower, may still succeed.
"""

import hashlib
import queue
import shutil
import threading
import time
import urllib.request
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from urllib.parse import unquote, urlsplit

from lineage_merge.infra.embedded import truststore
from lineage_merge.infra.progress import ProgressCallback

MAVEN_CENTRAL = "https://repo1.maven.org/maven2/"

_CONNECTIONS = 8
_CONNECT_SECONDS = 10
_READ_SECONDS = 20
_PROGRESS_SECONDS = 0.25
_CHUNK_BYTES = 64 * 1024


class DownloadFailed(Exception):
    """A repository did not deliver a jar; the message is one line without credentials."""


class DigestDiffers(Exception):
    """A repository delivered a jar whose SHA-256 is not the pinned one."""

    def __init__(self, name: str, digest: str, pinned: str) -> None:
        super().__init__(f"{name} has the SHA-256 {digest}, pinned is {pinned}")


class Jar(NamedTuple):
    """A jar of a Maven repository: path, size in bytes, SHA-256 in hexadecimal digits."""

    path: str
    size: int
    digest: str

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


class _Repository(Protocol):
    def chunks(self, path: str, stopped: threading.Event) -> Generator[bytes, None, None]:
        """Yield the content of a file. Raises `DownloadFailed`."""


def download(
    jars: Sequence[Jar], repository: str, folder: Path, name: str, on_progress: ProgressCallback
) -> None:
    """Download the jars that are missing or changed in `folder`.

    `repository` is a URL (http, https, file), `name` the name of the bundle in messages. `on_progress`
    receives the bytes so far and in total. Raises `DownloadFailed` and `DigestDiffers`; can be interrupted.
    """
    missing = [jar for jar in jars if not _is_present(jar, folder)]
    if not missing:
        return
    with _opened(repository) as source:
        transfer = _Transfer(source, missing, folder)
        try:
            transfer.run(sum(jar.size for jar in jars), name, on_progress)
        finally:
            transfer.stop()


class _Transfer:
    """The threads of a download: daemons, so that an interrupted process does not wait for them."""

    def __init__(self, source: _Repository, jars: Sequence[Jar], folder: Path) -> None:
        self._source = source
        self._folder = folder
        self._stopped = threading.Event()
        self._waiting: queue.SimpleQueue[Jar] = queue.SimpleQueue()
        self._ended: queue.SimpleQueue[Exception | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._read = 0
        self._open = len(jars)
        self._missing = sum(jar.size for jar in jars)
        # The largest first: otherwise the last one may be downloaded alone.
        for jar in sorted(jars, key=lambda jar: jar.size, reverse=True):
            self._waiting.put(jar)

    def run(self, total: int, name: str, on_progress: ProgressCallback) -> None:
        for _ in range(min(_CONNECTIONS, self._open)):
            threading.Thread(target=self._work, name="download of jars", daemon=True).start()
        reported_at = 0.0
        while self._open:
            try:
                if error := self._ended.get(timeout=_PROGRESS_SECONDS):
                    raise error
                self._open -= 1
            except queue.Empty:
                pass  # report progress at least this often
            if not self._open or time.monotonic() - reported_at >= _PROGRESS_SECONDS:
                reported_at = time.monotonic()
                done = total - self._missing + self._read
                on_progress(f"fetching {name}: {_megabytes(done)} of {_megabytes(total)} MB")

    def stop(self) -> None:
        self._stopped.set()

    def _work(self) -> None:
        while not self._stopped.is_set():
            try:
                jar = self._waiting.get_nowait()
            except queue.Empty:
                return
            try:
                self._fetch(jar)
            except Exception as error:  # noqa: BLE001 - raised by the thread that waits
                self._ended.put(error)
                return
            self._ended.put(None)

    def _fetch(self, jar: Jar) -> None:
        part = self._folder / f"{jar.name}.part"
        digest = hashlib.sha256()
        with part.open("wb") as written, closing(self._source.chunks(jar.path, self._stopped)) as chunks:
            for chunk in chunks:
                digest.update(chunk)
                written.write(chunk)
                with self._lock:
                    self._read += len(chunk)
        if self._stopped.is_set():
            return
        if digest.hexdigest() != jar.digest:
            raise DigestDiffers(jar.name, digest.hexdigest(), jar.digest)
        part.rename(self._folder / jar.name)


class _Files:
    """A repository in a local folder."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def chunks(self, path: str, stopped: threading.Event) -> Generator[bytes, None, None]:
        try:
            with (self._root / path).open("rb") as content:
                while not stopped.is_set() and (chunk := content.read(_CHUNK_BYTES)):
                    yield chunk
        except OSError as error:
            raise DownloadFailed(f"{error.strerror or error}: {self._root / path}") from None


class _Http:
    """A repository over HTTP: urllib3, a dependency of boto3, keeps connections open."""

    def __init__(self, root: str, pool: Any) -> None:
        self._root = root
        self._pool = pool

    def chunks(self, path: str, stopped: threading.Event) -> Generator[bytes, None, None]:
        from urllib3.exceptions import HTTPError

        response = None
        try:
            response = self._pool.request("GET", f"{self._root}{path}", preload_content=False)
            if response.status != 200:
                raise DownloadFailed(f"HTTP {response.status} for {path}")
            # A truncated response is an error of its own, not a wrong digest.
            for chunk in response.stream(_CHUNK_BYTES, decode_content=False):
                yield chunk
                if stopped.is_set():
                    response.close()
                    return
        except (HTTPError, OSError) as error:
            # The message may contain the URL with credentials.
            raise DownloadFailed(f"{type(error).__name__} for {path}") from None
        finally:
            if response is not None:
                response.release_conn()


@contextmanager
def _opened(repository: str) -> Iterator[_Repository]:
    url = urlsplit(repository)
    if url.scheme == "file":
        yield _Files(Path(unquote(url.path)))
        return
    if url.scheme not in ("http", "https") or not url.hostname:
        raise DownloadFailed(f"no download from a repository of the kind {url.scheme or 'without a scheme'}")
    import urllib3

    options: dict[str, Any] = {
        "maxsize": _CONNECTIONS,
        "timeout": urllib3.Timeout(connect=_CONNECT_SECONDS, read=_READ_SECONDS),
        "retries": urllib3.Retry(
            total=3,
            connect=1,
            backoff_factor=0.2,
            status_forcelist=(429, 500, 502, 503, 504),
            raise_on_status=False,
        ),
        "ssl_context": truststore.context(),
    }
    if url.username is not None:
        login = f"{unquote(url.username)}:{unquote(url.password or '')}"
        options["headers"] = urllib3.make_headers(basic_auth=login)
    address = url.hostname if ":" not in url.hostname else f"[{url.hostname}]"
    root = f"{url.scheme}://{address}{f':{url.port}' if url.port else ''}{url.path.rstrip('/')}/"
    proxy = urllib.request.getproxies().get(url.scheme)
    pool: urllib3.PoolManager
    if proxy and not urllib.request.proxy_bypass(url.hostname):
        pool = _proxy_pool(proxy, options)
    else:
        pool = urllib3.PoolManager(**options)
    try:
        yield _Http(root, pool)
    finally:
        pool.clear()


def _proxy_pool(proxy: str, options: dict[str, Any]) -> Any:
    import urllib3

    parts = urlsplit(proxy if "//" in proxy else f"//{proxy}", scheme="http")
    headers = {}
    if parts.username is not None:
        login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        headers = urllib3.make_headers(proxy_basic_auth=login)
    address = f"{parts.scheme}://{parts.hostname}:{parts.port or (443 if parts.scheme == 'https' else 80)}"
    return urllib3.ProxyManager(address, proxy_headers=headers, **options)


def reuse(jars: Sequence[Jar], old: Path, folder: Path) -> None:
    """Copy jars that are unchanged in `old` to `folder`."""
    for jar in jars:
        if _is_present(jar, old) and not _is_present(jar, folder):
            shutil.copyfile(old / jar.name, folder / jar.name)


def _is_present(jar: Jar, folder: Path) -> bool:
    file = folder / jar.name
    try:
        if file.stat().st_size != jar.size:
            return False
        with file.open("rb") as content:
            return hashlib.file_digest(content, "sha256").hexdigest() == jar.digest
    except OSError:
        return False


def _megabytes(size: int) -> str:
    return f"{size / 1_000_000:.1f}"

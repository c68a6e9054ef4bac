"""Jars that are not part of a Python package: downloaded once, verified, and cached.

A lock file lists the jars of a bundle by SHA-256, size, and path in a Maven repository; `python -m
supply_chain.jar_lock` writes it. `urllib` reads the proxies of the environment.
"""

import base64
import fcntl
import hashlib
import http.client
import os
import shutil
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, unquote, urlsplit

from lineage_merge.infra.progress import ProgressCallback
from lineage_merge.model.errors import EmbeddedError

MAVEN_CENTRAL = "https://repo1.maven.org/maven2"
REPOSITORY_VARIABLE = "LINEAGE_MERGE_MAVEN_REPOSITORY"
GREMLIN_SERVER = "3.7.4"

_CA_VARIABLES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")  # SSL_CERT_FILE is OpenSSL's own
_CONNECTIONS = 8
_TIMEOUT_SECONDS = 20
_PAUSES_SECONDS = (0.2, 1.0)
# Answers of a repository that is overloaded or starting.
_TRANSIENT = frozenset({429, 500, 502, 503, 504})


class Jar(NamedTuple):
    """A jar of a Maven repository: SHA-256 in hexadecimal digits, size in bytes, path."""

    digest: str
    size: int
    path: str

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


class Bundle(NamedTuple):
    """Jars that are used together: their name in messages, and their lock file.

    The stem of the file is the name of their folder in the cache.
    """

    name: str
    lock: Path

    def jars(self) -> list[Jar]:
        """Return the jars in the lock file."""
        rows = (line.split() for line in self.lock.read_text().splitlines())
        return [Jar(digest, int(size), path) for digest, size, path in rows]


GREMLIN = Bundle(
    f"Gremlin Server {GREMLIN_SERVER}", Path(__file__).with_name(f"gremlin-server-{GREMLIN_SERVER}.lock")
)


def cache_home() -> Path:
    """``$LINEAGE_MERGE_CACHE``, or ``lineage-merge`` in the user's cache directory."""
    if own := os.environ.get("LINEAGE_MERGE_CACHE"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lineage-merge"


def gremlin_jars(on_progress: ProgressCallback) -> Path:
    """Return the directory of the server's jars. Raises `EmbeddedError`."""
    return bundle_jars(GREMLIN, on_progress)


def spark_kafka_options(on_progress: ProgressCallback) -> dict[str, str]:
    """Return the options that add Spark's Kafka source, which is no part of PySpark, to a local session.

    Spark itself downloads it for a version of Spark without a lock file. Raises `EmbeddedError`.
    """
    spark = version("pyspark")
    line = ".".join(spark.split(".")[:2])
    bundle = Bundle(f"Spark's Kafka source {line}", Path(__file__).with_name(f"spark-kafka-{line}.lock"))
    if bundle.lock.exists():
        folder = bundle_jars(bundle, on_progress)
        return {"spark.jars": ",".join(sorted(str(jar) for jar in folder.glob("*.jar")))}
    options = {"spark.jars.packages": f"org.apache.spark:spark-sql-kafka-0-10_2.13:{spark}"}
    if repository := os.environ.get(REPOSITORY_VARIABLE):
        options["spark.jars.repositories"] = repository
    return options


def bundle_jars(bundle: Bundle, on_progress: ProgressCallback) -> Path:
    """Return the directory of a bundle's jars, which are downloaded unless the cache has them.

    The source is ``LINEAGE_MERGE_MAVEN_REPOSITORY`` (a URL: http, https, file), else Maven Central. Raises
    `EmbeddedError`.
    """
    cache = cache_home()
    folder = cache / bundle.lock.stem
    if is_complete(bundle, folder):
        return folder
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with _one_at_a_time(cache / "fetch.lock", on_progress):
            if not is_complete(bundle, folder):  # another process may have downloaded it meanwhile
                _download(bundle, folder, on_progress)
    except OSError as error:
        raise EmbeddedError(f"the cache {cache} cannot be used: {error.strerror or error}") from error
    return folder


def is_complete(bundle: Bundle, folder: Path) -> bool:
    """Whether a directory contains the jars of a bundle, unchanged, and no other jar."""
    jars = bundle.jars()
    return {file.name for file in folder.glob("*.jar")} == {jar.name for jar in jars} and all(
        _is_intact(jar, folder) for jar in jars
    )


def _is_intact(jar: Jar, folder: Path) -> bool:
    try:
        with (folder / jar.name).open("rb") as content:
            return hashlib.file_digest(content, "sha256").hexdigest() == jar.digest
    except OSError:
        return False


@contextmanager
def _one_at_a_time(lock: Path, on_progress: ProgressCallback) -> Iterator[None]:
    with lock.open("w") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            on_progress("another process is fetching jars: waiting for it")
            fcntl.flock(held, fcntl.LOCK_EX)
        yield


def _download(bundle: Bundle, folder: Path, on_progress: ProgressCallback) -> None:
    jars = bundle.jars()
    total = sum(jar.size for jar in jars)
    on_progress(f"fetching {bundle.name} ({total / 1_000_000:.0f} MB, once) into {folder.parent}")
    # Stays after a failure or an interrupt, so that the next download continues.
    partial = folder.with_name(f"{folder.name}.part")
    partial.mkdir(exist_ok=True)
    # The largest first: otherwise the last one may be downloaded alone.
    missing = sorted((jar for jar in jars if not _is_intact(jar, partial)), key=lambda jar: -jar.size)
    done = total - sum(jar.size for jar in missing)
    repository = Repository(os.environ.get(REPOSITORY_VARIABLE) or MAVEN_CENTRAL)

    def fetch(jar: Jar) -> Jar:
        content = repository.read(jar.path)
        digest = hashlib.sha256(content).hexdigest()
        if digest != jar.digest:
            problem = f"{jar.name} has the SHA-256 {digest}, locked is {jar.digest}"
            raise EmbeddedError(f"{bundle.name} from this repository is refused: {problem}")
        (partial / jar.name).write_bytes(content)
        return jar

    # Its threads are daemons, so that an interrupted process does not wait for a repository.
    with ThreadPool(_CONNECTIONS) as pool:
        for jar in pool.imap_unordered(fetch, missing):
            done += jar.size
            on_progress(f"fetching {bundle.name}: {done / 1_000_000:.1f} of {total / 1_000_000:.1f} MB")
    shutil.rmtree(folder, ignore_errors=True)
    partial.rename(folder)
    on_progress(f"fetched {len(jars)} jars")


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Redirects that give a login only to the host that it is for."""

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        """Return the next request: a proxy's login is added again if it goes through the proxy."""
        request = super().redirect_request(req, fp, code, msg, headers, newurl)
        if request is not None:
            request.remove_header("Proxy-authorization")
            login = req.unredirected_hdrs.get("Authorization")
            if login and urlsplit(req.full_url)[:2] == urlsplit(newurl)[:2]:
                request.add_unredirected_header("Authorization", login)
        return request


class Repository:
    """A Maven repository at a URL, which may contain a login."""

    def __init__(self, url: str) -> None:
        try:
            parts = urlsplit(url)
            _ = parts.port
        except ValueError:  # its message may contain a part of a password
            raise EmbeddedError(f"{REPOSITORY_VARIABLE} is not a valid URL") from None
        if parts.scheme not in ("http", "https", "file"):
            raise EmbeddedError(f"{REPOSITORY_VARIABLE} is not a URL with http, https or file")
        parts = parts._replace(path=quote(parts.path, safe="/%:@!$&'()*+,;=~"))
        self._root = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl().rstrip("/")
        self._authorization = ""
        if parts.username is not None:
            login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            self._authorization = f"Basic {base64.b64encode(login.encode()).decode()}"
        trusted = ssl.create_default_context()
        for file in filter(None, map(os.environ.get, _CA_VARIABLES)):
            if Path(file).is_file():
                trusted.load_verify_locations(cafile=file)
        self._opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=trusted), _Redirects())

    def read(self, path: str) -> bytes:
        """Return a file. Raises `EmbeddedError`, also if the answer is incomplete."""
        for pause in (*_PAUSES_SECONDS, None):
            try:
                return self._read(path)
            except urllib.error.HTTPError as error:
                problem = f"HTTP {error.code}"
                if error.code not in _TRANSIENT:
                    break
            except (OSError, http.client.HTTPException) as error:
                reason = getattr(error, "reason", error)
                problem = str(reason) or type(reason).__name__
                if isinstance(reason, ssl.SSLError):
                    break
            if pause:
                time.sleep(pause)
        raise EmbeddedError(
            f"{self._root}/{path} could not be fetched: {problem};"
            f" {REPOSITORY_VARIABLE} may be the URL of a mirror of Maven Central"
        )

    def _read(self, path: str) -> bytes:
        request = urllib.request.Request(f"{self._root}/{path}")  # noqa: S310 - the scheme is checked above
        if self._authorization:
            # Not sent to the host of a redirect.
            request.add_unredirected_header("Authorization", self._authorization)
        with self._opener.open(request, timeout=_TIMEOUT_SECONDS) as response:
            content: bytes = response.read()
        return content

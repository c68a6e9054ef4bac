"""Jars that a machine lacks, the Gremlin Server's first: fetched once, then cached.

The Gremlin Server's are pinned by SHA-256 and compared after the fetch and before each start. They are
downloaded directly (`download`); PySpark's Ivy fetches what has no pins, and what a repository does not
deliver that way.
"""

import fcntl
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit
from xml.sax.saxutils import quoteattr

from lineage_merge.infra.embedded import download, truststore
from lineage_merge.infra.progress import ProgressCallback
from lineage_merge.model.errors import EmbeddedError

GREMLIN_SERVER = "3.7.4"
# Without a binding the server's own log would say nothing; 1.7 is the line that it is built with.
SLF4J_SIMPLE = "1.7.36"

_COMPLETE = "complete.json"


class Bundle(NamedTuple):
    """Jars that are fetched together: what a person calls them, and their folder in the cache.

    `dependencies` is the content of an Ivy file's ``<dependencies>``. `pins` is a file in the
    format of ``sha256sum`` that names every jar; None: what comes is taken as it comes. `places` is a file
    with a size and a path in a Maven repository in each line, for the same jars; None: only Ivy finds them.
    `earlier` is the folder of a fetch by an earlier version, whose jars need not be fetched again.
    """

    name: str
    folder: str
    megabytes: int
    dependencies: str
    pins: Path | None = None
    places: Path | None = None
    earlier: str = ""


# What the server never runs: other protocols, other systems' native libraries, Groovy's console and its
# modules, and the script engine's cache. A class of the others that refers to one of them is not loaded.
# (netty-all is a list of the others, without a class: Ivy finds them through it.)
_NOT_NEEDED = {
    "com.carrotsearch": ("hppc",),
    "com.github.ben-manes.caffeine": ("caffeine",),
    "com.github.javaparser": ("javaparser-core",),
    "com.squareup": ("javapoet",),
    "io.netty": (
        "netty-codec-dns",
        "netty-codec-haproxy",
        "netty-codec-http2",
        "netty-codec-memcache",
        "netty-codec-mqtt",
        "netty-codec-redis",
        "netty-codec-smtp",
        "netty-codec-socks",
        "netty-codec-stomp",
        "netty-codec-xml",
        "netty-handler-proxy",
        "netty-handler-ssl-ocsp",
        "netty-resolver-dns",
        "netty-resolver-dns-classes-macos",
        "netty-resolver-dns-native-macos",
        "netty-transport-classes-epoll",
        "netty-transport-classes-kqueue",
        "netty-transport-native-epoll",
        "netty-transport-native-kqueue",
        "netty-transport-rxtx",
        "netty-transport-sctp",
        "netty-transport-udt",
    ),
    "jline": ("jline",),
    "org.abego.treelayout": ("org.abego.treelayout.core",),
    "org.apache.groovy": (
        "groovy-console",
        "groovy-groovysh",
        "groovy-json",
        "groovy-swing",
        "groovy-templates",
        "groovy-xml",
    ),
    "org.apache.ivy": ("ivy",),
    "org.mindrot": ("jbcrypt",),
}
_EXCLUDED = "".join(
    f'\n    <exclude org="{organisation}" module="{module}"/>'
    for organisation, modules in _NOT_NEEDED.items()
    for module in modules
)

GREMLIN = Bundle(
    f"Gremlin Server {GREMLIN_SERVER}",
    # Not the folder of versions that fetched more jars: both may run on one machine.
    f"gremlin-server-{GREMLIN_SERVER}-needed",
    21,
    f"""\
    <dependency org="org.apache.tinkerpop" name="gremlin-server" rev="{GREMLIN_SERVER}" conf="default"/>
    <dependency org="org.slf4j" name="slf4j-simple" rev="{SLF4J_SIMPLE}" conf="default"/>{_EXCLUDED}""",
    # Both are written by `python -m supply_chain.jar_pins`.
    Path(__file__).with_name("gremlin_server.sha256"),
    Path(__file__).with_name("gremlin_server.places"),
    f"gremlin-server-{GREMLIN_SERVER}",
)
_IVY_MODULE = """\
<ivy-module version="2.0">
  <info organisation="lineage-merge" module="embedded-{folder}"/>
  <dependencies>
{dependencies}
  </dependencies>
</ivy-module>
"""
_IVY_SETTINGS = """\
<ivysettings>
  <settings defaultResolver="maven"/>
  <resolvers><ibiblio name="maven" m2compatible="true"{root}/></resolvers>
</ivysettings>
"""
_FOUND = re.compile(r"^\s*found \S+?#(\S+?);")
_DOWNLOADED = re.compile(r"^\s*\[SUCCESSFUL \] \S+?#\S+?;(\S+?)!(\S+?)\.\w+(?:\(\w+\))? ")
_CAUSE = re.compile(r"(?:Server access error|SERVER ERROR|Host \S+ not found|impossible to)[^\n]*")
_MISSING = re.compile(r"module not found: (\S+)")
_UNTRUSTED = "unable to find valid certification path"
_USER_INFO = re.compile(r"//[^/@\s]+@")


def cache_home() -> Path:
    """``$LINEAGE_MERGE_CACHE``, or ``lineage-merge`` in the user's cache directory."""
    if own := os.environ.get("LINEAGE_MERGE_CACHE"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lineage-merge"


def cached_jars(cache: Path, bundle: Bundle | None = None) -> Path | None:
    """Return the directory of a complete fetch, None where jars are missing or differ from their pins."""
    bundle = bundle or GREMLIN
    jars = cache / bundle.folder
    try:
        sizes = json.loads((jars / _COMPLETE).read_text())
        whole = all((jars / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError, AttributeError):
        return None
    return jars if whole and not difference(bundle, jars) else None


def difference(bundle: Bundle, jars: Path) -> str:
    """Say how a directory of jars differs from a bundle's pins, "" where it does not."""
    if not bundle.pins:
        return ""
    pinned = _digests(bundle.pins)
    found = {jar.name: jar for jar in jars.glob("*.jar")}
    for name in sorted(pinned.keys() | found.keys()):
        if name not in found:
            return f"{name} is missing"
        if name not in pinned:
            return f"{name} is not among the pinned jars"
        digest = digest_of(found[name])
        if digest != pinned[name]:
            return f"{name} has the SHA-256 {digest}, pinned is {pinned[name]}"
    return ""


def _digests(pins: Path) -> dict[str, str]:
    """The pinned SHA-256 by the name of the jar."""
    return {name: digest for digest, name in (line.split() for line in pins.read_text().splitlines())}


def digest_of(file: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal digits."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def gremlin_jars(java: Path, on_progress: ProgressCallback) -> Path:
    """The directory with the server's jars: `bundle_jars` of them."""
    return bundle_jars(GREMLIN, java, on_progress)


def bundle_jars(bundle: Bundle, java: Path, on_progress: ProgressCallback) -> Path:
    """The directory with a bundle's jars; fetches them when the cache has none.

    `java` runs Ivy, `on_progress` gets what is fetched and how much of it has arrived. Where from:
    ``LINEAGE_MERGE_IVY_SETTINGS`` (an Ivy settings file), else the repository
    ``LINEAGE_MERGE_MAVEN_REPOSITORY`` (a URL), else Maven Central. Raises `EmbeddedError`.
    """
    cache = cache_home()
    if jars := cached_jars(cache, bundle):
        return jars
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with _one_at_a_time(bundle, cache / "fetch.lock", on_progress):
            return cached_jars(cache, bundle) or _fetched(bundle, java, cache, on_progress)
    except OSError as error:
        raise EmbeddedError(f"the cache {cache} cannot be used: {error.strerror or error}") from error


@contextmanager
def _one_at_a_time(bundle: Bundle, lock: Path, on_progress: ProgressCallback) -> Iterator[None]:
    with lock.open("w") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            on_progress(f"another process is fetching jars ({bundle.name} may be among them): waiting for it")
            fcntl.flock(held, fcntl.LOCK_EX)
        yield


def _fetched(bundle: Bundle, java: Path, cache: Path, on_progress: ProgressCallback) -> Path:
    on_progress(f"fetching {bundle.name} and what it needs ({bundle.megabytes} MB, once) into {cache}")
    if jars := _downloaded(bundle, cache, on_progress):
        return jars
    # Ivy's own cache stays when a fetch fails, so that the next one continues where it ended.
    ivy_cache = cache / "ivy"
    with tempfile.TemporaryDirectory(prefix="fetch-", dir=cache) as work_name:
        work = Path(work_name)
        lib = work / "lib"
        arguments = ivy_arguments(bundle, work, ivy_cache)
        arguments += ["-retrieve", f"{lib}/[artifact]-[revision](-[classifier]).[ext]"]
        options = proxy_options(urllib.request.getproxies())
        code, output = _run_ivy([str(java), *options, *arguments], on_progress)
        if code != 0 and _UNTRUSTED in output and (certificates := truststore.trusted_by_python()):
            on_progress("Java does not know the repository's certificate: trying those that Python trusts")
            store = work / "trust.jks"
            store.write_bytes(truststore.java_key_store(certificates))
            options += [
                f"-Djavax.net.ssl.trustStore={store}",
                f"-Djavax.net.ssl.trustStorePassword={truststore.PASSWORD}",
            ]
            code, output = _run_ivy([str(java), *options, *arguments], on_progress)
        if code != 0:
            raise EmbeddedError(f"{bundle.name} could not be fetched: {ivy_failure(output)}")
        if problem := difference(bundle, lib):
            shutil.rmtree(ivy_cache, ignore_errors=True)
            raise _refused(bundle, problem)
        target = _complete(bundle, lib, cache, on_progress)
    shutil.rmtree(ivy_cache, ignore_errors=True)
    return target


def _downloaded(bundle: Bundle, cache: Path, on_progress: ProgressCallback) -> Path | None:
    """The jars, downloaded without Ivy; None where that is not possible. Raises `EmbeddedError`."""
    # The person's own Ivy settings may name anything: several repositories, other layouts.
    if not bundle.pins or not bundle.places or os.environ.get("LINEAGE_MERGE_IVY_SETTINGS"):
        return None
    pinned = _digests(bundle.pins)
    wanted = []
    for line in bundle.places.read_text().splitlines():
        size, path = line.split()
        wanted.append(download.Jar(path, int(size), pinned[path.rpartition("/")[2]]))
    # It stays when a download fails or is interrupted, so that the next one continues where it ended.
    part = cache / f"{bundle.folder}.part"
    part.mkdir(exist_ok=True)
    for folder in filter(None, (bundle.folder, bundle.earlier)):
        download.reuse(wanted, cache / folder, part)
    repository = os.environ.get("LINEAGE_MERGE_MAVEN_REPOSITORY") or download.MAVEN_CENTRAL
    try:
        download.download(wanted, repository, part, bundle.name, on_progress)
    except download.DigestDiffers as error:
        shutil.rmtree(part, ignore_errors=True)
        raise _refused(bundle, str(error)) from None
    except download.DownloadFailed as error:
        on_progress(f"the download failed ({error}): trying Ivy")
        return None
    for unfinished in part.glob("*.part"):
        unfinished.unlink()
    return _complete(bundle, part, cache, on_progress)


def _refused(bundle: Bundle, problem: str) -> EmbeddedError:
    return EmbeddedError(f"{bundle.name} from this repository is refused: {problem}")


def _complete(bundle: Bundle, lib: Path, cache: Path, on_progress: ProgressCallback) -> Path:
    """Make the jars in `lib` those of the bundle, in place of an incomplete or changed fetch."""
    target = cache / bundle.folder
    sizes = {jar.name: jar.stat().st_size for jar in sorted(lib.glob("*.jar"))}
    (lib / _COMPLETE).write_text(json.dumps(sizes, indent=0))
    shutil.rmtree(target, ignore_errors=True)
    lib.rename(target)
    shutil.rmtree(cache / f"{bundle.folder}.part", ignore_errors=True)
    on_progress(f"fetched {len(sizes)} jars")
    return target


def ivy_arguments(bundle: Bundle, work: Path, ivy_cache: Path) -> list[str]:
    """What Java is told to resolve a bundle with Ivy, whose files go to `work`. Raises `EmbeddedError`."""
    (work / "ivy.xml").write_text(_IVY_MODULE.format(**bundle._asdict()))
    arguments = ["-jar", str(_ivy_jar()), "-settings", str(_settings(work)), "-cache", str(ivy_cache)]
    return [*arguments, "-ivy", str(work / "ivy.xml"), "-confs", "default"]


def _settings(work: Path) -> Path:
    if own := os.environ.get("LINEAGE_MERGE_IVY_SETTINGS"):
        if not Path(own).is_file():
            raise EmbeddedError(f"LINEAGE_MERGE_IVY_SETTINGS names no file: {own}")
        return Path(own).absolute()
    # Ivy's own default for such a resolver is Maven Central.
    root = os.environ.get("LINEAGE_MERGE_MAVEN_REPOSITORY")
    settings = work / "settings.xml"
    attribute = f" root={quoteattr(root.rstrip('/') + '/')}" if root else ""
    settings.write_text(_IVY_SETTINGS.format(root=attribute))
    return settings


def _ivy_jar() -> Path:
    homes = []
    spec = importlib.util.find_spec("pyspark")
    if spec and spec.submodule_search_locations:
        homes.append(Path(spec.submodule_search_locations[0]))
    if spark_home := os.environ.get("SPARK_HOME"):
        homes.append(Path(spark_home))
    for home in homes:
        for jar in sorted((home / "jars").glob("ivy-*.jar"), reverse=True):
            return jar
    raise EmbeddedError(
        "PySpark is not installed, and its Ivy is what fetches jars such as the Gremlin Server's: "
        "run pip install 'lineage-merge[local]'"
    )


def _run_ivy(command: list[str], on_progress: ProgressCallback) -> tuple[int, str]:
    lines: list[str] = []
    needed = done = 0
    with subprocess.Popen(  # noqa: S603 - the Java that was chosen and PySpark's jar
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        assert process.stdout is not None  # noqa: S101 - a pipe was asked for
        for line in process.stdout:
            lines.append(line)
            if found := _FOUND.match(line):
                needed += 1
                on_progress(f"looking up what it needs: {needed}, {found[1]}")
            elif jar := _DOWNLOADED.match(line):
                done += 1
                # A module may have several jars (one a platform), so there can be a few more.
                on_progress(f"jar {done} of {max(needed, done)}: {jar[2]} {jar[1]}")
    return process.returncode, "".join(lines)


def proxy_options(proxies: Mapping[str, str]) -> list[str]:
    """The proxies of the environment as Java properties: Java reads none of the variables.

    `proxies` is what `urllib.request.getproxies` gives. A user name in a proxy's URL is left out.
    """
    options = []
    for scheme in ("http", "https"):
        if not (address := proxies.get(scheme)):
            continue
        parts = urlsplit(address if "//" in address else f"//{address}")
        if parts.hostname:
            options.append(f"-D{scheme}.proxyHost={parts.hostname}")
            options.append(f"-D{scheme}.proxyPort={parts.port or (443 if parts.scheme == 'https' else 80)}")
    if options and (without := proxies.get("no")):
        hosts = [host.strip() for host in without.split(",") if host.strip()]
        options.append("-Dhttp.nonProxyHosts=" + "|".join(f"*{h}" if h.startswith(".") else h for h in hosts))
    return options


def ivy_failure(output: str) -> str:
    """Why Ivy gave up, in one line and without a user's name or password in a URL."""
    cause = _CAUSE.search(output)
    missing = _MISSING.search(output)
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    if cause:
        text = cause[0]
    elif missing:
        text = f"the repository has no {missing[1].replace('#', ':').replace(';', ':')}"
    else:
        text = lines[-1] if lines else "Ivy said nothing"
    return _USER_INFO.sub("//", text.strip())

"""Write the lock file of a Gremlin Server's jars: SHA-256, size and path of each in a Maven repository.

    python -m supply_chain.jar_lock                 # of the Gremlin Server, after a change of its version
    python -m supply_chain.jar_lock --check         # exit code 1 if that file would change
    python -m supply_chain.jar_lock --server 3.8.1  # of another version, for tests

PySpark's Ivy resolves the jars, from LINEAGE_MERGE_MAVEN_REPOSITORY or Maven Central. Java reads proxies and
a trust store from JAVA_TOOL_OPTIONS.
"""

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.sax.saxutils import quoteattr

import pyspark

from lineage_merge.infra.embedded.jars import GREMLIN, GREMLIN_SERVER, MAVEN_CENTRAL, REPOSITORY_VARIABLE
from lineage_merge.infra.embedded.java import find_java

# Without a binding, the server does not log; it is built with 1.7.
SLF4J_SIMPLE = "1.7.36"

_LOCKS_OF_TESTS = Path(__file__).parents[1] / "tests" / "locks"
# Ivy has no pattern for the folders of an organisation in Maven's layout, so a dot stands for a slash.
_PATTERN = "[organisation]/[module]/[revision]/[artifact]-[revision](-[classifier]).[ext]"

# Unused by the server: other protocols, native libraries of other systems, Groovy's console and modules, and
# the cache of the script engine. No loaded class refers to them.
# (netty-all has no classes, but lists the other modules: Ivy needs it to find them.)
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
_IVY_MODULE = """\
<ivy-module version="2.0">
  <info organisation="lineage-merge" module="embedded"/>
  <dependencies>
{dependencies}
  </dependencies>
</ivy-module>
"""
_IVY_SETTINGS = """\
<ivysettings>
  <settings defaultResolver="maven"/>
  <resolvers><ibiblio name="maven" m2compatible="true" root={root}/></resolvers>
</ivysettings>
"""


def main() -> int:
    """Write or check the file; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--check", action="store_true", help="change nothing")
    parser.add_argument("--server", default=GREMLIN_SERVER, help="version of the Gremlin Server")
    arguments = parser.parse_args()
    file = GREMLIN.lock
    if arguments.server != GREMLIN_SERVER:
        file = _LOCKS_OF_TESTS / f"gremlin-server-{arguments.server}.lock"
    lock = resolve(gremlin_dependencies(arguments.server))
    if arguments.check:
        return int(lock != file.read_text())
    file.write_text(lock)
    return 0


def gremlin_dependencies(server: str) -> str:
    """Return the content of ``<dependencies>`` in an Ivy file for a version of the Gremlin Server."""
    excluded = (
        f'<exclude org="{organisation}" module="{module}"/>'
        for organisation, modules in _NOT_NEEDED.items()
        for module in modules
    )
    return "\n".join(
        (
            f'<dependency org="org.apache.tinkerpop" name="gremlin-server" rev="{server}" conf="default"/>',
            f'<dependency org="org.slf4j" name="slf4j-simple" rev="{SLF4J_SIMPLE}" conf="default"/>',
            *excluded,
        )
    )


def resolve(dependencies: str) -> str:
    """Download the jars of dependencies; return the text of their lock file."""
    with tempfile.TemporaryDirectory() as folder:
        work, lib = Path(folder), Path(folder, "lib")
        arguments = [*ivy_arguments(dependencies, work, work / "ivy"), "-retrieve", f"{lib}/{_PATTERN}"]
        subprocess.run([str(find_java()), *arguments], check=True, stdout=subprocess.DEVNULL)
        jars = sorted(lib.rglob("*.jar"), key=lambda jar: jar.name)
        return "".join(_line(jar, lib) for jar in jars)


def ivy_arguments(dependencies: str, work: Path, cache: Path) -> list[str]:
    """Return the Java arguments to resolve dependencies with PySpark's Ivy; its files go to `work`."""
    module, settings = work / "ivy.xml", work / "settings.xml"
    module.write_text(_IVY_MODULE.format(dependencies=dependencies))
    repository = os.environ.get(REPOSITORY_VARIABLE) or MAVEN_CENTRAL
    settings.write_text(_IVY_SETTINGS.format(root=quoteattr(repository.rstrip("/") + "/")))
    (ivy,) = Path(pyspark.__path__[0], "jars").glob("ivy-*.jar")
    arguments = ["-jar", str(ivy), "-settings", str(settings), "-cache", str(cache)]
    return [*arguments, "-ivy", str(module), "-confs", "default"]


def _line(jar: Path, lib: Path) -> str:
    organisation, *rest = jar.relative_to(lib).parts
    path = "/".join([organisation.replace(".", "/"), *rest])
    return f"{hashlib.sha256(jar.read_bytes()).hexdigest()}  {jar.stat().st_size}  {path}\n"


if __name__ == "__main__":
    sys.exit(main())

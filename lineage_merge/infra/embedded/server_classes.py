"""The server's main program, compiled from Groovy on first use: it took a third of each start."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from lineage_merge.infra.embedded.file_lock import make_folder
from lineage_merge.model.errors import EmbeddedError

MAIN = "gremlin_server"
_COMPILER = "org.codehaus.groovy.tools.FileSystemCompiler"
# Casts that are no `invokedynamic`, which is slow until its call site is compiled.
_PLAIN_CASTS = "-Dgroovy.target.indy=false"
_SECONDS = 120


def server_classes(java: Path, jars: Path, sources: Path, fallback: Path) -> Path:
    """Return the jar of the classes of ``sources/*.groovy``, beside the jars in the cache.

    `fallback`: an existing folder, used if the cache is read-only. Raises `EmbeddedError`.
    """
    files = sorted(sources.glob("*.groovy"))
    content = b"\0".join([jars.name.encode(), *(file.read_bytes() for file in files)])
    name = f"{MAIN}-{hashlib.sha256(content).hexdigest()[:16]}.jar"
    classes = jars.parent / name
    if classes.is_file():
        return classes
    try:
        make_folder(jars.parent)
        work = Path(tempfile.mkdtemp(prefix=f"{MAIN}-", dir=jars.parent))
    except OSError:
        return _compile(java, jars, files, fallback)
    try:
        return _compile(java, jars, files, work).replace(classes)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _compile(java: Path, jars: Path, files: list[Path], folder: Path) -> Path:
    """Return the jar of the compiled files, in a folder."""
    classes = folder / "classes"
    classes.mkdir()
    command = [str(java), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", _PLAIN_CASTS]
    command += ["-cp", f"{jars}{os.sep}*", _COMPILER]
    compiled = subprocess.run(  # noqa: S603 - the Java that was chosen
        [*command, "-d", str(classes), *map(str, files)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    if compiled.returncode:
        lines = (compiled.stderr or compiled.stdout).strip().splitlines() or ["no message"]
        raise EmbeddedError(f"the embedded Gremlin Server cannot be compiled: {' '.join(lines[:2])}")
    return Path(shutil.make_archive(str(classes), "zip", classes))

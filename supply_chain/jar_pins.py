"""Write the pins of the embedded server's jars: SHA-256, size and path of each, as a repository has them.

    python -m supply_chain.jar_pins           # after a change of GREMLIN_SERVER or SLF4J_SIMPLE
    python -m supply_chain.jar_pins --check   # exit code 1 if the files would change

Fetches into a temporary folder, from where LINEAGE_MERGE_MAVEN_REPOSITORY says.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from lineage_merge.infra.embedded.java import find_java
from lineage_merge.infra.embedded.maven_jars import GREMLIN, digest_of, ivy_arguments

# Ivy has no pattern for the folders of an organisation in Maven's layout, so a dot stands for a slash.
_PATTERN = "[organisation]/[module]/[revision]/[artifact]-[revision](-[classifier]).[ext]"


def main() -> int:
    """Write or check the files; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--check", action="store_true", help="change nothing")
    check = parser.parse_args().check
    assert GREMLIN.pins
    assert GREMLIN.places
    with tempfile.TemporaryDirectory() as folder:
        work, lib = Path(folder), Path(folder, "lib")
        arguments = [*ivy_arguments(GREMLIN, work, work / "ivy"), "-retrieve", f"{lib}/{_PATTERN}"]
        subprocess.run([str(find_java()), *arguments], check=True, stdout=subprocess.DEVNULL)
        jars = sorted(lib.rglob("*.jar"), key=lambda jar: jar.name)
        pins = "".join(f"{digest_of(jar)}  {jar.name}\n" for jar in jars)
        places = "".join(f"{jar.stat().st_size} {_path(jar.relative_to(lib))}\n" for jar in jars)
    if check:
        return int(pins != GREMLIN.pins.read_text() or places != GREMLIN.places.read_text())
    GREMLIN.pins.write_text(pins)
    GREMLIN.places.write_text(places)
    return 0


def _path(jar: Path) -> str:
    organisation, *rest = jar.parts
    return "/".join([organisation.replace(".", "/"), *rest])


if __name__ == "__main__":
    sys.exit(main())

"""Write the pins of the embedded server's jars: the SHA-256 of each, as one repository has them today.

    python -m supply_chain.jar_pins           # after a change of GREMLIN_SERVER or SLF4J_SIMPLE
    python -m supply_chain.jar_pins --check   # exit code 1 if the file would change

Fetches into a temporary folder, from where LINEAGE_MERGE_MAVEN_REPOSITORY says.
"""

import argparse
import os
import sys
import tempfile

from lineage_merge.embedded.jars import GREMLIN, bundle_jars, digest_of
from lineage_merge.embedded.java import find_java


def main() -> int:
    """Write or check the file; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--check", action="store_true", help="change nothing")
    check = parser.parse_args().check
    assert GREMLIN.pins
    with tempfile.TemporaryDirectory() as cache:
        os.environ["LINEAGE_MERGE_CACHE"] = cache
        jars = bundle_jars(GREMLIN._replace(pins=None), find_java(), lambda line: None)
        text = "".join(f"{digest_of(jar)}  {jar.name}\n" for jar in sorted(jars.glob("*.jar")))
    if check:
        return int(text != GREMLIN.pins.read_text())
    GREMLIN.pins.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())

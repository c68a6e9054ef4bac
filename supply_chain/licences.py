"""Write docs/licences.md: the licence of each package, script and jar that an installation may bring.

    python -m supply_chain.licences --python ENV/bin/python           # the environment to look at
    python -m supply_chain.licences --python ENV/bin/python --check   # exit code 1 if the page would change

Started in an environment with PySpark (its Ivy reads the jars' POMs) and pip-licenses; `nox -s licences`
makes both. Exit code 1 where a licence is not among those of licences.toml.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from supply_chain.allowed import NotAllowed, spdx

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "licences.md"
_HEAD = """\
# Licences

What an installation may bring, and under which licence. Written by `nox -s licences` from what packages
and POMs say of themselves; the versions are those of the lock ([supply chain](supply_chain.md)). The
licences that may come in stand in [`licences.toml`](../supply_chain/licences.toml). lineage_merge itself is
under Apache-2.0. Nothing of this is in its wheel but dagre.
"""
_PYSPARK = """
PySpark's wheel holds jars of its own, under the licences that its `LICENSE` lists. A Kafka source adds
Spark's own connector (Apache-2.0) to them.
"""
_OWN = "lineage-merge"
_VERSION_IN_NAME = re.compile(r"^ivy-(.+)\.xml$")


class Part(NamedTuple):
    """A package or a jar: its name, version, what it says its licence is, and the extras that bring it."""

    name: str
    version: str
    says: str
    by: str = ""


def main() -> int:
    """0 if every licence is allowed and, with ``--check``, the page is as it should be."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--python", required=True, help="of the environment in which the package is installed"
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing, say whether the page would change"
    )
    arguments = parser.parse_args()
    try:
        text = page(list(packages(arguments.python)), list(jars()))
    except NotAllowed as error:
        sys.stdout.write(f"{error}\n")
        return 1
    if not arguments.check:
        PAGE.write_text(text)
    elif PAGE.read_text() != text:
        sys.stdout.write(f"{PAGE.relative_to(ROOT)} is not what is installed: nox -s licences\n")
        return 1
    return 0


def packages(python: str) -> Iterator[Part]:
    """Each installed package, as pip-licenses finds it, with the extras of ours that need it."""
    listed = _run([sys.executable, "-m", "piplicenses", "--python", python, "--from=mixed", "--format=json"])
    bringing = json.loads(_run([python, str(Path(__file__).with_name("bringing.py")), _OWN]))
    for each in json.loads(listed):
        name = re.sub(r"[-_.]+", "-", each["Name"]).lower()
        # What nobody of ours needs is the environment's own: pip, uv.
        if name != _OWN and name in bringing:
            yield Part(name, each["Version"], each["License"], ", ".join(bringing[name]))


def jars() -> Iterator[Part]:
    """The embedded Gremlin Server's jars, by their POMs as Ivy reads them; no jar is fetched."""
    from lineage_merge.infra.embedded.java import find_java
    from lineage_merge.infra.embedded.maven_jars import GREMLIN, ivy_arguments

    with tempfile.TemporaryDirectory() as folder:
        work, cache = Path(folder), Path(folder, "cache")
        _run([str(find_java()), *ivy_arguments(GREMLIN, work, cache), "-types", "none"])
        # The report of the resolution says which revisions are left of those that were looked at.
        (report,) = cache.glob("*-default.xml")
        for module in ET.parse(report).getroot().iter("module"):
            for revision in module.iter("revision"):
                if revision.get("evicted") is None:
                    organisation, name = str(module.get("organisation")), str(module.get("name"))
                    file = cache / organisation / name / f"ivy-{revision.get('name')}.xml"
                    yield Part(f"{organisation}:{name}", str(revision.get("name")), _said(file))


def page(found: list[Part], of_server: list[Part]) -> str:
    """The page. Raises `NotAllowed`, with every package whose licence may not come in."""
    import hatch_build
    from lineage_merge.infra.embedded.maven_jars import GREMLIN

    refused = [error for part in [*found, *of_server] if (error := _refused(part))]
    if refused:
        raise NotAllowed("\n".join(refused))
    lines = [
        _HEAD,
        "## Python packages\n",
        "| package | version | licence | comes with |",
        "| --- | --- | --- | --- |",
    ]
    lines += [f"| {p.name} | {p.version} | {spdx(p.name, p.says)} | {p.by} |" for p in sorted(found)]
    lines += ["\n## In the wheel\n", "| script | version | licence |", "| --- | --- | --- |"]
    lines += [
        f"| @dagrejs/dagre, with @dagrejs/graphlib | {hatch_build.VERSION} | MIT (its text lies beside it) |"
    ]
    lines += [
        f"\n## Jars of the embedded {GREMLIN.name}\n",
        "Fetched by `demo`, `serve` and `--gremlin-endpoint embedded` where they are used first.\n",
        "| jar | version | licence |",
        "| --- | --- | --- |",
        *(f"| {p.name} | {p.version} | {spdx(p.name, p.says)} |" for p in sorted(of_server)),
    ]
    return "\n".join(lines) + "\n" + _PYSPARK


def _refused(part: Part) -> str:
    try:
        spdx(part.name, part.says)
    except NotAllowed as error:
        return str(error)
    return ""


def _said(file: Path) -> str:
    """What a POM says, with what its parents do, as Ivy writes it down; empty where none does."""
    names: Iterable[str | None] = (each.get("name") for each in ET.parse(file).getroot().iter("license"))
    return " OR ".join(sorted({name for name in names if name}))


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{(done.stdout + done.stderr)[-2000:]}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())

"""Try an installed lineage-merge: the smoke test of a release.

    ENV/bin/python -I supply_chain/smoke.py --extras base     # nothing but the package
    ENV/bin/python -I supply_chain/smoke.py --extras local    # with Spark: `demo`, all of it

Uses the standard library alone. ``-I`` keeps the checkout off the path; that it is, is checked. Works in a
temporary folder. `demo` fetches the Gremlin Server's jars, unless LINEAGE_MERGE_CACHE has them.
"""

import argparse
import importlib.metadata
import importlib.util
import os
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path

_CONFIG = "dag_name: daily\nenvironment: dev\nspline: {export: nowhere}\n"
_SECONDS = 600
_NO_SPARK = "PySpark is not installed: pip install 'lineage-merge[local]'"
# Of the report, and of the answers to the questions.
_DEMO = ("near misses", "shop.marts.campaign_recipients#contact carries pii", "8. ")


def main() -> int:
    """0 if everything behaves as it should."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--extras", choices=("base", "local"), required=True, help="what is installed")
    parser.add_argument("--editable", action="store_true", help="of a checkout: its files are the right ones")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lineage-merge-smoke-") as folder:
        os.chdir(folder)
        Path("lineage.yml").write_text(_CONFIG)
        faults = [*_installed(editable=arguments.editable), *_commands(local=arguments.extras == "local")]
    for fault in faults:
        sys.stdout.write(f"{fault}\n")
    version = importlib.metadata.version("lineage-merge")
    outcome = f"FAILED, {len(faults)} faults" if faults else "OK"
    python = sys.version.split()[0]
    sys.stdout.write(f"smoke test {outcome}: lineage-merge {version} ({arguments.extras}), Python {python}\n")
    return 1 if faults else 0


def _installed(*, editable: bool) -> Iterator[str]:
    import lineage_merge

    folder = Path(lineage_merge.__file__).parent
    if not editable and not folder.is_relative_to(sysconfig.get_path("purelib")):
        yield f"imported from {folder}, not from where it is installed"
    if lineage_merge.__version__ != importlib.metadata.version("lineage-merge"):
        yield f"{lineage_merge.__version__} is not the version of its metadata"
    needed = [
        "py.typed",
        "graph_format/node.schema.json",
        "exporters/page/page.html",
    ]
    needed += [] if editable else ["sample_data/README.md"]
    for name in needed:
        if not (folder / name).is_file():
            yield f"the package has no {name}"
    for heavy in ("pyspark", "boto3", "gremlin_python"):
        if heavy in sys.modules:
            yield f"import lineage_merge imports {heavy}"


def _commands(*, local: bool) -> Iterator[str]:
    yield from _run(["--help"], 0, "Usage: lineage-merge", "demo", "upstream")
    yield from _run(["--version"], 0, importlib.metadata.version("lineage-merge"))
    yield from _run(
        ["build", "--config", "none.yml", "--out", "out"], 2, "configuration: cannot read none.yml"
    )
    yield from _run(["upstream", "x", "--folder", "."], 4, "no node or edge files")
    if local:
        yield from _run(["build", "--config", "lineage.yml", "--out", "out"], 3, "nowhere")
        yield from _run(["demo"], 0, *_DEMO)
    elif importlib.util.find_spec("pyspark"):
        yield "pyspark is installed: not the package alone"
    else:
        for words in (["build", "--config", "lineage.yml", "--out", "out"], ["validate", "."], ["demo"]):
            yield from _run(words, 1, _NO_SPARK)


def _run(words: list[str], code: int, *expected: str) -> Iterator[str]:
    program = Path(sysconfig.get_path("scripts"), "lineage-merge")
    retained = "LINEAGE_MERGE_CACHE", "LINEAGE_MERGE_MAVEN_REPOSITORY"
    environment = {
        name: value
        for name, value in os.environ.items()
        if name in retained or not name.startswith(("LINEAGE_MERGE_", "PYTHON", "SPARK_"))
    }
    # The folder of the demo's graph must not be the user's own.
    environment["XDG_DATA_HOME"] = str(Path.cwd() / "data")
    try:
        done = subprocess.run(
            [str(program), *words],
            env=environment,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        yield f"lineage-merge {' '.join(words)}: no end after {_SECONDS} s"
        return
    said = done.stdout + done.stderr
    missing = [text for text in expected if text not in said]
    if done.returncode != code or missing or "Traceback" in said:
        wanted = f"exit code {code}" + (f" and {missing}" if missing else "")
        outcome = f"exit code {done.returncode}:\n{said[-2000:]}"
        yield f"lineage-merge {' '.join(words)}: {wanted} expected, {outcome}"


if __name__ == "__main__":
    sys.exit(main())

"""The Airflow side and the command line's start need no Spark: MWAA's constraints forbid it."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import lineage_merge

PACKAGE = Path(lineage_merge.__file__).parent

BLOCKED = """
import sys
from importlib import import_module

class NoSpark:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pyspark", "airflow"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, NoSpark())
for module in sys.argv[1:]:
    import_module(module)
"""


def named_by(file: Path) -> Iterator[str]:
    """The modules of this package that a file imports, wherever in it, but for those of its own folder."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("lineage_merge"):
            for each in node.names:
                whole = f"{node.module}.{each.name}"
                is_module = PACKAGE.parent.joinpath(*whole.split(".")).with_suffix(".py").is_file()
                yield whole if is_module else node.module


# `local` runs the steps in Airflow's worker itself, for which Spark is installed.
ON_AIRFLOW = sorted(
    {
        module
        for file in PACKAGE.joinpath("airflow").glob("*.py")
        if file.stem != "local"
        for module in named_by(file)
        if not module.startswith("lineage_merge.airflow")
    }
)


COMMANDS = " ".join(f"lineage_merge.cli.{file.stem}" for file in sorted(PACKAGE.joinpath("cli").glob("*.py")))


@pytest.mark.parametrize("modules", [*ON_AIRFLOW, COMMANDS], ids=lambda modules: modules.partition(" ")[0])
def test_what_the_airflow_side_uses_imports_without_spark(modules: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED, *modules.split()],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stderr


def test_the_modules_are_found() -> None:
    assert {
        "lineage_merge.load.gremlin.remove_dag",
        "lineage_merge.load.result",
        "lineage_merge.orchestration.stages",
    } <= set(ON_AIRFLOW)


def test_columns_become_rows_without_numpy() -> None:
    """NumPy comes with none of the extras that run a merge."""
    program = """
import sys
sys.modules["numpy"] = sys.modules["pandas"] = None
import pyarrow as pa
from lineage_merge.graph_format.arrow import rows_of_table
table = pa.table({"id": ["a", "b"], "name": [None, "x"], "tags": [["t"], None], "position": [1, 2]})
print([*rows_of_table(table)])
"""
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True)
    assert done.stderr == ""
    assert (
        done.stdout
        == "[{'id': 'a', 'tags': ['t'], 'position': 1}, {'id': 'b', 'name': 'x', 'position': 2}]\n"
    )

"""TPC-H's captured plans, repeated: few large plans, where `export` writes many small ones.

Nineteen copies are as large as a capture of TPC-DS: 49 MB in 135,000 documents.
"""

from pathlib import Path
from uuid import NAMESPACE_OID, uuid5

from .export import CONFIG

CAPTURE = Path(__file__).resolve().parents[2] / "tests" / "data" / "spline" / "tpch"


def write_copies(folder: Path, copies: int) -> int:
    """Write `spline/` and a configuration below `folder`; return the number of documents.

    Each copy has plans, tables, outputs and an application of its own.
    """
    spline = folder / "spline"
    spline.mkdir(parents=True, exist_ok=True)
    plans = [line.split('"', 4)[3] for line in _lines(CAPTURE / "executionPlan.jsonl")]
    documents = 0
    for file in sorted(CAPTURE.glob("*.jsonl")):
        text = file.read_text(encoding="utf-8")
        lines = text.count("\n")
        with (spline / file.name).open("w", encoding="utf-8") as out:
            for copy in range(copies):
                out.write(_copied(text, plans, copy))
                documents += lines
    (folder / CONFIG).write_text(
        "dag_name: queries\nenvironment: dev\nspline:\n  export: spline\n", encoding="utf-8"
    )
    return documents


def _lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines()


def _copied(text: str, plans: list[str], copy: int) -> str:
    for plan in plans:
        text = text.replace(plan, str(uuid5(NAMESPACE_OID, f"{plan} {copy}")))
    for name in ("tpch.db", "/data/tpch", "tpch_queries"):
        text = text.replace(name, name.replace("tpch", f"tpch_{copy}"))
    return text

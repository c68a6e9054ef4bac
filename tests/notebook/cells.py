"""The notebook's cells and queries."""

import ast
import json
import re
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).resolve().parents[2] / "notebooks" / "lineage.ipynb"


def code_cells() -> dict[str, str]:
    """Return the source of code cells by id."""
    return {
        cell["id"]: "".join(cell["source"]) for cell in document()["cells"] if cell["cell_type"] == "code"
    }


def document() -> Any:
    """Return the parsed file."""
    return json.loads(NOTEBOOK.read_text())


def queries() -> dict[str, str]:
    """Return the queries of `%%gremlin` cells by id, with variables replaced."""
    cells = code_cells()
    names = {
        assignment.targets[0].id: ast.literal_eval(assignment.value)
        for assignment in ast.parse(cells["names"]).body
        if isinstance(assignment, ast.Assign) and isinstance(assignment.targets[0], ast.Name)
    }
    return {
        name: re.sub(r"\$\{(\w+)\}", lambda found: names[found[1]], source.partition("\n")[2])
        for name, source in cells.items()
        if source.startswith("%%gremlin")
    }

"""The notebook as a file: its cells, and the queries in them as they are sent."""

import ast
import json
import re
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).resolve().parents[2] / "notebooks" / "lineage.ipynb"


def code_cells() -> dict[str, str]:
    """The source of each code cell, by its id."""
    return {
        cell["id"]: "".join(cell["source"]) for cell in document()["cells"] if cell["cell_type"] == "code"
    }


def document() -> Any:
    """The whole file."""
    return json.loads(NOTEBOOK.read_text())


def queries() -> dict[str, str]:
    """The query of each `%%gremlin` cell by the cell's id, with the notebook's own names put in."""
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

"""The cells and queries of the notebooks."""

import ast
import json
import re
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
NOTEBOOK = _FOLDER / "lineage.ipynb"
OPENCYPHER_NOTEBOOK = _FOLDER / "lineage_opencypher.ipynb"
_MAGICS = ("%%gremlin", "%%oc")


def code_cells(notebook: Path = NOTEBOOK) -> dict[str, str]:
    """Return the source of code cells by id."""
    return {
        cell["id"]: "".join(cell["source"])
        for cell in document(notebook)["cells"]
        if cell["cell_type"] == "code"
    }


def document(notebook: Path = NOTEBOOK) -> Any:
    """Return the parsed file."""
    return json.loads(notebook.read_text())


def queries(notebook: Path = NOTEBOOK) -> dict[str, str]:
    """Return the queries of `%%gremlin` or `%%oc` cells by id, with variables replaced."""
    cells = code_cells(notebook)
    names = {
        assignment.targets[0].id: ast.literal_eval(assignment.value)
        for assignment in ast.parse(cells["names"]).body
        if isinstance(assignment, ast.Assign) and isinstance(assignment.targets[0], ast.Name)
    }
    return {
        name: re.sub(r"\$\{(\w+)\}", lambda found: names[found[1]], source.partition("\n")[2])
        for name, source in cells.items()
        if source.startswith(_MAGICS)
    }

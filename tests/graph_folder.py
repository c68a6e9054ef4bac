"""Folders with node and edge files, as `build --format jsonl` leaves them."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]


def write_folder(folder: Path, nodes: Iterable[Row], edges: Iterable[Row]) -> str:
    """Write the files; return the folder as an argument for `--folder`."""
    for kind, rows in (("nodes", nodes), ("edges", edges)):
        (folder / kind).mkdir(parents=True)
        held = ({key: value for key, value in row.items() if value is not None} for row in rows)
        text = "".join(json.dumps(row) + "\n" for row in held)
        (folder / kind / "part-00000.json").write_text(text, encoding="utf-8")
    return str(folder)

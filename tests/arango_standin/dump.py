"""Exported collections from a folder: `name.jsonl` (a document a line), `name.json` (an array, or lines)."""

import json
from pathlib import Path
from typing import Any


def read_collection(path: Path) -> list[dict[str, Any]]:
    """The documents of one file; a `.json` file may hold an array or, as some tools write it, lines."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json" and text.lstrip().startswith("["):
        documents = json.loads(text)
    else:
        documents = [json.loads(line) for line in text.splitlines() if line.strip()]
    if not all(isinstance(document, dict) for document in documents):
        raise ValueError(f"{path.name}: every document must be an object")
    return list(documents)


def read_folder(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Collections by name; an empty file is an empty collection."""
    files = sorted(path for path in folder.iterdir() if path.suffix in {".json", ".jsonl"})
    return {path.stem: read_collection(path) for path in files}

"""Compile the project and its pull requests with dbt, and write what differs to `manifests/`.

``python -m tests.review.dbt_pull_requests.compile_manifests DBT``, where DBT is the program of a dbt with
duckdb. `base.json` is the manifest without macros and documentation; the others have the entries that a pull
request changes (null: removed).
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.review.dbt_pull_requests.project import FILES, PULL_REQUESTS

FOLDER = Path(__file__).parent / "manifests"
_SECTIONS = ("nodes", "sources", "exposures")
# Large, or different each time.
_OMITTED = {
    "created_at",
    "raw_code",
    "doc_blocks",
    "unrendered_config",
    "build_path",
    "root_path",
    "checksum",
}
_METADATA = ("dbt_schema_version", "dbt_version", "project_name", "adapter_type")


def compiled(dbt: str, files: Mapping[str, str]) -> dict[str, Any]:
    """Return the manifest of a project, without what a review does not read."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        command = [dbt, "--quiet", "compile", "--project-dir", folder, "--profiles-dir", folder]
        subprocess.run(command, cwd=folder, check=True)
        document = json.loads(Path(folder, "target", "manifest.json").read_text())
    sections = {
        section: {
            unique_id: {key: value for key, value in entry.items() if key not in _OMITTED}
            for unique_id, entry in document[section].items()
        }
        for section in _SECTIONS
    }
    return {"metadata": {key: document["metadata"][key] for key in _METADATA}, **sections}


def difference(base: Mapping[str, Any], head: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries of `head` that are not those of `base`, by section."""
    found = {}
    for section in _SECTIONS:
        ids = sorted({*base[section], *head[section]})
        found[section] = {
            each: head[section].get(each)
            for each in ids
            if head[section].get(each) != base[section].get(each)
        }
    return found


def main(dbt: str) -> None:
    """Write all manifests."""
    FOLDER.mkdir(exist_ok=True)
    base = compiled(dbt, FILES)
    _write("base", base)
    for name, change in PULL_REQUESTS.items():
        _write(name, difference(base, compiled(dbt, change.applied(FILES))))


def _write(name: str, document: Mapping[str, Any]) -> None:
    (FOLDER / f"{name}.json").write_text(json.dumps(document, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])

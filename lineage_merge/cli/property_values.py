"""Values of a property (tags, owners) for shell completion, read within a time limit."""

import gzip
import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from lineage_merge.cli.graph_ids import Location, reader_of, run_until
from lineage_merge.cli.name_forms import MAX_NAMES

_LINES_PER_CHECK = 500
# A value of a property in a line of GraphSON.
_VALUE = re.compile(r'"value":\s*("(?:[^"\\]|\\.)*")')


def read_values(location: Location, key: str, typed: str, deadline: float) -> list[str]:
    """Return values of the property that begin with `typed`, sorted: those read until `deadline`."""
    if location.gremlin is not None:
        found: Iterable[str] = _of_server(location.gremlin, key, typed, deadline)
    elif location.folder:
        found = _until(deadline, _of_folder(location.folder, key))
    else:
        found = _until(deadline, _of_graph_file(location.graph_file, key))
    return sorted({each for each in found if each and each.startswith(typed)})[:MAX_NAMES]


def _until(deadline: float, values: Iterator[str]) -> Iterator[str]:
    """Yield values until the deadline. An empty value stands for a row without the property."""
    for number, value in enumerate(values):
        if number % _LINES_PER_CHECK == 0 and time.monotonic() > deadline:
            return
        yield value


def _of_folder(folder: Path, key: str) -> Iterator[str]:
    for file in sorted((folder / "nodes").iterdir()):
        if file.name.startswith((".", "_")):
            continue
        if file.suffix == ".parquet":
            from pyarrow import parquet

            for values in parquet.read_table(file, columns=[key])[key].to_pylist():
                yield from values or ("",)
        else:
            with gzip.open(file, "rb") if file.suffix == ".gz" else file.open("rb") as lines:
                for row in map(json.loads, lines):
                    yield from row.get(key) or ("",)


def _of_graph_file(file: Path | None, key: str) -> Iterator[str]:
    if file is None:
        return
    start = re.compile(rf'"{re.escape(key)}":\s*\[')
    with file.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            found = start.search(line)
            if found is None:
                yield ""
                continue
            end = line.find("]", found.end())
            for value in _VALUE.finditer(line, found.end(), end if end > 0 else len(line)):
                yield json.loads(value[1])


def _of_server(gremlin: Mapping[str, Any], key: str, typed: str, deadline: float) -> list[str]:
    found: list[str] = []
    run_until(deadline, lambda: found.extend(_queried(gremlin, key, typed)))
    return list(found)


def _queried(gremlin: Mapping[str, Any], key: str, typed: str) -> list[str]:
    from gremlin_python.process.graph_traversal import __
    from gremlin_python.process.traversal import TextP

    from lineage_merge.load.gremlin.executor import open_executor

    def traversal(g: Any) -> Any:
        if not typed:
            return g.V().has(key).values(key).dedup().limit(MAX_NAMES)
        begins = TextP.starting_with(typed)
        return g.V().has(key, begins).values(key).where(__.is_(begins)).dedup().limit(MAX_NAMES)

    with open_executor(reader_of(gremlin)) as execute:
        return execute(traversal)

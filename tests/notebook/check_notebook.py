"""Run the notebooks with graph-notebook, in an environment of its own, on the sample graph.

    python -m tests.notebook.check_notebook

Started in an environment with the extra `test`, which merges the sample into a Gremlin Server, and its
Neptune CSV into a Neo4j behind an endpoint like Neptune's, for `lineage_opencypher.ipynb`. What
graph-notebook needs (it pins gremlinpython and IPython) is installed apart: under
``LINEAGE_MERGE_NOTEBOOK_CACHE``, where the next run finds it, else in a temporary folder. Says in the
last line how it went. With the argument ``install`` only the environment is made.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path
from typing import Any

from lineage_merge.graph_format.schema import NODE_LABELS
from tests.command_line import in_process
from tests.neo4j_server import csv_records, neo4j_server, put_records
from tests.neptune_opencypher import opencypher_endpoint
from tests.notebook.answers import ANSWERS, expected, rows, short
from tests.notebook.cells import NOTEBOOK, OPENCYPHER_NOTEBOOK
from tests.sample_graph import sample_server

HERE = Path(__file__).resolve().parent
CACHE = "LINEAGE_MERGE_NOTEBOOK_CACHE"
# graph-notebook and all that it brings, as it was tried: what it leaves open changes under it.
CONSTRAINTS = HERE / "constraints.txt"
WANTED = "graph-notebook"
# A cell's picture, and what stands on its edges.
PICTURES = ("pipeline", "upstream", "columns", "impact")


def main() -> int:
    """Return 0 if all cells show the expected results."""
    started = time.monotonic()
    if sys.argv[1:] == ["install"]:
        installed(Path(os.environ[CACHE]))
        return 0
    with tempfile.TemporaryDirectory(prefix="lineage-merge-notebook-") as work:
        try:
            python = installed(Path(os.environ.get(CACHE) or work))
            ready = time.monotonic()
            facts = executed(python, Path(work))
        except subprocess.CalledProcessError as error:
            sys.stdout.write(f"{error.stdout or ''}\nFAILED: {' '.join(map(str, error.cmd))}\n")
            return 1
    problems = [f"{notebook}: {problem}" for notebook, found in facts.items() for problem in wrong(found)]
    for problem in problems:
        sys.stdout.write(f"{problem}\n")
    seconds = f"installing {ready - started:.0f} s, all {time.monotonic() - started:.0f} s"
    (version,) = re.findall(rf"^{WANTED}==.+$", CONSTRAINTS.read_text(), re.MULTILINE)
    outcome = f"FAILED, {len(problems)} faults:" if problems else "OK:"
    sys.stdout.write(
        f"{outcome} {len(ANSWERS)} queries of {len(facts)} notebooks, with {version} ({seconds})\n"
    )
    return 1 if problems else 0


def installed(cache: Path) -> Path:
    """Return the Python of a cached environment with graph-notebook."""
    digest = hashlib.sha256(CONSTRAINTS.read_bytes() + sys.version.encode()).hexdigest()[:12]
    environment = cache / f"notebook-{digest}"
    python = environment / "bin" / "python"
    if not (environment / "complete").exists():
        venv.create(environment, with_pip=True, clear=True)
        _run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "uv"])
        uv = [str(environment / "bin" / "uv"), "pip", "install", "--quiet", "--python", str(python)]
        _run([*uv, "--constraint", str(CONSTRAINTS), WANTED])
        (environment / "complete").touch()
    return python


def executed(python: Path, work: Path) -> dict[str, dict[str, Any]]:
    """Return the outputs of the cells by id, by the notebook's name."""
    with sample_server() as url:
        target = ("--to", "neptune-csv", "--out", work / "csv", "--gremlin-endpoint", url)
        outcome = in_process("export", *target)
        assert outcome.code == 0, outcome
        found = {NOTEBOOK.name: _cells(python, work, NOTEBOOK, url)}
    with neo4j_server(work) as driver, opencypher_endpoint(driver) as url:
        vertices, edges = (csv_records(work / "csv", kind) for kind in ("vertices", "edges"))
        put_records(driver, vertices, edges, min)
        found[OPENCYPHER_NOTEBOOK.name] = _cells(python, work, OPENCYPHER_NOTEBOOK, url)
    return found


def _cells(python: Path, work: Path, notebook: Path, url: str) -> dict[str, Any]:
    facts = work / "facts.json"
    variables = {"JUPYTER_PLATFORM_DIRS": "1", "IPYTHONDIR": str(work / "ipython"), "HOME": str(work)}
    _run([str(python), str(HERE / "execute.py"), str(notebook), url, str(facts)], **variables)
    found: dict[str, Any] = json.loads(facts.read_text())
    return found


def wrong(facts: dict[str, Any]) -> Any:
    """Yield the differences, a line each."""
    labels = {label.name for label in NODE_LABELS}
    if "lineage.cluster-ro-abc" not in facts["connect"]["text"]:
        yield "connect: graph-notebook did not take the configuration"
    if "tickit_daily: merged " not in facts["freshness-hours"]["text"]:
        yield f"freshness-hours: {facts['freshness-hours']['text']}"
    for cell in ANSWERS:
        shown = facts[cell]
        found = rows(map(_as_in_gremlin, shown.get("rows", ())))
        if found != expected(cell):
            yield f"{cell}: rows {sorted(found, key=str)}"
        for row in expected(cell):
            # Names come shortened in the answers: their ends stand in what the cell shows.
            for value in row:
                if str(value).rpartition("/")[2].rpartition("#")[2] not in shown["text"]:
                    yield f"{cell}: {value} does not stand in its table"
        wanted = ["Console", "Graph", "Query Metadata"] if cell in PICTURES else ["Console", "Query Metadata"]
        # Of openCypher, the answer is also shown as it came.
        if [title for title in shown["titles"] if title != "JSON"] != wanted:
            yield f"{cell}: tabs {shown['titles']}"
    for cell in PICTURES:
        shown = facts[cell]
        for node in shown["nodes"]:
            whole = short(node["id"]).rpartition("#")[2].rpartition("/")[2].rpartition(".")[2]
            if node["label"] != whole:
                yield f"{cell}: {node['id']} is called {node['label']}"
            properties = node["properties"]
            label = properties["T.label"] if "T.label" in properties else "".join(properties["~labels"])
            if node["group"] != label or node["group"] not in labels:
                yield f"{cell}: {node['id']} has the colour of {node['group']}"
            if node["group"] not in shown["options"]["groups"]:
                yield f"{cell}: no colour for {node['group']}"
        drawn = {(short(edge["source"]), edge["label"], short(edge["target"])) for edge in shown["edges"]}
        if drawn != ANSWERS[cell]:
            yield f"{cell}: drawn {sorted(drawn)}"


def _as_in_gremlin(row: Any) -> Any:
    """Return source, edge and target of a row in openCypher as those of a path; other rows are unchanged."""
    if not isinstance(row, dict) or not all(isinstance(value, dict) for value in row.values()):
        return row
    source, edge, target = row.values()
    ends = {"Direction.OUT": {"T.id": edge["~start"]}, "Direction.IN": {"T.id": edge["~end"]}}
    return [{"T.id": source["~id"]}, edge["~properties"] | ends, {"T.id": target["~id"]}]


def _run(command: list[str], **variables: str) -> None:
    """Run a command. Raises CalledProcessError with its output."""
    subprocess.run(
        command,
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
        timeout=600,
    )


if __name__ == "__main__":
    sys.exit(main())

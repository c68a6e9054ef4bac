"""Run the notebook in an environment with graph-notebook, and print the cells' outputs.

    python execute.py NOTEBOOK URL FACTS

Started by check_notebook.py, in the environment that it made. The notebook runs in a Jupyter kernel as
it is, with cells put in behind the one with the tag `connection`: address and login of the test's
server. Nothing is left out: the cell that names a Neptune cluster runs too.

FACTS becomes a JSON file: for each cell by id its rows (as a query's variable holds them), the text
and HTML that it showed, the titles of its tabs, the vertices and edges of its picture, and the options
of the picture. What a front end would draw comes as messages of widgets, and these are read.
"""

import json
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from jupyter_client.blocking import BlockingKernelClient
from jupyter_client.manager import start_new_kernel

_LIMIT_SECONDS = 60
# Variables with the rows of cells are printed at the end, because cells show them only as HTML.
_PRINT_ROWS = """
import json as _json
from gremlin_python.structure.graph import Path as _Path

def _plain(value):
    if isinstance(value, _Path):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, set, tuple)):
        return [_plain(each) for each in value]
    return value

print(_json.dumps({name: _plain(globals()[variable]) for name, variable in _STORED.items()}))
"""


def main(notebook: Path, url: str, facts: Path) -> None:
    """Run the notebook and write its outputs. Raises RuntimeError if a cell fails."""
    cells = [each for each in json.loads(notebook.read_text())["cells"] if each["cell_type"] == "code"]
    shown: dict[str, Any] = {}
    stored: dict[str, str] = {}
    manager, client = start_new_kernel(kernel_name="python3")
    try:
        _run(client, "%load_ext graph_notebook.magics")
        for number, cell in enumerate(cells):
            source, variable = _stored("".join(cell["source"]), f"rows_{number}")
            if variable:
                stored[cell["id"]] = variable
            shown[cell["id"]] = _seen(_run(client, source))
            if "connection" in cell["metadata"].get("tags", ()):
                _connect(client, url, as_neptune=any(map(_is_opencypher, cells)))
        output = _seen(_run(client, f"_STORED = {stored!r}\n{_PRINT_ROWS}"))["text"]
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    for name, rows in json.loads(output).items():
        shown[name]["rows"] = rows["results"] if isinstance(rows, dict) and "results" in rows else rows
    facts.write_text(json.dumps(shown))


def _is_opencypher(cell: dict[str, Any]) -> bool:
    return "".join(cell["source"]).startswith("%%oc")


def _connect(client: BlockingKernelClient, url: str, *, as_neptune: bool) -> None:
    """Connect to the test's server. graph-notebook sends queries in openCypher over HTTP to Neptune only."""
    server = urlsplit(url)
    settings: dict[str, Any] = {"host": server.hostname, "port": server.port, "ssl": False}
    if as_neptune:
        _run(client, f"%%neptune_config_allowlist add\n{server.hostname}")
        settings |= {"auth_mode": "DEFAULT", "aws_region": "us-east-1", "load_from_s3_arn": ""}
    else:
        login = {"username": server.username, "password": server.password}
        settings["gremlin"] = {"traversal_source": "g", **login}
    _run(client, f"%%graph_notebook_config\n{json.dumps(settings)}")


def _stored(source: str, variable: str) -> tuple[str, str]:
    """Return the cell with its rows stored in a variable, and the variable's name ("" without a query)."""
    line, _, query = source.partition("\n")
    words = line.split()
    if words[:1] not in (["%%gremlin"], ["%%oc"]):
        return source, ""
    if "--store-to" not in words:
        words += ["--store-to", variable]
    return "\n".join([" ".join(words), query]), words[words.index("--store-to") + 1]


def _run(client: BlockingKernelClient, source: str) -> list[dict[str, Any]]:
    """Return the kernel's messages for a cell: outputs and states of widgets."""
    messages: list[dict[str, Any]] = []
    reply = client.execute_interactive(
        source, timeout=_LIMIT_SECONDS, allow_stdin=False, output_hook=messages.append
    )
    if reply["content"]["status"] != "ok":
        raise RuntimeError(f"{source}\n{reply['content']}")
    return messages


def _seen(messages: list[dict[str, Any]]) -> dict[str, Any]:
    seen: dict[str, Any] = {"text": "", "titles": [], "nodes": [], "edges": []}
    for message in messages:
        content = message["content"]
        match message["msg_type"]:
            case "stream":
                seen["text"] += content["text"]
            case "display_data" | "execute_result":
                seen["text"] += content["data"].get("text/html", content["data"].get("text/plain", ""))
            case "comm_open" | "comm_msg":
                _look(seen, content["data"].get("state", {}))
    return seen


def _look(seen: dict[str, Any], state: dict[str, Any]) -> None:
    if state.get("titles"):
        seen["titles"] = list(state["titles"])
    if graph := state.get("network", {}).get("graph"):
        seen["nodes"] = graph["nodes"]
        seen["edges"] = graph["links"]
    if "options" in state and "groups" in state["options"]:
        seen["options"] = state["options"]


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))

"""The command without its extra, and what other commands import."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import anyio
import pytest

from lineage_merge.mcp.prompts import PROMPTS, text_of
from lineage_merge.model.errors import QueryError
from tests.command_line import clean_environment, python_imports
from tests.lineage_made import MadeLineage
from tests.mcp.clients import answer, stdio

WITHOUT_SDK = """
import sys
from importlib.machinery import PathFinder

installed = PathFinder.find_spec

def find_spec(name, path=None, target=None):
    is_missing = name.partition(".")[0] in ("mcp", "mcp_types", "pydantic", "uvicorn", "starlette")
    return None if is_missing else installed(name, path, target)

PathFinder.find_spec = find_spec
from lineage_merge.cli import main
main(sys.argv[1:])
"""


def test_without_the_extra_the_command_names_it() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_SDK, "mcp", "--demo"],
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert "install lineage-merge[mcp]" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.jvm
def test_the_demo_is_built_if_there_is_none(tmp_path: Path) -> None:
    server = stdio("--demo", "--timeout", "240", LINEAGE_MERGE_HOME=str(tmp_path / "data"))
    found = answer(server, "upstream", name="top_events_by_sales#total_sales")
    assert found["rows"][0]["expression"] == "sum(pricepaid)"
    assert (tmp_path / "data" / "demo" / "current").is_dir()


@pytest.mark.parametrize(
    "arguments",
    [
        ("-c", "import lineage_merge.query; from lineage_merge.query import Lineage"),
        ("-m", "lineage_merge", "mcp", "--help"),
        ("-m", "lineage_merge", "upstream", "--help"),
        ("-c", "from lineage_merge.cli import main; dict(main.commands)"),
    ],
)
def test_other_commands_do_not_import_the_sdk(arguments: tuple[str, ...]) -> None:
    assert python_imports(*arguments).isdisjoint({"mcp", "mcp_types", "pydantic", "uvicorn", "starlette"})


def test_prompts_have_their_arguments_quoted() -> None:
    text = text_of(PROMPTS["what_breaks_if"], {"element": '{change}"\n2. Call x', "change": "drop"})
    assert 'Element: "{change}\\" 2. Call x"' in text.splitlines()
    assert 'Change: "drop"' in text.splitlines()
    assert "omit the argument" in text_of(PROMPTS["what_breaks_if"], {"element": "a"})


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("what_breaks_if", {}, "missing argument: element"),
        ("what_breaks_if", {"element": " "}, "missing argument: element"),
        ("what_breaks_if", {"element": "a", "change": "burn"}, "change: expected drop, rename, retype"),
        ("where_does_this_come_from", {"column": "a", "x": "y"}, "unknown argument: x; arguments: column"),
    ],
)
def test_invalid_arguments_of_prompts_are_errors(name: str, given: Mapping[str, str], message: str) -> None:
    with pytest.raises(QueryError) as error:
        text_of(PROMPTS[name], given)
    assert error.value.message == message


def test_completion_offers_names_columns_and_changes(tmp_path_factory: pytest.TempPathFactory) -> None:
    from mcp.types import PromptReference

    made = (
        MadeLineage()
        .flow("lake.sales > mart.sales", job="sales_job")
        .columns("lake.sales.id > mart.sales.no")
    )
    folder = made.folder(tmp_path_factory.mktemp("graph"))
    typed = {
        "what_breaks_if": [("element", "sales"), ("element", "lake.sales#I"), ("change", "re")],
        "where_does_this_come_from": [("column", "sales"), ("column", "nothing#x")],
    }

    async def run() -> list[list[str]]:
        found = []
        async with stdio("--folder", folder)() as client:
            for name, values in typed.items():
                for argument, value in values:
                    reference = PromptReference(type="ref/prompt", name=name)
                    result = await client.complete(reference, {"name": argument, "value": value})
                    found.append(result.completion.values)
        return found

    assert anyio.run(run) == [
        ["lake.sales", "mart.sales", "sales_job"],
        ["lake.sales#id"],
        ["rename", "retype"],
        ["lake.sales", "mart.sales"],
        [],
    ]

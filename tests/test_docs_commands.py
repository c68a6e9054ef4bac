"""Commands in the documents are valid; those that need no server are run as written."""

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from botocore import xform_name
from botocore.session import Session
from gremlin_python.process.graph_traversal import GraphTraversalSource

from lineage_merge.cli import main
from lineage_merge.cli.sample import config_file
from lineage_merge.model.version import __version__
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources.registry import SOURCES
from tests.command_line import in_process

REPOSITORY = Path(__file__).parents[1]
DOCUMENTS = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
PROGRAM = "lineage-merge"


class Block(NamedTuple):
    """A fenced block and its location."""

    document: str
    line: int
    language: str
    text: str


class Command(NamedTuple):
    """A lineage-merge command in a document, after its variables."""

    place: str
    words: tuple[str, ...]


def blocks(file: Path) -> Iterator[Block]:
    text = file.read_text()
    for found in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        yield Block(file.name, text.count("\n", 0, found.start()) + 1, found[1], found[2])


def typed_lines() -> Iterator[tuple[str, list[str]]]:
    """Yield commands with their locations and words, without preceding variables."""
    for file in DOCUMENTS:
        for block in blocks(file):
            if block.language not in ("sh", "bash", "console"):
                continue
            text = block.text.replace("\\\n", " ")
            if block.language == "console":  # with the output
                text = "\n".join(re.findall(r"^\$ (.+)$", text, re.MULTILINE))
            for part in re.split(r"\n|&&|\|\|?|;", text):
                words = shlex.split(part, comments=True)
                while words and ("=" in words[0] or words[0] == "opentelemetry-instrument"):
                    words.pop(0)
                if words:
                    yield f"{block.document}:{block.line}", words


def commands() -> Iterator[Command]:
    for place, words in typed_lines():
        if Path(words[0]).name == PROGRAM:
            yield Command(place, tuple(words[1:]))


FOUND = sorted(set(commands()))


def test_the_documents_have_commands() -> None:
    assert {"doctor", "run", "load", "build", "report", "remove", "validate", "demo", "publish"} <= {
        each.words[0] for each in FOUND
    }


@pytest.mark.parametrize("command", FOUND, ids=lambda each: f"{each.place} {' '.join(each.words)[:60]}")
def test_commands_have_valid_flags(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name, *rest = command.words
    monkeypatch.chdir(tmp_path)
    for word in rest:
        if word.endswith(".tar.gz"):  # a flag that wants a file which is there
            (tmp_path / word).touch()

    main.commands[name].make_context(name, list(rest))


AWS = [Command(place, tuple(words[1:])) for place, words in typed_lines() if words[0] == "aws"]


@pytest.mark.parametrize("command", AWS, ids=lambda each: f"{each.place} {' '.join(each.words[:2])}")
def test_aws_commands_match_the_api(command: Command) -> None:
    service, operation, *rest = command.words
    flags = {word.removeprefix("--") for word in rest if word.startswith("--")}
    if (service, operation) == ("cloudformation", "deploy"):
        # A command of the tool's own, over several calls.
        assert flags == {"stack-name", "template-file", "capabilities", "parameter-overrides"}
        return
    model = Session().get_service_model(service.removesuffix("api"))
    names = {xform_name(name, "-"): name for name in model.operation_names}
    shape = model.operation_model(names[operation]).input_shape
    assert shape is not None
    members = {xform_name(name, "-"): name for name in shape.members}
    assert flags <= set(members)
    given = {members[flag] for flag in flags}
    assert set(shape.required_members) <= given


TEMPLATES = sorted((REPOSITORY / "deploy" / "cloudformation").glob("*.yaml"))


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda file: file.stem)
def test_the_stack_command_has_all_required_parameters(template: Path) -> None:
    named = str(template.relative_to(REPOSITORY))
    (deploy,) = [each.words for each in AWS if each.words[1] == "deploy" and named in each.words]
    given = {word.partition("=")[0] for word in deploy if re.match(r"[A-Z]\w+=", word)}
    text = template.read_text()
    declared = text[text.index("\nParameters:") : text.index("\nConditions:")]
    parameters = dict(re.findall(r"^  (\w+):\n((?:    .*\n)+)", declared, re.MULTILINE))

    assert given <= set(parameters)
    assert {name for name, about in parameters.items() if "Default:" not in about} == given


def settings() -> Iterator[tuple[str, str]]:
    """Yield blocks of YAML that begin with a key of the configuration."""
    keys = {key.path[0] for key in CONFIGURATION.settable}
    for file in DOCUMENTS:
        for block in blocks(file):
            if block.language == "yaml" and block.text.partition(":")[0] in keys:
                yield f"{block.document}:{block.line}", block.text


@pytest.mark.parametrize(("place", "text"), sorted(settings()))
def test_a_configuration_in_the_documents_is_accepted(place: str, text: str, tmp_path: Path) -> None:
    whole = text if "dag_name:" in text else f"dag_name: daily\nenvironment: dev\n{text}"
    (tmp_path / "lineage_merge.yml").write_text(whole)

    CONFIGURATION.load(tmp_path / "lineage_merge.yml", environ={}, needs_source=False)


LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")


@pytest.mark.parametrize("file", DOCUMENTS, ids=lambda file: file.name)
def test_links_inside_the_repository_resolve(file: Path) -> None:
    lost = []
    for path, anchor in LINK.findall(file.read_text()):
        target = file.parent / path if path else file
        titles = re.findall(r"^#+ (.+)$", target.read_text(), re.MULTILINE) if target.suffix == ".md" else []
        anchors = {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles}
        if not target.exists() or (anchor and anchor not in anchors):
            lost.append(f"{path}#{anchor}")
    assert lost == []


@pytest.mark.jvm
@pytest.mark.usefixtures("spark")
def test_the_runbook_runs_as_written(gremlin: GraphTraversalSource, gremlin_url: str, tmp_path: Path) -> None:
    shutil.copytree(config_file().parent, tmp_path, dirs_exist_ok=True)
    file = tmp_path / "lineage_merge.yml"
    settings = yaml.safe_load(file.read_text()) | {"gremlin": {"endpoint": gremlin_url}}
    del settings["spline"]  # dbt alone is enough here, and quicker
    file.write_text(yaml.safe_dump(settings))
    # The graph of the test stands for the embedded one; and Spark runs already, in another folder.
    here = {"embedded": gremlin_url, "lineage_merge.yml": str(file), "lineage": str(tmp_path / "lineage")}

    def typed(start: str) -> None:
        """Run the commands of operations.md that begin with these words, in order."""
        wanted = [
            each.words
            for each in commands()
            if each.place.startswith("operations.md") and " ".join(each.words).startswith(start)
        ]
        assert wanted, start
        for words in wanted:
            outcome = in_process(*(here.get(word, word) for word in words))
            assert outcome.code == 0, (words, outcome)

    for start in ("build", "validate", "load", "doctor", "report"):
        typed(start)
    assert gremlin.V().has_label("job").count().next() > 0
    typed("remove")
    assert gremlin.V().has_label("job").count().next() == 0


def test_each_source_is_in_the_table_of_inputs_with_a_page() -> None:
    table = (REPOSITORY / "docs/formats.md").read_text().partition("## Inputs")[2].partition("\n## ")[0]
    for source in SOURCES:
        row = re.search(rf"^\| {re.escape(source.name)}\b.*\]\((\w+\.md)\) \|$", table, re.MULTILINE)
        assert row, source.name
        assert (REPOSITORY / "docs" / row[1]).is_file()


def test_no_command_takes_the_package_from_an_index() -> None:
    """It is on none: another package of this name could be."""
    texts = [
        *DOCUMENTS,
        *(REPOSITORY / "deploy" / "ci").rglob("*.yml"),
        *(REPOSITORY / "lineage_merge").rglob("*.py"),
    ]
    installed = [
        (file.name, line.strip())
        for file in texts
        for line in file.read_text().splitlines()
        if re.search(r"pip install (?!-)[^&`]*\blineage-merge(?![^`]* @ )", line)
    ]
    assert installed == []


def test_wheels_in_the_documents_have_the_version_of_the_package() -> None:
    named = {
        name for file in DOCUMENTS for name in re.findall(r"lineage_merge-(\d[\w.]*)-py3", file.read_text())
    }
    assert named == {__version__}

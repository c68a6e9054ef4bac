"""The documentation site: no warnings, no broken links, nothing external."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import jsonschema
import pytest
from playwright.sync_api import Page, expect, sync_playwright

from lineage_merge.cli import main
from lineage_merge.cli.help_topics import ENVIRONMENT_VARIABLES
from lineage_merge.graph_format import schema
from lineage_merge.model import errors
from lineage_merge.orchestration.configuration import CONFIGURATION
from tests.page import chromium

REPOSITORY = Path(__file__).parents[1]


@dataclass
class Seen(HTMLParser):
    """Anchors, links and requests of a page."""

    ids: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    classes: set[str] = field(default_factory=set)
    rows: list[list[str]] = field(default_factory=list)
    text: str = ""
    description: str = ""

    def __post_init__(self) -> None:
        super().__init__()
        self._in_cell = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.ids |= {given[name] for name in ("id", "name") if name in given}
        self.classes |= set(given.get("class", "").split())
        if tag == "tr":
            self.rows.append([])
        self._in_cell = tag in ("td", "th") or (self._in_cell and tag not in ("tr", "table"))
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if given.get("name") == "description":
            self.description = given["content"]
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag in ("img", "script", "iframe") and "src" in given:
            self.loaded.append(given["src"])
        elif tag == "link" and given.get("rel") not in ("canonical", "next", "prev"):
            self.loaded.append(given["href"])

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._in_cell:
            self.rows[-1][-1] += data

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self._in_cell = False


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site strictly, without warnings."""
    folder = tmp_path_factory.mktemp("site")
    # Disables the theme's advertisement of its successor at each build.
    variables = os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=REPOSITORY,
        env=variables,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> Mapping[str, Seen]:
    """Return the pages by path."""
    found = {}
    for file in site.rglob("*.html"):
        found[file.relative_to(site).as_posix()] = seen = Seen()
        seen.feed(file.read_text())
    return found


def test_links_inside_the_site_resolve(site: Path, pages: Mapping[str, Seen]) -> None:
    lost = []
    for name, page in pages.items():
        if name == "404.html":  # its addresses begin at the root of the site
            continue
        for link in [*page.links, *page.loaded]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = site / name if not parts.path else (site / name).parent / unquote(parts.path)
            known = pages.get(target.resolve().relative_to(site.resolve()).as_posix())
            if not target.exists() or (parts.fragment and known and unquote(parts.fragment) not in known.ids):
                lost.append((name, link))
    assert lost == []


def test_pages_load_nothing_external(site: Path, pages: Mapping[str, Seen]) -> None:
    foreign = {each for page in pages.values() for each in page.loaded if urlsplit(each).netloc}
    styles = [file for file in site.rglob("*.css") if "url(http" in file.read_text()]

    assert foreign == set()
    assert styles == []
    # The theme would fetch Mermaid from a CDN for a page that has a diagram.
    assert not any("mermaid" in page.classes for page in pages.values())


def test_each_command_has_a_page_with_its_options(pages: Mapping[str, Seen]) -> None:
    written = {name.removeprefix("commands/").removesuffix(".html") for name in pages if "commands/" in name}
    assert written == {*main.commands}
    text = pages["commands/upstream.html"].text
    assert "--format [tree|table|csv|json|mermaid|dot|graphml|svg]" in text
    assert "lineage-merge upstream dev.public.sales --environment dev --depth 2 --columns" in text
    assert "--allow-retire" in pages["commands/run.html"].text


def test_commands_are_listed_under_the_headings_of_the_help(pages: Mapping[str, Seen]) -> None:
    page = pages["commands.html"]

    assert {title.lower() for title, _ in main.group_by_heading()} <= page.ids
    assert {f"commands/{name}.html" for name in main.commands} <= set(page.links)


def test_exit_codes_are_rendered(pages: Mapping[str, Seen]) -> None:
    declared = {
        each.exit_code
        for each in vars(errors).values()
        if isinstance(each, type) and issubclass(each, errors.LineageMergeError)
    }
    rows = set(re.findall(r"^\s*(\d+)\s*$", pages["exit_codes.html"].text, re.MULTILINE))

    assert {str(each) for each in declared} <= rows
    links = set(pages["exit_codes.html"].links)
    assert {"operations.html#failed-loads", "operations.html#refused-retirement"} <= links


def test_environment_variables_are_rendered(pages: Mapping[str, Seen]) -> None:
    text = pages["configuration.html"].text

    for name, meaning in ENVIRONMENT_VARIABLES:
        assert name in text
        assert meaning in text


def test_graph_model_is_rendered(pages: Mapping[str, Seen]) -> None:
    model = pages["graph.html"].text
    declared = [
        *((each.name, each.description) for each in (*schema.NODE_LABELS, *schema.EDGE_LABELS)),
        *((each.name, each.description) for each in (*schema.NODE_PROPERTIES, *schema.EDGE_PROPERTIES)),
    ]

    assert [name for name, description in declared if description not in model] == []


def examples(key: str, declared: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any], Any]]:
    """Yield the examples of a key and of the keys of its items."""
    for value in declared.get("examples", [None]):
        yield key, declared, value
    for name, inner in declared.get("items", {}).get("properties", {}).items():
        yield from examples(f"{key}[].{name}", inner)


EXAMPLES = [each for key in CONFIGURATION.settable for each in examples(key.dotted, key.schema)]


def test_each_key_has_type_default_and_example(pages: Mapping[str, Seen]) -> None:
    settings = pages["configuration.html"].text

    assert [key.dotted for key in CONFIGURATION.settable if key.schema["description"] not in settings] == []
    assert [key for key, declared, value in EXAMPLES if value is None and "enum" not in declared] == []
    assert "dag_name: tickit_daily" in settings  # the example of a whole file

    expected = {
        "spline.lookback": "30d",
        "spline.retire_after": "3",
        "spline.arango.username": "root",
        "gremlin.retry_seconds": "300",
        "gremlin.bulk.min_changes": "50000",
        "dbt[].manifest": "required",
        "load.verify": "false",
    }
    assert {key: default for key, default in defaults(pages).items() if key in expected} == expected


def defaults(pages: Mapping[str, Seen]) -> dict[str, str]:
    """Return the third cell of each row of the tables of keys."""
    return {row[0]: row[2] for row in pages["configuration.html"].rows if len(row) == 4}


@pytest.mark.parametrize(
    ("declared", "value"),
    [pytest.param(declared, value, id=key) for key, declared, value in EXAMPLES if value is not None],
)
def test_examples_of_keys_are_valid(declared: Mapping[str, Any], value: object) -> None:
    jsonschema.validate(value, declared)


@pytest.fixture(scope="module")
def opened(site: Path) -> Iterator[Page]:
    """A page of a browser without a network, in which the site is opened from the disk."""
    program = chromium.program()
    if program is None:
        pytest.skip("no Chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page()
        yield page
        browser.close()


@pytest.mark.parametrize(
    "name", ["commands/upstream.html", pytest.param("index.html", marks=pytest.mark.nightly)]
)
def test_search_works_in_files_opened_from_a_disk(opened: Page, site: Path, name: str) -> None:
    requested = []
    opened.on("request", lambda request: requested.append(request.url))
    opened.goto((site / name).as_uri())
    opened.locator("input.md-search__input").click()

    opened.locator("input.md-search__input").press_sequentially("distribute_above_mb")

    found = opened.locator(".md-search-result__item a").first
    expect(found).to_be_visible(timeout=15_000)
    links = opened.locator(".md-search-result__item a").evaluate_all("all => all.map(each => each.href)")
    assert {Path(urlsplit(link).path).name for link in links} & {"configuration.html", "operations.html"}
    assert [url for url in requested if not url.startswith(("file:", "data:"))] == []


def test_start_page_shows_the_page_and_the_tutorial(pages: Mapping[str, Seen]) -> None:
    assert "images/page_columns.png" in pages["index.html"].loaded
    assert {"tutorial.html", "commands.html"} <= set(pages["index.html"].links)


def test_pages_of_questions_are_linked_from_the_start_page_and_described(pages: Mapping[str, Seen]) -> None:
    questions = {name: page for name, page in pages.items() if name.startswith("questions/")}

    assert questions.keys() <= set(pages["index.html"].links)
    texts = [page.description for page in [*questions.values(), pages["index.html"], pages["accuracy.html"]]]
    assert len(set(texts)) == len(texts)
    # Search engines cut longer ones off; a page without one of its own has the site's.
    assert [text for text in texts if not 90 <= len(text) <= 190] == []


def test_figures_of_accuracy_name_tests_that_exist() -> None:
    text = (REPOSITORY / "docs" / "accuracy.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text)

    assert len(named) == text.count("| `tests/")
    assert [test for file, test in named if f"def {test}(" not in (REPOSITORY / file).read_text()] == []


def test_queries_of_questions_are_those_that_are_tested() -> None:
    tested = (REPOSITORY / "docs" / "queries.md").read_text(encoding="utf-8")
    pages_of_questions = (REPOSITORY / "docs" / "questions").glob("*.md")
    shown = [
        query
        for page in pages_of_questions
        for query in re.findall(
            r"^```gremlin\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
        )
    ]

    assert shown
    assert [query for query in shown if query not in tested] == []


def test_linked_repository_files_are_rendered(pages: Mapping[str, Seen]) -> None:
    assert "files/deploy/iam.html" in pages["neptune.html"].links
    assert "neptune-db:ReadDataViaQuery" in pages["files/deploy/iam.html"].text


def test_benchmarks_are_shown_or_their_command_is(site: Path, pages: Mapping[str, Seen]) -> None:
    results = REPOSITORY / "benchmarks" / "results.jsonl"
    names = (
        {json.loads(line)["benchmark"] for line in results.read_text(encoding="utf-8").splitlines()}
        if results.exists()
        else set()
    )
    text = pages["benchmarks.html"].text

    # A chart is one piece of the page, not its text.
    html = (site / "benchmarks.html").read_text()
    assert html.count('role="img" aria-label=') >= len(names)
    assert "&lt;svg" not in html
    assert [name for name in names if f"{name}, in " not in text] == []
    assert ("No figures yet" in text) == (not names)

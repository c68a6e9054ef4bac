"""The documentation site: no warnings, no broken links, nothing external."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from lineage_merge.cli import main
from lineage_merge.cli.commands import HEADINGS
from lineage_merge.cli.exit_codes import EXIT_CODES
from lineage_merge.cli.help_topics import ENVIRONMENT_VARIABLES
from lineage_merge.graph_format import schema
from lineage_merge.orchestration.configuration import CONFIGURATION

REPOSITORY = Path(__file__).parents[1]


@dataclass
class Seen(HTMLParser):
    """Anchors, links and requests of a page."""

    ids: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    classes: set[str] = field(default_factory=set)
    text: str = ""

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.ids |= {given[name] for name in ("id", "name") if name in given}
        self.classes |= set(given.get("class", "").split())
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag in ("img", "script", "iframe") and "src" in given:
            self.loaded.append(given["src"])
        elif tag == "link" and given.get("rel") not in ("canonical", "next", "prev"):
            self.loaded.append(given["href"])

    def handle_data(self, data: str) -> None:
        self.text += data


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
    assert written == {"index", *main.commands}
    text = pages["commands/upstream.html"].text
    assert "--format [tree|table|json|mermaid|dot|graphml]" in text
    assert "lineage-merge upstream dev.public.sales --environment dev --depth 2 --columns" in text
    run = pages["commands/run.html"]
    assert {"options", "general", "spline", "dbt", "gremlin"} <= run.ids
    assert [key.flag for key in CONFIGURATION.settable if key.flag not in run.text] == []
    assert "--allow-retire" in run.text
    assert {title.lower() for title in HEADINGS} <= pages["commands/index.html"].ids


def test_exit_codes_are_rendered(pages: Mapping[str, Seen]) -> None:
    page = pages["operations.html"]
    assert [each.code for each in EXIT_CODES if each.action and each.action not in page.text] == []
    assert {"#failed-loads", "#refused-retirement"} <= set(page.links)


def test_environment_variables_are_rendered(pages: Mapping[str, Seen]) -> None:
    text = pages["configuration.html"].text
    assert [name for name, meaning in ENVIRONMENT_VARIABLES if name not in text or meaning not in text] == []


def test_graph_model_and_configuration_are_rendered(pages: Mapping[str, Seen]) -> None:
    model = pages["graph.html"].text
    declared = [
        *((each.name, each.description) for each in (*schema.NODE_LABELS, *schema.EDGE_LABELS)),
        *((each.name, each.description) for each in (*schema.NODE_PROPERTIES, *schema.EDGE_PROPERTIES)),
    ]
    settings = pages["configuration.html"].text

    assert [name for name, description in declared if description not in model] == []
    assert [key.dotted for key in CONFIGURATION.settable if key.schema["description"] not in settings] == []
    assert "dag_name: tickit_daily" in settings  # the README's example


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

"""Declared edges on the page: the details and the line say who declares them, a trace that columns are."""

from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from lineage_merge.exporters.page import Options, render
from lineage_merge.exporters.page.data import page_data
from lineage_merge.graph_format.elements import Edge, Subgraph, Vertex, subgraph
from tests.lineage_made import MadeLineage, at
from tests.page.page_reading import Opened

WHY = "by ann until 2999-01-31: the partner copies it"


def graph() -> Subgraph:
    made = MadeLineage().flow("raw > lake").columns("raw.id > lake.id", transformation="IDENTITY")
    made.flow("sftp > raw", "partners/raw", job_type="declared", declared=WHY)
    made.columns("sftp.id > raw.id", "partners/raw", transformation="IDENTITY", job_type="declared")
    found = made.graph()
    elements = [*found.everything()]
    vertices = [each for each in elements if isinstance(each, Vertex)]
    return subgraph(vertices, [each for each in elements if isinstance(each, Edge)])


def test_the_data_has_who_declares_an_edge_and_the_type_of_its_job() -> None:
    data = page_data(graph())
    facts = {data["datasets"][source]["title"]: facts for source, _, _, facts in data["feeds"]}
    assert facts == {"sftp": [["declared", WHY]], "raw": []}
    assert {each["name"]: each["type"] for each in data["jobs"]} == {
        "partners/raw": "declared",
        "load": "spark",
    }


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    written = tmp_path_factory.mktemp("declared") / "lineage.html"
    written.write_text(render(graph(), Options()), encoding="utf-8")
    return written


def test_the_details_of_a_dataset_and_its_line_say_who_declares_its_input(shown: Opened, file: Path) -> None:
    page = shown(file, f"#dataset={quote(at('raw'))}")
    expect(page.locator("#panel")).to_contain_text(WHY)
    assert f"partners/raw declared {WHY}" in page.locator("#world").inner_html()


def test_a_trace_of_columns_says_which_step_is_declared(shown: Opened, file: Path) -> None:
    page = shown(file, f"#dataset={quote(at('lake'))}&column=id")
    rows = page.locator("#table tbody tr").all_inner_texts()
    assert ["declared" in row for row in rows] == [False, True, False]


def test_the_list_of_jobs_shows_the_type(shown: Opened, file: Path) -> None:
    page = shown(file, "#view=list&listed=jobs")
    entry = page.locator("#listing .entry", has_text="partners/raw")
    expect(entry).to_contain_text("declared · writes 1 dataset")

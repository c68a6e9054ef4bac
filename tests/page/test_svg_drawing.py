"""SVG drawings in a browser: names are inside their boxes in its fonts, and nothing is loaded or run."""

from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext

from lineage_merge.graph_format.elements import Vertex, subgraph
from lineage_merge.questions.formats.svg import svg
from tests.fuzz.test_hostile_names import NAMES
from tests.questions.test_formats import HOSTILE

WIDE = ("W" * 60, "m" * 60, "销售数据" * 12, "مبيعات" * 12, "😀" * 40, "ÄÖÜ" * 30)


@pytest.mark.parametrize("font", ["DejaVu Sans", "sans-serif"])
def test_names_are_inside_their_boxes(context: BrowserContext, tmp_path: Path, font: str) -> None:
    vertices = []
    for number, name in enumerate((*HOSTILE, *NAMES, *WIDE)):
        owner = f"dev|wh|{number}"
        vertices.append(Vertex(owner, "table", {"name": name, "qualified_name": f"{name}.{name}"}))
        vertices.append(Vertex(f"{owner}|c", "column", {"name": name, "data_type": name}))
    file = tmp_path / "drawing.svg"
    drawing = svg(subgraph(vertices), "datasets").replace('font-family="', f'font-family="{font}, ')
    file.write_text(drawing, encoding="utf-8")
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    outside = page.evaluate(
        """() => [...document.querySelectorAll("g > text")].filter(text => {
            if (!text.textContent.trim()) return false;
            const box = text.parentNode.querySelector("rect").getBBox(), words = text.getBBox();
            return words.x < box.x || words.x + words.width > box.x + box.width
                || words.y < box.y - 2 || words.y + words.height > box.y + box.height + 2;
        }).map(text => text.textContent)"""
    )
    assert outside == []
    assert asked == [file.as_uri()]
    assert page.evaluate("() => window.hacked === undefined")

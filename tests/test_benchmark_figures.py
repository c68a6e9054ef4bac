"""The benchmarks' figures on a page: charts, tables, what is met, and the runs before."""

import importlib
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.results import Figure, append

HOOKS = Path(__file__).parents[1] / "docs" / "hooks"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def chapters(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """The hook's function, imported as mkdocs imports it."""
    monkeypatch.syspath_prepend(HOOKS)
    found: Callable[[str], str] = importlib.import_module("benchmark_figures").chapters
    return found


@pytest.fixture
def runs(tmp_path: Path) -> Callable[..., str]:
    """Runs of a benchmark, as `benchmarks/results.py` writes them; its lines."""
    file = tmp_path / "results.jsonl"

    def run(name: str, *figures: Figure) -> str:
        append(file, name, figures)
        return file.read_text()

    return run


def test_expectations_are_those_of_the_newest_runs(
    monkeypatch: pytest.MonkeyPatch, runs: Callable[..., str]
) -> None:
    monkeypatch.syspath_prepend(HOOKS)
    expectations = importlib.import_module("benchmark_figures").expectations
    runs("start", Figure("help", "median", 0.6, "s", at_most=0.5))
    text = runs("start", Figure("help", "median", 0.4, "s", at_most=0.5), Figure("new", "median", 3, "s"))

    _, (benchmark, _, *figure) = rows(expectations(text))

    assert (benchmark, figure) == (
        "[start](benchmarks.md#start)",
        ["help", "median", "0.4 s", "at most 0.5", "met"],
    )
    assert "python -m benchmarks" in expectations("")


def charts(markdown: str) -> list[ET.Element]:
    return [ET.fromstring(found) for found in re.findall(r"<svg.*?</svg>", markdown, re.DOTALL)]


def bars(chart: ET.Element) -> list[tuple[str, float]]:
    """What a bar says when it is pointed at, and its width."""
    return [
        (str(bar.findtext(f"{SVG}title")), float(bar.attrib["width"])) for bar in chart.iter(f"{SVG}rect")
    ]


def rows(markdown: str) -> Iterator[list[str]]:
    for line in markdown.splitlines():
        if line.startswith("| ") and "---" not in line:
            yield [cell.strip() for cell in line.strip("|").split("|")]


def test_without_a_run_the_page_says_how_to_make_one(chapters: Callable[[str], str]) -> None:
    assert "python -m benchmarks" in chapters("")
    assert charts(chapters("")) == []


def test_a_chart_for_each_unit_has_all_bars_on_one_scale(
    chapters: Callable[[str], str], runs: Callable[..., str]
) -> None:
    text = runs(
        "load",
        Figure("2,000 vertices", "loader", 10_000, "elements/s"),
        Figure("2,000 vertices", "one by one", 500, "elements/s"),
        Figure("20,000 vertices", "loader", 20_000, "elements/s"),
        Figure("2,000 vertices", "loader / one by one", 20, "times", at_least=15),
    )

    speed, ratio = charts(chapters(text))

    (first, short, longest) = bars(speed)
    assert [first[0], short[0], longest[0]] == ["loader: 10,000", "one by one: 500", "loader: 20,000"]
    assert longest[1] == pytest.approx(2 * first[1]) == pytest.approx(40 * short[1], abs=4)
    assert speed.attrib["role"] == "img"
    assert "2,000 vertices, one by one: 500" in speed.attrib["aria-label"]
    (line,) = ratio.iter(f"{SVG}line")  # what is expected, at three quarters of the bar
    ((_, width),) = bars(ratio)
    start = float(next(ratio.iter(f"{SVG}rect")).attrib["x"])
    assert float(line.attrib["x1"]) - start == pytest.approx(width * 15 / 20, abs=0.1)
    assert not list(speed.iter(f"{SVG}line"))


@pytest.mark.parametrize(
    ("figure", "expected"),
    [
        (Figure("c", "n", 15.0, "times", at_least=15.0), "met"),
        (Figure("c", "n", 14.9, "times", at_least=15.0), "**not met**"),
        (Figure("c", "n", 0.5, "s", at_most=0.5), "met"),
        (Figure("c", "n", 0.51, "s", at_most=0.5), "**not met**"),
        (Figure("c", "n", 0.51, "s"), ""),
    ],
)
def test_the_table_says_whether_it_is_as_expected(
    chapters: Callable[[str], str], runs: Callable[..., str], figure: Figure, expected: str
) -> None:
    _, row = rows(chapters(runs("start", figure)))
    assert (row[:2], row[4]) == (["c", "n"], expected)


def test_the_newest_run_counts_and_those_before_are_its_history(
    chapters: Callable[[str], str], runs: Callable[..., str]
) -> None:
    runs("start", Figure("help", "median", 0.4, "s"))
    runs("other", Figure("c", "n", 1, "s"))
    text = runs("start", Figure("help", "median", 0.2, "s"), Figure("new", "median", 3, "s"))

    found = chapters(text)

    start = found[found.index("## start") :]
    (chart,) = charts(start)
    assert [label for label, _ in bars(chart)] == ["median: 0.2", "median: 3"]
    history = list(rows(start[start.index("### Runs of") :]))[1:]
    assert history == [["help", "median", "0.4 s", "0.2 s", "50%"], ["new", "median", "", "3 s", ""]]
    assert "### Runs of other" not in found


def test_a_run_on_another_machine_is_no_history(
    chapters: Callable[[str], str], runs: Callable[..., str]
) -> None:
    elsewhere: dict[str, Any] = json.loads(runs("start", Figure("help", "median", 9, "s")))
    elsewhere["machine"]["cores"] += 1
    newest = runs("start", Figure("help", "median", 0.2, "s")).splitlines()[-1]

    found = chapters(f"{json.dumps(elsewhere)}\n{newest}\n")

    assert "### Runs of" not in found
    assert f"{elsewhere['machine']['cores'] - 1} cores" in found


def test_names_are_text_whatever_they_hold(chapters: Callable[[str], str], runs: Callable[..., str]) -> None:
    name = '<b onclick="x">&|`'
    found = chapters(runs("start", Figure(name, name, 1, "s")))

    (chart,) = charts(found)
    assert bars(chart)[0][0] == f"{name}: 1"
    assert "<b" not in found.replace(r"\<b", "")
    assert r"\<b" in found

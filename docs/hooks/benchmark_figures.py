"""Charts and tables of the benchmarks, in place of ``<!-- benchmarks -->``.

``<!-- benchmark expectations -->`` becomes one table of the newest figures that have an expected value. They
are those of ``benchmarks/results.jsonl``, a line of JSON a run; where there is none the page says how to
make it.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any

from bar_charts import Bar, bar_chart
from markdown_text import escaped
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

RESULTS = "benchmarks/results.jsonl"
_PLACE = "<!-- benchmarks -->"
_EXPECTATIONS = "<!-- benchmark expectations -->"
# Runs that the history shows, the newest among them.
_RUNS = 8
_HARDWARE = ("cores", "memory_gib", "system")

NONE_YET = f"""\
!!! note "No figures yet"

    There is no `{RESULTS}`. `python -m benchmarks` in a checkout runs all benchmarks and writes it; the next
    build of these pages shows its figures here.
"""

Run = Mapping[str, Any]
Figure = Mapping[str, Any]


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Insert the charts."""
    if _PLACE not in markdown and _EXPECTATIONS not in markdown:
        return markdown
    file = Path(config.config_file_path).parent / RESULTS
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    return markdown.replace(_PLACE, chapters(text)).replace(_EXPECTATIONS, expectations(text))


def chapters(text: str) -> str:
    """Return a chapter per benchmark, by name: charts and tables of its newest run, and earlier runs."""
    parts = [_chapter(name, runs) for name, runs in _by_benchmark(text)]
    return "\n\n".join(parts) + "\n" if parts else NONE_YET


def expectations(text: str) -> str:
    """Return a table of the figures with an expected value, of the newest run of each benchmark."""
    lines = [
        "| benchmark | day | case | what | value | expected | |",
        "| --- | --- | --- | --- | ---: | --- | --- |",
    ]
    for name, runs in _by_benchmark(text):
        link = f"[{escaped(name)}](benchmarks.md#{name})"
        lines += [
            f"| {link} | {runs[-1]['day']} | {' | '.join(_cells(figure))} |"
            for figure in runs[-1]["figures"]
            if is_met(figure) is not None
        ]
    return "\n".join(lines) if len(lines) > 2 else NONE_YET


def _by_benchmark(text: str) -> list[tuple[str, list[Run]]]:
    """Return the runs of each benchmark, oldest first, by name."""
    runs = [json.loads(line) for line in text.splitlines() if line.strip()]
    by_name = sorted(runs, key=lambda run: str(run["benchmark"]))  # stable: runs stay in order
    return [(name, list(of_it)) for name, of_it in groupby(by_name, lambda run: str(run["benchmark"]))]


def is_met(figure: Figure) -> bool | None:
    """Whether a figure meets its expected value; None if it has none."""
    if "at_least" not in figure and "at_most" not in figure:
        return None
    value = figure["value"]
    return bool(figure.get("at_least", value) <= value <= figure.get("at_most", value))


def number(value: float) -> str:
    """Return ``12,345``, ``15.2``, ``0.034``: three significant digits."""
    if abs(value) >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _chapter(name: str, runs: Sequence[Run]) -> str:
    newest = runs[-1]
    expected = [met for figure in newest["figures"] if (met := is_met(figure)) is not None]
    said = f" {sum(expected)} of {len(expected)} expectations are met." if expected else ""
    parts = [
        f"## {escaped(name)}",
        f"Measured on {newest['day']}, {escaped(_machine(newest['machine']))}.{said}",
    ]
    units = dict.fromkeys(figure["unit"] for figure in newest["figures"])
    for unit in units:
        figures = [figure for figure in newest["figures"] if figure["unit"] == unit]
        parts += [_chart(name, newest, unit, figures), _table(figures)]
    earlier = [run for run in runs if _hardware(run) == _hardware(newest)][-_RUNS:]
    if len(earlier) > 1:
        parts += [f"### Runs of {escaped(name)}", _history(earlier)]
    return "\n\n".join(parts)


def _chart(name: str, run: Run, unit: str, figures: Sequence[Figure]) -> str:
    bars: list[Bar] = []
    for case, of_case in groupby(figures, lambda figure: figure["case"]):
        bars.append(Bar(case))
        bars += [Bar(each["name"], float(each["value"]), _shown(each), _bound(each)) for each in of_case]
    title = f"{name}, in {unit}"
    description = "; ".join(f"{each['case']}, {each['name']}: {_shown(each)}" for each in figures)
    caption = f"{title}: {run['day']}, {_machine(run['machine'])}."
    if any(_bound(each) is not None for each in figures):
        caption += " A dashed line is what the project expects."
    # `figure` is a block to Markdown: what it holds stays. The theme makes it as wide as its text.
    begin = '<figure style="width: 100%; max-width: 50rem">'
    return "\n".join(
        [
            begin,
            bar_chart(title, description, bars),
            f"<figcaption>{escape(caption)}</figcaption>",
            "</figure>",
        ]
    )


def _table(figures: Iterable[Figure]) -> str:
    lines = ["| case | what | value | expected | |", "| --- | --- | ---: | --- | --- |"]
    lines += [f"| {' | '.join(_cells(each))} |" for each in figures]
    return "\n".join(lines)


def _cells(figure: Figure) -> tuple[str, ...]:
    met = {True: "met", False: "**not met**", None: ""}[is_met(figure)]
    return escaped(figure["case"]), escaped(figure["name"]), _value(figure), _expected(figure), met


def _history(runs: Sequence[Run]) -> str:
    """Return a row per figure of the newest run, a column per run, oldest first."""
    days = " | ".join(str(run["day"]) for run in runs)
    lines = [f"| case | what | {days} | of the one before |", f"| --- | --- |{' ---: |' * len(runs)} ---: |"]
    held = [{_key(figure): figure for figure in run["figures"]} for run in runs]
    for key, figure in held[-1].items():
        row = [each.get(key) for each in held]
        values = [_value(each) if each else "" for each in row]
        before = row[-2]
        change = f"{figure['value'] / before['value']:.0%}" if before and before["value"] else ""
        lines.append(f"| {escaped(key[0])} | {escaped(key[1])} | {' | '.join(values)} | {change} |")
    return "\n".join(lines)


def _key(figure: Figure) -> tuple[str, str, str]:
    return figure["case"], figure["name"], figure["unit"]


def _bound(figure: Figure) -> float | None:
    bound: float | None = figure.get("at_least", figure.get("at_most"))
    return bound


def _value(figure: Figure) -> str:
    return f"{number(figure['value'])} {escaped(figure['unit'])}"


def _shown(figure: Figure) -> str:
    met = {True: ", met", False: ", not met", None: ""}[is_met(figure)]
    return f"{number(figure['value'])}{met}"


def _expected(figure: Figure) -> str:
    words = (("at_least", "at least"), ("at_most", "at most"))
    return ", ".join(f"{text} {number(figure[key])}" for key, text in words if key in figure)


def _hardware(run: Run) -> tuple[Any, ...]:
    return tuple(run["machine"].get(key) for key in _HARDWARE)


def _machine(machine: Mapping[str, Any]) -> str:
    def parts() -> Iterator[str]:
        yield f"{machine.get('cores', '?')} cores, {machine.get('memory_gib', '?')} GiB"
        yield str(machine.get("system", ""))
        yield f"Python {machine['python']}" if "python" in machine else ""
        yield from (f"{key} {machine[key]}" for key in machine if key not in (*_HARDWARE, "python"))

    return ", ".join(part for part in parts() if part)

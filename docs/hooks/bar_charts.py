"""A bar chart as SVG text within a page. (mkdocs hooks can import modules of their folder.)

Colours are the theme's, so that it can be read in light and in dark; outside of the site they fall back to
the colour of the text.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

WIDTH = 720
_LABELS = 300  # of the width, left of the bars
_VALUES = 110  # right of them
_ROW = 22
_SMALLEST = 2.0  # what is not nothing is seen

_TEXT = "var(--md-default-fg-color, currentColor)"
_LIGHT = "var(--md-default-fg-color--light, currentColor)"
_BAR = "var(--md-accent-fg-color, currentColor)"
_LONGEST_LABEL = 46


@dataclass(frozen=True)
class Bar:
    """A bar of 0 or more. `expected`: position of a reference line. Without `value`: a heading."""

    label: str
    value: float | None = None
    text: str = ""
    expected: float | None = None


def bar_chart(title: str, description: str, bars: Sequence[Bar]) -> str:
    """Return the chart, with one scale from 0 for all bars; `description` is for screen readers."""
    most = max((end for bar in bars for end in (bar.value, bar.expected) if end), default=1.0)
    height = _ROW * len(bars) + 8
    label = escape(f"{title}. {description}")
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-size="13"',
        f'     style="width: 100%; height: auto" role="img" aria-label="{label}">',
        f"<title>{escape(title)}</title>",
    ]
    for number, bar in enumerate(bars):
        lines += _row(bar, number * _ROW + 4, (WIDTH - _LABELS - _VALUES) / most)
    return "\n".join([*lines, "</svg>"])


def _row(bar: Bar, top: float, scale: float) -> Iterator[str]:
    middle = top + _ROW / 2 + 4
    label = bar.label if len(bar.label) <= _LONGEST_LABEL else f"{bar.label[: _LONGEST_LABEL - 1]}…"
    if bar.value is None:
        yield f'<text x="0" y="{middle:g}" font-weight="bold" fill="{_TEXT}">{escape(label)}</text>'
        return
    yield f'<text x="{_LABELS - 8}" y="{middle:g}" text-anchor="end" fill="{_TEXT}">{escape(label)}</text>'
    width = max(bar.value * scale, _SMALLEST) if bar.value > 0 else 0.0
    yield (
        f'<rect x="{_LABELS}" y="{top + 4:g}" width="{width:.1f}" height="{_ROW - 8}" fill="{_BAR}"'
        f' fill-opacity="0.75"><title>{escape(f"{bar.label}: {bar.text}")}</title></rect>'
    )
    end = _LABELS + width
    if bar.expected is not None:
        at = _LABELS + bar.expected * scale
        yield (
            f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{top + 1:g}" y2="{top + _ROW - 1:g}" stroke="{_TEXT}"'
            ' stroke-width="2" stroke-dasharray="4 2"/>'
        )
        end = max(end, at)
    yield f'<text x="{end + 6:.1f}" y="{middle:g}" fill="{_LIGHT}">{escape(bar.text)}</text>'

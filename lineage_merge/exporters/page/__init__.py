"""The lineage as one self-contained HTML file: `render` creates it from a part of the graph."""

from lineage_merge.exporters.page.document import Options, render, render_moments, render_review
from lineage_merge.exporters.page.moments import PageMoment
from lineage_merge.exporters.page.topics import Topic

__all__ = ["Options", "PageMoment", "Topic", "render", "render_moments", "render_review"]

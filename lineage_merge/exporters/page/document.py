"""The HTML document: styles, scripts and data in one file, and a policy against loading anything else."""

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from rjsmin import jsmin

from lineage_merge.exporters.page.data import describe_near_miss, page_data, safe, safe_id
from lineage_merge.exporters.page.moments import Changes, PageMoment, moments_data
from lineage_merge.exporters.page.review import review_data
from lineage_merge.exporters.page.topics import Topic
from lineage_merge.graph_format.elements import Subgraph
from lineage_merge.merge.report import Dismissed, NearMiss
from lineage_merge.model.version import __version__
from lineage_merge.questions.traversal.staleness import MEANINGS, Expectations, Freshness
from lineage_merge.questions.traversal.usage import Usage
from lineage_merge.review.findings import ReviewResult

# Characters that could end a script element or a line of script, and unpaired surrogates.
_ESCAPED = re.compile("[<>&\u2028\u2029\ud800-\udfff]")
# Of a style: indentation and comments.
_COMMENT = re.compile(r"^[ ]*(?:/\*(?:.|\n)*?\*/$)?", re.MULTILINE)
# Of a style, where spaces have no meaning; its texts have none of these characters.
_SPACES = re.compile(r"\s*([{};,])\s*|(?<=[\w)]):[ ]")
_STRICT = '"use strict";\n'
_PLACE = re.compile(r"<!--lineage:(\w+)-->")


@dataclass(frozen=True, slots=True)
class Options:
    """Title and metadata of the page. `focus`: id of the dataset that it opens at, "" for none.

    `source` and `made_at`: where and when the graph was read, as display texts. Ages and freshness are as of
    `made_at`.
    """

    title: str = "Lineage"
    focus: str = ""
    source: str = ""
    made_at: str = ""


def render(
    graph: Subgraph,
    options: Options,
    freshness: Iterable[Freshness] = (),
    usage: Mapping[str, Usage] | None = None,
    near_misses: Iterable[NearMiss | Dismissed] = (),
    topics: Iterable[Topic] = (),
) -> str:
    """Return the page; the result is deterministic. `freshness`: of the datasets; `usage`: by id."""
    data = page_data(graph, freshness, usage or {})
    return document({**data, **describe(options), **_first_view(near_misses, topics)})


def render_moments(
    moments: Sequence[PageMoment],
    changes: Changes,
    options: Options,
    usage: Mapping[str, Usage] | None = None,
    near_misses: Iterable[NearMiss | Dismissed] = (),
    topics: Iterable[Topic] = (),
) -> str:
    """Return the page of several moments, oldest first, that can be compared; it opens at the newest.

    `usage`, `near_misses`, `topics`: of the newest.
    """
    data = moments_data(moments, changes, usage or {})
    return document({**data, **describe(options), **_first_view(near_misses, topics)})


def render_review(
    result: ReviewResult, options: Options, base: str = "", expectations: Expectations | None = None
) -> str:
    """Return the page of a review; `base`: the version before the change, as a display text."""
    return document({**review_data(result, base, expectations), **describe(options)})


def _first_view(near_misses: Iterable[NearMiss | Dismissed], topics: Iterable[Topic]) -> dict[str, Any]:
    return {
        "near_misses": [*map(describe_near_miss, near_misses)],
        "topics": [topic.as_json() for topic in topics],
    }


def describe(options: Options) -> dict[str, Any]:
    """Return title and metadata as data of the page, without passwords."""
    about = {"title": safe(options.title), "source": safe(options.source), "made_at": options.made_at}
    return {**about, "focus": safe_id(options.focus), "version": __version__, "statuses": MEANINGS}


def document(data: Mapping[str, Any]) -> str:
    """Return the page of data in the format of `page_data` or another one, with title and metadata."""
    more = next((key for key in MORE_SCRIPTS if key in data), "")
    script = _script(script_names(more))
    styles = "".join(map(text, ("page.css", *MORE_STYLES.get(more, ()))))
    style = _SPACES.sub(lambda space: space[1] or ":", _COMMENT.sub("", styles))
    parts = {
        "policy": _policy(script, style, loads_scripts=more == "shards"),
        "title": html.escape(str(data["title"])),
        "style": f"<style>{style}</style>",
        "data": f'<script type="application/json" id="data">{escape_json(data)}</script>',
        "script": f"<script>{script}</script>",
    }
    return _PLACE.sub(lambda place: parts[place[1]], text("page.html"))


@cache
def _script(names: tuple[str, ...]) -> str:
    """Return these scripts as one, without comments and needless spaces."""
    return str(jsmin(_STRICT + "".join(text(name).removeprefix(_STRICT) for name in names))) + "\n"


def escape_json(data: object) -> str:
    """Return JSON that is safe inside a script element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return _ESCAPED.sub(lambda character: f"\\u{ord(character[0]):04x}", text)


def _policy(script: str, style: str, *, loads_scripts: bool) -> str:
    """Return a policy that allows only this script and style, and no requests.

    `loads_scripts`: but scripts that this one adds to the page. No address is allowed: `'self'` means nothing
    in a page of a disk, where all files have an origin of their own.
    """
    added = " 'strict-dynamic'" if loads_scripts else ""
    policy = (
        f"default-src 'none'; script-src {_hash(script)}{added}; style-src {_hash(style)}; "
        "base-uri 'none'; form-action 'none'; connect-src 'none'"
    )
    return f'<meta http-equiv="Content-Security-Policy" content="{policy}">'


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


# In execution order: each adds its part to the namespace that the first one creates.
SCRIPTS = tuple(
    """
    dom.js theme.js measure.js places.js processes.js assertions.js bands.js model.js attention.js
    layers.js clusters.js ranking.js isotonic.js ordering.js routing.js layout.js frames.js scene.js
    overview_scene.js column_rows.js column_graph.js matching.js viewport.js cards.js board.js pipeline.js
    story.js overview.js column.js listing.js details.js panel.js search.js filters.js links.js keyboard.js
    picture.js exporting.js heading.js transitions.js events.js main.js
    """.split()
)
# Only of a page whose data has this, before `main.js`; the last one defines `lineage.compare`.
MORE_SCRIPTS = {
    "moments": ("moments.js", "changes.js", "marks.js", "effects.js", "compare.js"),
    "review": ("changes.js", "marks.js", "review.js"),
    "shards": ("shards.js", "part.js", "catalog.js", "finding.js"),
}
MORE_STYLES = {"moments": ("marks.css",), "review": ("marks.css",), "shards": ("catalog.css",)}


def script_names(more: str = "") -> tuple[str, ...]:
    """Return the scripts of a page in execution order, with those of a key of `MORE_SCRIPTS`."""
    return (*SCRIPTS[:-1], *MORE_SCRIPTS[more], SCRIPTS[-1]) if more else SCRIPTS


@cache
def text(name: str) -> str:
    """Return the content of a file of this folder."""
    return files("lineage_merge.exporters.page").joinpath(name).read_text(encoding="utf-8")

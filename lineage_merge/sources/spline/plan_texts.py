"""Texts of documents from exported files, grouped by plan before any of them is decoded.

Consecutive documents of one plan are one row. In files of lines they are recognized in blocks of bytes, by
the plan that each line refers to.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from lineage_merge.infra.engine.rows import Shared
from lineage_merge.model.elements import Problem
from lineage_merge.sources import line_files
from lineage_merge.sources.runs.run_selection import PlanKey
from lineage_merge.sources.spline import export
from lineage_merge.sources.spline.documents import decode, plan_key, reject
from lineage_merge.sources.spline.key_filter import KeyFilter

# Prefix of a plan's key if the row is a problem with a document of no plan.
_PROBLEM = "!"
_FIELD = b'"_belongsTo"'
_REFERENCE = re.compile(_FIELD + rb'\s*:\s*"executionPlan/([^"\\]+)"')


class DocumentTexts(NamedTuple):
    """Documents of a plan, one per line."""

    collection: str
    text: str


TextRow = tuple[PlanKey, DocumentTexts | Problem]


class _Run(NamedTuple):
    """Consecutive lines that refer to one plan; `plan` None: lines whose plan has to be parsed."""

    plan: bytes | None
    start: int
    end: int


def text_rows(part: export.Part, wanted: Shared[KeyFilter] | None = None) -> Iterator[TextRow]:
    """Yield the documents of the wanted plans, and problems with documents of no plan."""
    keys = None if wanted is None else wanted.value
    if part.is_json:
        yield from _split_documents(part, export.texts(part), keys)
        return
    for block in line_files.blocks(part.slice):
        for run in _runs(part.collection, block.lines):
            text = None if run.plan is None else _objects(block.lines[run.start : run.end])
            if run.plan is None or text is None:
                lines = block.locate_lines(run.start, run.end)
                yield from _split_documents(part, export.json_lines(lines, part.database), keys)
                continue
            plan = run.plan.decode()  # a part of the text, so UTF-8
            if keys is None or keys.passes(part.database, plan):
                yield (part.database, plan), DocumentTexts(part.collection, text)


def _runs(collection: str, lines: list[bytes]) -> Iterator[_Run]:
    """Cut lines into runs. Nearly all lines only repeat the reference of the line before."""
    if collection == "executionPlan":  # it has a key, and refers to no plan
        yield _Run(None, 0, len(lines))
        return
    plan: bytes | None = None
    reference = b""
    start = 0
    for number, line in enumerate(lines):
        at = line.find(_FIELD)
        if reference and line.startswith(reference, at if at >= 0 else len(line)):
            continue
        match = _REFERENCE.search(line)
        reference = match[0] if match else b""
        next_plan = match[1] if match else None
        if next_plan != plan:
            if number > start:
                yield _Run(plan, start, number)
            plan, start = next_plan, number
    if start < len(lines):
        yield _Run(plan, start, len(lines))


def _objects(lines: list[bytes]) -> str | None:
    """Return lines as one text without the last line feed; None unless each appears to be a JSON object."""
    joined = b"".join(lines).removesuffix(b"\n")
    is_closed = joined.startswith(b"{") and joined.endswith(b"}")
    if not is_closed or joined.count(b"}\n{") != len(lines) - 1:
        return None
    try:
        return joined.decode()
    except UnicodeDecodeError:
        return None


def _split_documents(
    part: export.Part, texts: Iterable[export.Text | Problem], keys: KeyFilter | None
) -> Iterator[TextRow]:
    """Yield the same as `text_rows`, of single texts."""
    for text in texts:
        plan = "" if isinstance(text, Problem) else plan_key(part.collection, text.text)
        if isinstance(text, Problem) or not plan:
            problem = text if isinstance(text, Problem) else _report_no_plan(part, text)
            yield (part.database, _PROBLEM + problem.document), problem
        elif keys is None or keys.passes(part.database, plan):
            yield (part.database, plan), DocumentTexts(part.collection, text.text)


def _report_no_plan(part: export.Part, text: export.Text) -> Problem:
    """Return why the plan of a document is unknown."""
    document = decode(part.collection, text.text)
    if isinstance(document, Problem):
        return reject(text.location, document.field, document.message, part.database)
    return reject(text.location, "_belongsTo", "the document refers to no plan", part.database)

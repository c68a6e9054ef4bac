"""The lineage as of a moment of the history, and names that it has or had."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from lineage_merge.graph_format.elements import COLUMN, JOB, Vertex, vertex_of_row
from lineage_merge.graph_format.schema import DATASET_LABELS
from lineage_merge.history import layout
from lineage_merge.history.entry_files import read_table
from lineage_merge.history.layout import DagScope, MergeName
from lineage_merge.history.moments import Moment
from lineage_merge.history.pictures import ScopedMerge, merges_until, picture_of
from lineage_merge.infra import storage
from lineage_merge.infra.engine.local import collection_off
from lineage_merge.infra.progress import ProgressCallback, no_progress
from lineage_merge.model.errors import NotFound
from lineage_merge.questions.backends.in_memory import InMemory
from lineage_merge.questions.names import resolve_any

_COLUMNS = ("id", "label", "name", "namespace", "qualified_name", "location", "job_type")


class AsOf(NamedTuple):
    """The lineage as of a moment, and the merges that it is made of."""

    moment: Moment
    merges: tuple[ScopedMerge, ...]
    graph: InMemory


def as_of(
    location: str,
    moment: Moment,
    environment: str | None = None,
    on_progress: ProgressCallback = no_progress,
) -> AsOf:
    """Return the lineage as of a moment, of an environment or of all.

    Raises `NotFound` if the history has no merge until then, `SourceError`, and `IntermediateError` for
    damaged files.
    """
    on_progress(f"reading the history {storage.shown(location)}")
    merges = merges_until(location, moment, environment)
    present = [merge for merge in merges if merge.record.entry]
    return AsOf(moment, tuple(present), graph_of(location, merges))


@collection_off()  # what is read is needed until the end; collection would take half of the time
def graph_of(location: str, merges: Sequence[ScopedMerge]) -> InMemory:
    """Return the lineage of these merges, of one per DAG."""
    picture = picture_of(location, merges)
    return InMemory(picture.vertices.values(), picture.edges)


def resolve_past(
    location: str, text: str, merges: Sequence[ScopedMerge], environment: str | None, dag: str | None
) -> Vertex:
    """Return the dataset, column or job of a name: of the newest lineage, else of the newest that had it.

    `merges`: oldest first. Raises `NotFound` and `Ambiguous`.
    """
    newest = {merge.scope: merge for merge in merges}
    try:
        return resolve_any(_names(location, list(newest.values())), text, environment, dag)
    except NotFound as error:
        seen = {_entry(each) for each in newest.values()}
        for merge in reversed(merges):
            entry = _entry(merge)
            if entry in seen or merge.record.entry is None:
                continue
            seen.add(entry)
            try:
                return resolve_any(_names(location, [merge], text), text, environment, dag)
            except NotFound:
                continue
        raise error from None


def _entry(merge: ScopedMerge) -> tuple[DagScope, MergeName | None]:
    return merge.scope, merge.record.entry


def _names(location: str, merges: Sequence[ScopedMerge], text: str = "") -> InMemory:
    """Return the vertices that can be named, without edges; of an old entry only those like the text."""
    import pyarrow.compute as pc

    condition = pc.field("label").isin([*DATASET_LABELS, COLUMN, JOB])
    if text:
        # The last part of the dataset's name is in its id, whatever form the text has.
        dataset = text.rpartition("#")[0] or text
        last = max(dataset.rstrip("/").replace("|", "/").replace(".", "/").split("/")[-1:], default="")
        names = [pc.match_substring(pc.field(each), last, ignore_case=True) for each in ("id", "location")]
        condition = condition & (names[0] | names[1])
    rows: dict[str, dict[str, Any]] = {}
    dags: dict[str, set[str]] = {}
    for scope, record in merges:
        if record.entry is None:
            continue
        folder = layout.entry_folder(location, "nodes", scope, record.entry)
        for row in read_table(folder, _COLUMNS, condition).to_pylist():
            rows[row["id"]] = {**row, "environment": scope.environment}
            dags.setdefault(row["id"], set()).add(scope.dag_name)
    return InMemory((vertex_of_row(row, dags[key]) for key, row in rows.items()), ())

"""The object of a merge in the index, and the version of the JSON objects of a history. Pure."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from lineage_merge.history.layout import MergeName, format_time
from lineage_merge.model.errors import IntermediateError

# Version of the layout and of the objects in `merges/` and `moves/`.
FORMAT = 1


def parse_object(text: str, where: str, what: str) -> dict[str, Any]:
    """Return an object in the current format.

    `where` and `what` are its file and kind in errors. Raises `IntermediateError` for a newer format, and for
    damaged text.
    """
    try:
        content: dict[str, Any] = json.loads(text)
        version = content["format"]
        if isinstance(version, int) and version > FORMAT:
            raise IntermediateError(
                f"{where}: written by a newer version of lineage_merge (history format {version}, this one"
                f" reads {FORMAT}). Fix: upgrade lineage-merge"
            )
    except (ValueError, KeyError, TypeError):
        raise IntermediateError(f"{where}: not {what}") from None
    if version != FORMAT:
        raise IntermediateError(f"{where}: not {what}")
    return content


_WHAT = "a merge of a history"

# full: an entry with all nodes and edges. runs: only properties of newest runs changed, in `runs/`.
# unchanged: nothing was written. removed: `lineage-merge remove` deleted the DAG.
MergeKind = Literal["full", "runs", "unchanged", "removed"]


@dataclass(frozen=True, slots=True)
class MergeRecord:
    """A merge in the history of a DAG.

    `entry`: the merge whose nodes and edges are the picture after this one; None: no lineage. `runs`: the
    merge whose vertices replace those of `entry`. `merged_at`: as on the `merge_run` vertex, in ms since
    1970. `added`, `changed`, `retired`: numbers of elements. `run_id`, `logical_date`: of the orchestrator.
    `version`: of lineage_merge. `edition`: that of the graph which `entry` and `runs` describe
    (`load.merge_run.LastLoad`); "" if it may have more, such as what other DAGs changed since `entry`.
    """

    name: MergeName
    kind: MergeKind
    entry: MergeName | None
    runs: MergeName | None = None
    merged_at: int = 0
    added: int = 0
    changed: int = 0
    retired: int = 0
    vertices: int = 0
    edges: int = 0
    run_id: str = ""
    logical_date: str = ""
    version: str = ""
    edition: str = ""

    @property
    def id(self) -> str:
        """The id of the merge."""
        return self.name.id

    def text(self) -> str:
        """Return the object in the index: one line, as Athena reads JSON."""
        values: dict[str, Any] = {
            "format": FORMAT,
            "merge": str(self.name),
            "id": self.id,
            "time": format_time(self.name.time).removesuffix(" UTC"),
            "kind": self.kind,
            "entry": str(self.entry or ""),
            "runs": str(self.runs or ""),
            **{name: getattr(self, name) for name in _PLAIN},
        }
        return json.dumps(values, ensure_ascii=False) + "\n"


# Fields that are stored as they are, with their defaults.
_PLAIN: Mapping[str, Any] = {
    field.name: field.default for field in fields(MergeRecord) if isinstance(field.default, int | str)
}


def parse_record(text: str, where: str) -> MergeRecord:
    """Return the merge of an object. Raises `IntermediateError`."""
    content = parse_object(text, where, _WHAT)
    try:
        return MergeRecord(
            name=_require_name(content["merge"]),
            kind=content["kind"],
            entry=_name(content["entry"]),
            runs=_name(content["runs"]),
            **{name: type(default)(content.get(name, default)) for name, default in _PLAIN.items()},
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        raise IntermediateError(f"{where}: not {_WHAT}") from None


def _require_name(text: str) -> MergeName:
    name = _name(text)
    if name is None:
        raise ValueError(text)
    return name


def _name(text: str) -> MergeName | None:
    if not text:
        return None
    name = MergeName.parse(text)
    if name is None:
        raise ValueError(text)
    return name

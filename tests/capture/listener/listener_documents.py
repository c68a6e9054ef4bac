"""Made writes of the listener: documents as `write_document` returns them."""

from collections.abc import Iterable
from typing import Any

from lineage_merge import naming
from lineage_merge.model.elements import Problem, Reference
from lineage_merge.spark_capture.listener.nested_writes import Write
from lineage_merge.spark_capture.write_documents import WriteDocument

PLAN = "00000000-0000-4000-8000-000000000001"


def document(
    target: str = "file:/lake/sales",
    attributes: Iterable[int] = (1, 2),
    *,
    table: Reference | None = None,
    params: dict[str, Any] | None = None,
    functions: Iterable[dict[str, Any]] = (),
    constants: Iterable[dict[str, Any]] = (),
    reads: Iterable[str] = ("file:/lake/orders",),
    problems: tuple[Problem, ...] = (),
    is_view: bool = False,
) -> WriteDocument:
    """A write of some attributes; `table`: to a table without a path."""
    ids = [f"attr-{number}" for number in attributes]
    read = {"id": "op-0", "name": "LogicalRelation", "childIds": [], "inputSources": [*reads], "output": ids}
    uri = naming.table_uri(table.namespace, table.name) if table else target
    write = {
        "id": "write",
        "name": "Write",
        "childIds": ["op-0"],
        "outputSource": uri,
        "append": False,
        "params": params or {},
        "extra": {},
    }
    made = {
        "id": PLAN,
        "name": "job",
        "systemInfo": {"name": "spark", "version": "3.5.9"},
        "operations": {"write": write, "reads": [read], "other": []},
        "attributes": [{"id": each, "name": f"c{each[5:]}"} for each in ids],
        "expressions": {"functions": [*functions], "constants": [*constants]},
        "extraInfo": {"appName": "job", "dataTypes": []},
    }
    return WriteDocument(made, {uri: table} if table else {}, "capture of job", problems, is_view)


def write(made: WriteDocument | None = None, started: int = 1, **more: Any) -> Write:
    """A write of a document, which ended at 10."""
    return Write(made or document(), started, 10, 9_000_000, **more)

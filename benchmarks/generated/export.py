"""A landscape as files on disk: Spline's collections as arangoexport or arangodump write them, a manifest."""

import gzip
import json
from contextlib import ExitStack
from dataclasses import dataclass, field
from hashlib import md5
from pathlib import Path
from typing import BinaryIO, cast

from .landscape import NAMESPACE, Landscape, Written, project
from .manifest import manifest
from .pipeline import DAY_MS, START
from .spline import COLLECTIONS, run_documents, source_document, vertex
from .templates import Template

CONFIG = "lineage_merge.yml"
_PART_BYTES = 64 << 20


@dataclass(slots=True)
class Content:
    """How much was written."""

    plans: int = 0
    runs: int = 0
    failed: int = 0
    documents: int = 0
    text_bytes: int = 0
    datasets: int = 0
    models: int = 0
    operations: list[int] = field(default_factory=list)


class _Collection:
    """One collection's file, or its packed parts."""

    def __init__(self, folder: Path, name: str, is_packed: bool) -> None:
        self._folder, self._name, self._is_packed = folder, name, is_packed
        self._parts = 0
        self._written = 0
        self._file: BinaryIO = self._open()

    def write(self, text: str) -> int:
        data = text.encode()
        if self._is_packed and self._written > _PART_BYTES:
            self._file.close()
            self._file = self._open()
        self._file.write(data)
        self._written += len(data)
        return len(data)

    def close(self) -> None:
        self._file.close()

    def _open(self) -> BinaryIO:
        self._written = 0
        if not self._is_packed:
            return (self._folder / f"{self._name}.jsonl").open("wb", buffering=1 << 20)
        # As `arangodump --split-files` names them.
        digest = md5(self._name.encode(), usedforsecurity=False).hexdigest()
        self._parts += 1
        file = self._folder / f"{self._name}_{digest}.{self._parts - 1}.data.json.gz"
        return cast("BinaryIO", gzip.open(file, "wb", compresslevel=1))


def write(
    folder: Path, plans: int, models: int = 0, seed: int = 8, days: int = 14, *, packed: bool = False
) -> Content:
    """Write `spline/`, `dbt/manifest.json` and a configuration for both below `folder`."""
    landscape = Landscape(seed, days)
    content = Content(models=models)
    spline = folder / "spline"
    spline.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        files = {name: _Collection(spline, name, packed) for name in COLLECTIONS}
        for file in files.values():
            stack.callback(file.close)
        _write_spline(landscape, plans, files, content)
    settings = ["dag_name: company", "environment: dev", "spline:", "  export: spline"]
    if models:
        (folder / "dbt").mkdir(exist_ok=True)
        made = project(landscape.tables, models, seed)
        content.models = len(made.models)
        (folder / "dbt/manifest.json").write_text(json.dumps(manifest(made)), encoding="utf-8")
        settings += ["dbt:", "  - manifest: dbt/manifest.json", f"    namespace: {NAMESPACE}"]
        settings += ["merge:", "  default_schemas:", f"    {NAMESPACE}: dev.public"]
    (folder / CONFIG).write_text("\n".join(settings) + "\n", encoding="utf-8")
    return content


def _write_spline(landscape: Landscape, plans: int, files: dict[str, _Collection], content: Content) -> None:
    templates: dict[tuple[int, bool], Template] = {}
    sources: set[str] = set()
    for written in landscape.runs(plans):
        plan = written.run.plan
        if written.is_new:
            which = (written.shape, plan.target.startswith("jdbc:"))
            if which not in templates:
                templates[which] = Template(landscape.shapes[written.shape], plan.target)
            template = templates[which]
            created = written.run.at - written.run.duration_ms
            texts = template.filled(plan, written.number, written.key, created)
            for name, text in zip(template.collections, texts, strict=True):
                content.text_bytes += files[name].write(text)
            for uri in (*(read.uri for read in plan.reads), plan.target):
                if uri in sources:
                    continue
                sources.add(uri)
                content.text_bytes += files["dataSource"].write(_line(source_document(uri)))
            content.plans += 1
            content.documents += template.documents
            content.operations.append(template.operations)
        _write_run(written, files, content)
    content.datasets = len(sources)
    content.documents += len(sources)
    files["dbVersion"].write(_line(vertex("dbVersion", "1000", {"version": "1.0.0", "status": "current"})))
    files["counter"].write(_line(vertex("counter", "tx", {"curVal": 2 * content.runs, "at": START + DAY_MS})))


def _write_run(written: Written, files: dict[str, _Collection], content: Content) -> None:
    for name, documents in run_documents(written.run, content.runs, written.key).items():
        for document in documents:
            content.text_bytes += files[name].write(_line(document))
            content.documents += 1
    content.runs += 1
    content.failed += bool(written.run.error)


def _line(document: dict[str, object]) -> str:
    return json.dumps(document) + "\n"

"""Many drawn pipelines in one folder: each is a database and a prefix of its own, and is written twice."""

import json
import random
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from hypothesis import given, settings

from lineage_merge.config import Config
from lineage_merge.orchestration.configuration import CONFIGURATION
from tests.properties.drawn import examples
from tests.properties.pipeline import WAREHOUSE, Pipeline
from tests.properties.pipeline_documents import documents, manifest
from tests.properties.strategies import pipelines
from tests.spline_documents import FORMATS, write_collections

Pipelines = Mapping[str, Pipeline]
Contents = Mapping[str, list[dict[str, Any]]]

_FOLDED = {"collapse_datasets": ["s3://*/tmp/*"], "collapse_run_local": True}
_FORMATS = ("jsonl", "json", "arangoexport", "jsonl.gz")


def drawn(count: int) -> Pipelines:
    """So many pipelines."""
    found: list[Pipeline] = []

    @settings(examples(1), max_examples=count)
    @given(pipelines())
    def collect(pipeline: Pipeline) -> None:
        found.append(pipeline)

    collect()
    return prefixed(found)


def prefixed(found: Iterable[Pipeline]) -> Pipelines:
    """Distinct pipelines, each with what stands in all its names."""
    return {f"q{number:04}q": each for number, each in enumerate(dict.fromkeys(found))}


def twin(prefix: str) -> str:
    """The prefix of the same pipeline written in another form."""
    return prefix.replace("q", "w", 1)


def write(found: Pipelines, folder: Path) -> Config:
    """Each pipeline in order and as `scattered` has it, and the configuration that reads them all."""
    writing: tuple[tuple[Callable[[str], str], Callable[[Contents, Path], Path]], ...] = (
        (str, write_collections),
        (twin, scattered),
    )
    projects = []
    for named, put in writing:
        by_prefix = {named(prefix): pipeline for prefix, pipeline in found.items()}
        for prefix, pipeline in by_prefix.items():
            put(documents(pipeline, prefix), folder / "spline" / prefix)
        file = folder / f"{put.__name__}.json"
        file.write_text(json.dumps(manifest(by_prefix)), encoding="utf-8")
        projects.append({"manifest": str(file), "namespace": WAREHOUSE})
    return CONFIGURATION.parse(
        {
            "dag_name": "daily",
            "environment": "dev",
            "spline": {"export": str(folder / "spline")},
            "dbt": projects,
            "merge": {"default_schemas": {WAREHOUSE: "dev.public"}, **_FOLDED},
        }
    )


def scattered(contents: Contents, folder: Path) -> Path:
    """The documents in any order, many of them twice, over several files in several formats."""
    chance = random.Random(folder.name)
    folder.mkdir(parents=True)
    for collection, each in contents.items():
        mixed = [*each, *(document for document in each if chance.random() < 0.5)]
        chance.shuffle(mixed)
        parts = chance.randint(1, 3)
        for part in range(parts):
            ending, written = FORMATS[chance.choice(_FORMATS)]
            folder.joinpath(f"{collection}.{part}{ending}").write_bytes(written(mixed[part::parts]))
    return folder
